"""Cubes: pre-aggregated counts and sums of a margin, and an engine that answers from them. As confidential as the records.

    one column of codes for each variable, then  _n    records    _k    sum of their keys
                                                  weight          and the other stored sums, if any

A query is covered if each of its variables is one of the cube's or a level above one. It is answered from the smallest
cube that covers it, else by the engine; both give the same integers. So covered queries work without the records, for
example while their database is down. A small table does not add up a large cube every time: the margin of its variables
is cached (`MarginCache`).
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import RecordsAway
from discreet.model.dataset import Dataset
from discreet.model.exact import Confidential
from discreet.model.hierarchy import ancestors
from discreet.records.engine import AggregateQuery, Engine, SparseCells, dense_of, parts_of
from discreet.records.sparse_table import sum_groups
from discreet.records.storage import WEIGHT, storage_schema, sum_columns, to_numpy

COUNT, KEYS = "_n", "_k"
#: Groups of one aggregate of a build, at most, unless a single category has more.
AT_ONCE = 2**21


class Cube(Confidential):
    """The groups of a margin with their sums, in the columns of `cube_schema`."""

    __slots__ = ("_columns", "_dataset")

    def __init__(self, dataset: Dataset, columns: dict[str, NDArray[np.integer]]) -> None:
        self._dataset = dataset
        self._columns = columns

    def cells(self, query: AggregateQuery) -> SparseCells:
        """The rows that a query adds up, by its variables; a group may be in several of them."""
        kept = self._filter(query)
        return SparseCells(
            tuple(self._codes(name)[kept] for name in query.group_by),
            self._columns[COUNT][kept].astype(np.int64),
            self._columns[KEYS][kept].astype(np.uint64),
            self._columns[WEIGHT][kept].astype(np.int64) if query.weights else None,
            tuple(self._columns[name][kept].astype(np.int64) for name in query.sums),
        )

    @property
    def rows(self) -> int:
        """The number of groups."""
        return int(self._columns[COUNT].size)

    def margin(self, query: AggregateQuery) -> Cube:
        """The cube of all variables of a query, with the sums that it needs."""
        names = tuple(sorted(query.variables))
        lengths = [len(self._dataset.variable(name)) for name in names]
        cells = sum_groups(self.cells(AggregateQuery(names, (), query.weights, query.sums)), lengths)
        columns: dict[str, NDArray[np.integer]] = dict(zip(names, cells.codes, strict=True))
        columns |= {COUNT: cells.counts, KEYS: cells.key_sums}
        if cells.weight_sums is not None:
            columns[WEIGHT] = cells.weight_sums
        return Cube(self._dataset, columns | dict(zip(query.sums, cells.sums, strict=True)))

    def _filter(self, query: AggregateQuery) -> NDArray[np.bool_] | slice:
        kept: NDArray[np.bool_] | None = None
        for name, members in query.filters:
            flags = np.zeros(len(self._dataset.variable(name)), dtype=np.bool_)
            flags[list(members)] = True
            inside = flags[self._codes(name)]
            kept = inside if kept is None else kept & inside
        return slice(None) if kept is None else kept

    def _codes(self, name: str) -> NDArray[np.integer]:
        """The codes of a variable of the cube, or of a level above one."""
        if name in self._columns:
            return self._columns[name]
        fine, up = next(
            (own, up) for own in self._columns if (up := ancestors(self._dataset, own, name)) is not None
        )
        codes: NDArray[np.int64] = up[self._columns[fine]]
        return codes


def derivable_variables(dataset: Dataset, variables: tuple[str, ...]) -> frozenset[str]:
    """The variables that a cube determines: those of its margin, and the levels above them."""
    above = {
        other.name
        for other in dataset.variables
        for name in variables
        if ancestors(dataset, name, other.name) is not None
    }
    return frozenset(variables) | above


def covers(dataset: Dataset, variables: frozenset[str], query: AggregateQuery) -> bool:
    """Whether a cube that determines these variables can answer a query."""
    weighed = dataset.weight_column is not None or not query.weights
    return query.variables <= variables and weighed and set(query.sums) <= set(sum_columns(dataset))


def cube_schema(dataset: Dataset, variables: tuple[str, ...]) -> pa.Schema:
    """The columns of a cube's file."""
    stored = storage_schema(dataset)
    fields = [stored.field(name) for name in variables]
    fields += [pa.field(COUNT, pa.uint32()), pa.field(KEYS, pa.uint64())]
    weights = (WEIGHT,) if dataset.weight_column is not None else ()
    return pa.schema(fields + [pa.field(name, pa.int64()) for name in (*weights, *sum_columns(dataset))])


def row_bytes(dataset: Dataset, variables: tuple[str, ...]) -> int:
    """The bytes of one row of a cube."""
    return sum(field.type.bit_width // 8 for field in cube_schema(dataset, variables))


def write_cube(
    engine: Engine, dataset: Dataset, variables: tuple[str, ...], path: Path, records: int, most: int
) -> int | None:
    """Add up a margin and write it; returns the number of rows, or None (and no file) if it exceeds `most`."""
    schema, rows = cube_schema(dataset, variables), 0
    with pa.ipc.new_file(path, schema) as writer:
        for cells in _parts(engine, dataset, variables, records):
            rows += cells.counts.size
            if rows > most:
                break
            weights = () if cells.weight_sums is None else (cells.weight_sums,)
            columns = (*cells.codes, cells.counts, cells.key_sums, *weights, *cells.sums)
            arrays = [pa.array(each).cast(field.type) for each, field in zip(columns, schema, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
    if rows > most:
        path.unlink()
        return None
    return rows


def read_cube(dataset: Dataset, variables: tuple[str, ...], path: Path) -> Cube:
    """The cube of a file, memory-mapped.

    Raises:
        OSError, ValueError: It cannot be read, or has other columns.
    """
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    if table.schema != cube_schema(dataset, variables):
        raise ValueError("another margin")
    return Cube(dataset, {name: to_numpy(table.column(name)) for name in table.column_names})


def records_in(engine: Engine, dataset: Dataset) -> int:
    """The number of records. Confidential."""
    return int(engine.aggregate(AggregateQuery((dataset.variables[0].name,))).counts.sum())


def _parts(
    engine: Engine, dataset: Dataset, variables: tuple[str, ...], records: int
) -> Iterator[SparseCells]:
    """The groups of a margin, in slices of its longest variable if they are many."""
    split = max((dataset.variable(name) for name in variables), key=len)
    groups = min(records, math.prod(len(dataset.variable(name)) for name in variables))
    at_once = max(1, len(split) * AT_ONCE // max(groups, 1))
    query = AggregateQuery(variables, weights=dataset.weight_column is not None, sums=sum_columns(dataset))
    for first in range(0, len(split), at_once):
        codes = tuple(range(first, min(first + at_once, len(split))))
        filters = () if len(codes) == len(split) else ((split.name, codes),)
        yield engine.aggregate(AggregateQuery(variables, filters, query.weights, query.sums))


_Key = tuple[frozenset[str], bool, tuple[str, ...]]

#: Bytes of all cached margins of a version, at most.
MOST_BYTES = 16_000_000
#: One margin may take one part in this many.
LARGEST_SHARE = 8
#: A margin is cached if its cube has at least this many times its cells.
GAIN = 4
#: Bytes of a code, a count or a sum, at most.
_NUMBER = 8


class MarginCache(Confidential):
    """Small margins of large cubes, in memory, bounded in bytes; the least recently used are evicted first.

    A later table under any filter on the same variables reads the margin instead of the cube. Only margins much smaller
    than their cube are cached; the size is known from the description: at most its cells, times the bytes of a row.
    """

    def __init__(self, dataset: Dataset, most_bytes: int = MOST_BYTES) -> None:
        self._dataset, self._most_bytes = dataset, most_bytes
        self._kept: OrderedDict[_Key, tuple[int, Cube]] = OrderedDict()
        self._lock = Lock()
        self.size = 0

    def of(self, cube: Cube, query: AggregateQuery) -> Cube:
        """The margin of a query, or the cube itself if that is as good."""
        cells = math.prod(len(self._dataset.variable(name)) for name in query.variables)
        size = cells * _NUMBER * (len(query.variables) + 3 + len(query.sums))
        if cells * GAIN > cube.rows or size * LARGEST_SHARE > self._most_bytes:
            return cube
        key = (query.variables, query.weights, query.sums)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][1]
        margin = cube.margin(query)
        with self._lock:
            self.size += size - self._kept.pop(key, (0,))[0]
            self._kept[key] = size, margin
            while self.size > self._most_bytes:
                self.size -= self._kept.popitem(last=False)[1][0]
        return margin


#: Rows of a cube in one part of a large table.
PART = 2**18


@dataclass(frozen=True, slots=True)
class StoredCube:
    """A stored cube: the variables that it determines, its rows, and `open`, which gives None if the file is damaged."""

    variables: frozenset[str]
    rows: int
    open: Callable[[], Cube | None]


class CubeStore(Protocol):
    """The cubes of a version."""

    def cubes(self) -> tuple[StoredCube, ...]:
        """The current cubes, the smallest first."""


class CubedEngine:
    """Counts from cubes that cover the query, else from the records.

    Raises:
        RecordsAway: The records are unavailable, and there is no cube.
    """

    def __init__(self, dataset: Dataset, store: CubeStore, open_records: Callable[[], Engine]) -> None:
        self._dataset, self._store, self._open_records = dataset, store, open_records
        self._engine: Engine | None = None
        self._margins = MarginCache(dataset)
        try:
            self._engine = open_records()
        except RecordsAway:
            if not store.cubes():
                raise

    @property
    def tag(self) -> str:
        """The tag stored with the records."""
        return self._records().tag

    def aggregate(self, query: AggregateQuery) -> SparseCells:
        """One aggregate, from the smallest cube that covers it."""
        cube = self._cube(query)
        if cube is None:
            return self._records().aggregate(query)
        cells = self._margins.of(cube, query).cells(query)
        return sum_groups(cells, [len(self._dataset.variable(name)) for name in query.group_by])

    def parts(self, query: AggregateQuery) -> Iterator[SparseCells]:
        """The rows of that cube, or the parts of the engine."""
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
        """A dense table by the engine, if no cube covers it."""
        if any(covers(self._dataset, stored.variables, query) for stored in self._store.cubes()):
            return None
        return dense_of(self._records(), query, lookups, cells)

    def sound(self) -> bool:
        """Whether the records are those of the load."""
        return self._records().sound()

    def close(self) -> None:
        """Release the records."""
        if self._engine is not None:
            self._engine.close()

    def _records(self) -> Engine:
        """The engine with the records; one that was unavailable may be back."""
        if self._engine is None:
            self._engine = self._open_records()
        return self._engine

    def _cube(self, query: AggregateQuery) -> Cube | None:
        covering = (
            stored for stored in self._store.cubes() if covers(self._dataset, stored.variables, query)
        )
        return next((cube for stored in covering if (cube := stored.open()) is not None), None)
