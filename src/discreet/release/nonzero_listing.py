"""The non-zero cells of a table, counted and protected block by block: for tables too large to lay out.

    listing = { cell : its number is not 0 },   a function of the released table only

Under the cell key method with kept zeros, an empty cell has the number 0, and so has a cell that the noise reduced to 0:
neither is listed, and nothing distinguishes them. If empty cells have noise (`zeros = "perturbed"`, `dp`), a listing of
occupied cells would reveal which are empty, so such tables are refused. So are tables that need all cells at once: fitted
and interior totals, rules on counts, weighted counts by public strata. The errors of other weighted tables need the released
margins of the table only.

Source: docs/methods/wide-tables.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet.errors import BadRequest
from discreet.ledger.requester import Requester
from discreet.model.columns import ListedCells, Listing
from discreet.model.exact import ExactTable
from discreet.model.messages.text import message
from discreet.model.release import UNRELIABLE
from discreet.model.request import TableRequest
from discreet.model.shape import TableShape
from discreet.protect.cell_keys import noisy_people
from discreet.protect.protector import CellKeyProtector, NoisyCells
from discreet.records.engine import SparseCells
from discreet.records.tabulate import MOST_PLACES, wide_blocks
from discreet.release.checked_request import CheckedRequest, check_request, unlock
from discreet.release.measures import MeasureValues
from discreet.release.notes import clipping_note, goes_below_zero, names_note, table_note
from discreet.release.verdicts import uses_weight_steps, weight_steps
from discreet.rules.verdict import needs_table
from discreet.workspace.workspace import StoredDataset

#: How many cells are protected at a time.
LINES = 65_536
NOTE = message("Only cells whose number is not 0 are listed: every cell that is not listed has the number 0.")


@dataclass(frozen=True, slots=True)
class _FlatShape(TableShape):
    """A number of cells in a line."""

    lines: int = 0

    @property
    def lengths(self) -> tuple[int, ...]:
        return (self.lines,)


def check_nonzero(
    stored: StoredDataset,
    request: TableRequest,
    asker: Requester | None = None,
    most_cells: int | None = None,
) -> CheckedRequest:
    """Check a request for a listing, before a record is read: see `DatasetService.check_nonzero`."""
    limit = MOST_PLACES if most_cells is None else min(most_cells, MOST_PLACES)
    _refuse_noisy_zeros(stored)
    question = check_request(stored, request, asker, limit)
    if question.additivity != "independent":
        raise BadRequest(
            message("Totals that add up need the whole table, and only non-zero cells were requested."),
            message("Add additivity=independent, or ask for the whole table."),
        )
    if not question.asked.kind.cellwise(stored.dataset):
        raise BadRequest(
            message("Numbers of this measure combine several cells and cannot be listed one by one."),
            message("Ask for the measure count, or for the whole table."),
        )
    if needs_table(stored.rules, question.asked.counted, stored.dataset):
        raise BadRequest(
            message("Rules on counts need the whole table before any part of it is released."),
            message("Request the whole table; if it is too large, in parts with a filter."),
        )
    return question


def _refuse_noisy_zeros(stored: StoredDataset) -> None:
    protection = stored.dataset.protection
    if protection.is_dp or protection.zeros != "kept":
        raise BadRequest(
            message(
                "Empty cells of this dataset have noise, too: a list of some cells would reveal which are empty."
            ),
            message("Request the whole table; if it is too large, in parts with a filter."),
        )


def list_nonzero(question: CheckedRequest) -> Listing:
    """Count and protect the occupied cells, as they are iterated; list those that are not 0."""
    dataset, kind = question.dataset, question.asked.kind
    protector = _cell_key(question)
    distribution, clips = protector.distribution(_FlatShape((), lines=1)), dataset.protection.clips
    block, none = _Block(question), _no_cells(question)
    shown = block.show(none)
    notes = (
        table_note(dataset, question.additivity, question.shape.dimensions, distribution, protector.tables),
        clipping_note(distribution, clips=clips),
        NOTE,
        names_note(question.request, dataset),
    )
    return Listing(
        dataset=dataset,
        digest=question.digest,
        request=question.request,
        dimensions=question.shape.dimensions,
        notes=tuple(filter(None, notes)),
        promise=protector.promise(dataset, question.request.additivity, kind.measure.subject) + shown.promise,
        measure=kind.measure,
        nothing=block.nonzero(none),
        cells=_cells(question),
    )


def _cells(question: CheckedRequest) -> Iterator[ListedCells]:
    dataset, kind, block = question.dataset, question.asked.kind, _Block(question)
    weights = kind.weights or uses_weight_steps(dataset)
    engine = unlock(question)[0].engine
    for cells in wide_blocks(engine, question.shape, weights=weights, sums=kind.sums(dataset)):
        for first in range(0, cells.counts.size, LINES):
            yield block.nonzero(cells.rows(slice(first, first + LINES)))


def _cell_key(question: CheckedRequest) -> CellKeyProtector:
    protector = unlock(question)[1]
    if not isinstance(protector, CellKeyProtector):
        raise TypeError("cells are listed under the cell key method only")
    return protector


def _no_cells(question: CheckedRequest) -> SparseCells:
    none = np.empty(0, dtype=np.int64)
    further = tuple(none for _ in question.asked.kind.sums(question.dataset))
    return SparseCells((none,), none, none.astype(np.uint64), none, further)


class _Block:
    def __init__(self, question: CheckedRequest) -> None:
        self._question = question
        self._protector = _cell_key(question)
        self._distribution = self._protector.distribution(_FlatShape((), lines=1))
        self._keys_at = self._protector.keys(question.shape)
        self._show = question.asked.kind.show_listed(question)

    def show(self, cells: SparseCells) -> MeasureValues:
        """The values of a block of occupied cells."""
        places = np.unravel_index(cells.codes[0], self._question.shape.lengths)
        return self._show(*self.protect(cells), tuple(np.asarray(each, dtype=np.int64) for each in places))

    def nonzero(self, cells: SparseCells) -> ListedCells:
        """The cells of a block of occupied cells that are not 0."""
        question = self._question
        shown, clips = self.show(cells), question.dataset.protection.clips
        values = np.maximum(shown.values, 0) if clips else shown.values
        signed = shown.values if clips and goes_below_zero(self._distribution) else None
        kept = shown.values != 0 if signed is not None else values != 0
        places = np.unravel_index(cells.codes[0][kept], question.shape.lengths)
        status = np.zeros(values.shape, dtype=np.uint8)
        if shown.unreliable is not None:
            status[shown.unreliable] = UNRELIABLE
        beside = (None if each is None else each[kept] for each in (signed, shown.errors, shown.noise_shares))
        return ListedCells(
            tuple(each.astype(np.int32) for each in places), values[kept], status[kept], *beside
        )

    def protect(self, cells: SparseCells) -> tuple[ExactTable, NoisyCells]:
        dataset = self._question.dataset
        counts = weight_steps(cells.weight_sums, dataset) if uses_weight_steps(dataset) else cells.counts
        names = self._question.asked.kind.sums(dataset)
        further = {name: column.copy for name, column in zip(names, cells.sums, strict=True)}
        lines = _FlatShape((), lines=counts.size)
        exact = ExactTable(lines, counts, cells.key_sums, cells.weight_sums, further)
        noisy, there = np.zeros(counts.shape, dtype=np.int64), np.flatnonzero(counts)
        noisy[there] = noisy_people(
            counts[there],
            cells.key_sums[there],
            cells.codes[0][there].astype(np.intp),
            self._keys_at,
            self._protector.noise,
        )
        return exact, NoisyCells(noisy, self._protector.distribution(lines))
