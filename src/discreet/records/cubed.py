"""An engine with cubes before it: what a cube covers is answered from the smallest one, everything else by the engine.

    covered    every variable of the query is one of the cube's, or a level above one of them

Both ways give the same integers: a cube holds sums of records. So what is covered needs no records. Where these are
away (their files are gone, their database does not answer), covered queries are answered and others refused.

A small table does not add up a large cube each time it is asked: the margin of its variables is added up once and kept in
memory (`margin_memory`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from discreet.errors import RecordsAway
from discreet.records.cube import covers
from discreet.records.engine import dense_of, parts_of
from discreet.records.margin_memory import MarginMemory
from discreet.records.sparse_sums import added_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.records.cube import Cube
    from discreet.records.engine import AggregateQuery, Engine, SparseCells

#: Rows of a cube that are one part of a large table.
PART = 2**18


@dataclass(frozen=True, slots=True)
class ShelvedCube:
    """A cube that is kept, not yet read.

    Args:
        told: The variables that it tells: those of its margin, and the levels above them.
        rows: How many it has.
        open: Reads it; None where it is not as it was sealed.
    """

    told: frozenset[str]
    rows: int
    open: Callable[[], Cube | None]


class Shelf(Protocol):
    """Where the cubes of a version are kept."""

    def cubes(self) -> tuple[ShelvedCube, ...]:
        """The cubes that are there now, the smallest first."""


class CubedEngine:
    """Counts from cubes where they cover, else from the records.

    Args:
        dataset: The description.
        shelf: Its cubes.
        open_records: Opens the engine with the records.

    Raises:
        RecordsAway: The records are not there, and no cube is either.
    """

    def __init__(self, dataset: Dataset, shelf: Shelf, open_records: Callable[[], Engine]) -> None:
        self._dataset, self._shelf, self._open_records = dataset, shelf, open_records
        self._engine: Engine | None = None
        self._margins = MarginMemory(dataset)
        try:
            self._engine = open_records()
        except RecordsAway:
            if not shelf.cubes():
                raise

    @property
    def tag(self) -> str:
        """The tag that was stored beside the records."""
        return self._records().tag

    def aggregate(self, query: AggregateQuery) -> SparseCells:
        """One aggregate, from the smallest cube that covers it."""
        cube = self._cube(query)
        if cube is None:
            return self._records().aggregate(query)
        cells = self._margins.of(cube, query).cells(query)
        return added_up(cells, [len(self._dataset.variable(name)) for name in query.group_by])

    def parts(self, query: AggregateQuery) -> Iterator[SparseCells]:
        """The rows of that cube, or the parts that the engine gives."""
        cube = self._cube(query)
        if cube is None:
            yield from parts_of(self._records(), query)
            return
        cells = cube.cells(query)
        for first in range(0, cells.counts.size, PART):
            yield cells.rows(slice(first, first + PART))

    def dense(
        self, query: AggregateQuery, lookups: Sequence[NDArray[np.int64]], cells: int
    ) -> SparseCells | None:
        """A dense table by the engine, where no cube covers it."""
        if any(covers(self._dataset, shelved.told, query) for shelved in self._shelf.cubes()):
            return None
        return dense_of(self._records(), query, lookups, cells)

    def sound(self) -> bool:
        """Whether the records are those of the load."""
        return self._records().sound()

    def close(self) -> None:
        """Let go of the records."""
        if self._engine is not None:
            self._engine.close()

    def _records(self) -> Engine:
        """The engine with the records; one that was away may be back."""
        if self._engine is None:
            self._engine = self._open_records()
        return self._engine

    def _cube(self, query: AggregateQuery) -> Cube | None:
        for shelved in self._shelf.cubes():
            if covers(self._dataset, shelved.told, query):
                cube = shelved.open()
                if cube is not None:
                    return cube
        return None
