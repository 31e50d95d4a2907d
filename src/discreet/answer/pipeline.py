"""From a question to a release, on one page: the only place where all stages meet.

    request -> check -> Question -> charge -> tabulate -> noise -> verdict -> measure -> totals -> Release

`check` (`question.py`) runs before a record is read, and what must be charged is charged before. Exact counts exist
between `tabulate` and `protect`, and in the measures that need them, and nowhere else. A release is a pure function
of the stored records, the protection, the canonical request and the secret.

Comes from: a `Door`. Goes to: the faces, as a `Release`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.additivity.additivity import add_up
from discreet.answer.notes import mandatory_note
from discreet.answer.question import check, unlock
from discreet.answer.verdicts import verdict_on
from discreet.model.release import NOT_APPLICABLE, UNRELIABLE, WITHHELD, Release
from discreet.model.shape import structural_zeros
from discreet.records.tabulate import tabulate
from discreet.rules.withheld import withheld_cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.answer.question import Question
    from discreet.ledger.group_meter import Asker
    from discreet.model.request import TableRequest
    from discreet.workspace.workspace import StoredDataset


def answer(question: Question) -> Release:
    """Charge, count, protect and release."""
    stored, protector = unlock(question)
    dataset, shape, asked, kind = question.dataset, question.shape, question.request, question.asked.kind
    protector.pay()
    exact = tabulate(stored.engine, shape, weights=kind.weights, sums=kind.sums(dataset))
    cells = protector.protect(exact)
    verdict = verdict_on(stored, protector, question.asked.counted, shape, cells.noisy)
    withheld = withheld_cells(verdict, shape, dataset, question.additivity)
    shown = kind.show(question, exact, cells)
    impossible = structural_zeros(shape, dataset) | cells.law.impossible
    # For display only: inference gets the noisy cells as they are.
    display = np.maximum(shown.values, 0) if dataset.protection.non_negative else shown.values
    values, adjustment = add_up(display, shape, question.additivity, impossible)
    return Release(
        dataset=dataset,
        digest=stored.digest,
        request=asked,
        dimensions=shape.dimensions,
        values=np.where(withheld, 0, values),
        noisy=np.where(withheld, 0, cells.noisy),
        status=_status(impossible, withheld, shown.unreliable),
        law=cells.law,
        notes=tuple(filter(None, (mandatory_note(dataset, asked.additivity), adjustment))),
        promise=protector.promise(dataset.protection, asked.additivity, kind.measure.subject) + shown.promise,
        errors=_unless(withheld, shown.errors),
        noise_shares=_unless(withheld, shown.noise_shares),
        verdict=None if verdict is None else verdict.as_json(),
        measure=kind.measure,
    )


def _status(
    impossible: NDArray[np.bool_], withheld: NDArray[np.bool_], unreliable: NDArray[np.bool_] | None
) -> NDArray[np.uint8]:
    """Why a cell has no value, or is to be used with caution; the first reason counts."""
    doubtful = np.zeros_like(impossible) if unreliable is None else unreliable
    letters = np.select([impossible, withheld, doubtful], [NOT_APPLICABLE, WITHHELD, UNRELIABLE], 0)
    return letters.astype(np.uint8)


def _unless(withheld: NDArray[np.bool_], tenths: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    """What stands beside a value is withheld with it."""
    return None if tenths is None else np.where(withheld, -1, tenths)


def release_table(stored: StoredDataset, request: TableRequest, asker: Asker | None = None) -> Release:
    """Answer a request, or refuse it."""
    return answer(check(stored, request, asker))
