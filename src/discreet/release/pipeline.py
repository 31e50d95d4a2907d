"""From a request to a release, on one page: the only place where all stages meet.

    request -> check -> CheckedRequest -> charge -> tabulate -> noise -> measure -> verdict -> totals -> Release

`check_request` runs before a record is read, and charges come before counts. Exact counts exist between `tabulate` and
`protect`, in the measures that need them, and nowhere else. A release is a pure function of the stored records, the
protection, the canonical request and the secret.
A page asks for a release in `web/pages/table_page.py`, the API in `web/api/routes.py`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.additivity.additivity import add_up, nearest_table
from discreet.ledger.requester import Requester
from discreet.model.release import NOT_APPLICABLE, UNRELIABLE, WITHHELD, Release
from discreet.model.request import TableRequest
from discreet.model.shape import structural_zeros
from discreet.noise.table_distribution import DistributionWithSums
from discreet.protect.protector import NoisyCells, Protector
from discreet.release.anchors import anchor_cells
from discreet.release.checked_request import CheckedRequest, check_request, pay, unlock
from discreet.release.measures import MeasureValues
from discreet.release.notes import goes_below_zero, number_notes, request_notes
from discreet.release.verdicts import count_cells, reusable_cells, verdict_on
from discreet.rules.suppression import NOTE, label_sums, layout_for
from discreet.workspace.workspace import StoredDataset


def make_release(question: CheckedRequest) -> Release:
    """Charge, count, protect and release; first the anchors that the table is fitted to, in their order."""
    anchors: list[Release] = []
    for table in question.anchors:
        anchors.append(_make_release(table, anchors))
    return _make_release(question, anchors)


def _make_release(question: CheckedRequest, anchors: list[Release]) -> Release:
    question, charged = pay(question)
    stored, protector = unlock(question)
    dataset, shape, asked, kind = question.dataset, question.shape, question.request, question.asked.kind
    cells, shown = _count_and_protect(question, stored, protector)
    verdict = verdict_on(stored, protector, question.asked.counted, shape, cells.noisy)
    layout = layout_for(verdict, shape, dataset, question.additivity)
    withheld = layout.withheld
    if shown.withheld is not None:  # the mean of a union is not the sum of the means of its areas
        withheld = withheld | shown.withheld | layout.added
    impossible = structural_zeros(shape, dataset) | cells.distribution.impossible
    kept = None
    if question.additivity == "fitted":
        kept = anchor_cells(shape, dataset, anchors, shown.values, cells.distribution.exact)
    numeric = kind.measure.magnitude
    protection, clips = dataset.protection, dataset.protection.clips and numeric is None
    values, adjustment = add_up(shown.values, shape, question.additivity, impossible, protection, kept)
    # Add first, clip last, and for display only: inference gets the unclipped noisy cells.
    values = layout.add_shown(values)
    before = values if question.additivity != "fitted" else shown.values
    signed = _without(before, withheld) if clips and goes_below_zero(cells.distribution) else None
    nearest, plain = None, question.additivity == "independent" and kind.measure.is_count
    if clips and plain and cells.unrounded is not None and (cells.noisy < 0).any():
        nearest = nearest_table(cells.unrounded, shape, impossible, cells.distribution.exact)
    values = _without(nearest[0] if nearest else values, withheld)
    if clips and not nearest:
        np.maximum(values, 0, out=values)
    noisy = layout.add_shown(cells.noisy)
    noisy[withheld] = 0  # in place: a large table has no memory for a copy
    dimensions, sums = label_sums(shape.dimensions, layout), NOTE if layout.sums else ""
    first, exact, clipping = number_notes(question, cells, values, withheld, dimensions, protector.tables)
    clipping = nearest[1] if nearest else clipping
    return Release(
        dataset=dataset,
        digest=stored.digest,
        request=asked,
        dimensions=dimensions,
        values=values,
        noisy=noisy,
        status=_status(impossible, withheld, shown.unreliable),
        distribution=DistributionWithSums(cells.distribution, layout.added)
        if layout.sums
        else cells.distribution,
        notes=tuple(filter(None, (first, exact, adjustment, clipping, sums, *request_notes(asked, dataset)))),
        promise=(() if numeric else protector.promise(dataset, asked.additivity, kind.measure.subject))
        + shown.promise,
        errors=_unless(withheld | layout.added, shown.errors),
        noise_shares=_unless(withheld | layout.added, shown.noise_shares),
        sampling=None if shown.sampling is None else shown.sampling.hide(withheld, layout.added),
        verdict=None if verdict is None else verdict.as_json(),
        measure=kind.measure,
        charged=charged,
        signed=signed,
        unrounded=None
        if cells.unrounded is None
        else np.where(withheld, 0.0, layout.add_shown(cells.unrounded)),
    )


def _count_and_protect(
    question: CheckedRequest, stored: StoredDataset, protector: Protector
) -> tuple[NoisyCells, MeasureValues]:
    """The noisy cells and the values of the measure; exact counts do not leave this function."""
    kind = question.asked.kind
    known = reusable_cells(stored, protector, question.asked)
    if known is not None:
        return known, kind.show(question, None, known)
    sums = kind.sums(question.dataset)
    exact = count_cells(stored, question.shape, weights=kind.weights, sums=sums, measures=kind.measures)
    cells = protector.protect(exact, in_place=kind.in_place)
    return cells, kind.show(question, exact, cells)


def _status(
    impossible: NDArray[np.bool_], withheld: NDArray[np.bool_], unreliable: NDArray[np.bool_] | None
) -> NDArray[np.uint8]:
    """The status of each cell; impossible before withheld before unreliable."""
    status = np.zeros(impossible.shape, dtype=np.uint8)
    if unreliable is not None:
        status[unreliable] = UNRELIABLE
    status[withheld] = WITHHELD
    status[impossible] = NOT_APPLICABLE
    return status


def _without(values: NDArray[Any], withheld: NDArray[np.bool_]) -> NDArray[Any]:
    """A copy with zeros in withheld cells."""
    values = values.copy()
    values[withheld] = 0
    return values


def _unless(withheld: NDArray[np.bool_], tenths: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    """Errors of withheld cells are withheld, too; sums of areas have none."""
    return None if tenths is None else np.where(withheld, -1, tenths)


def release_table(stored: StoredDataset, request: TableRequest, asker: Requester | None = None) -> Release:
    """Answer a request, or refuse it."""
    return make_release(check_request(stored, request, asker))
