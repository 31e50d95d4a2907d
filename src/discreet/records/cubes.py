"""Cubes: pre-aggregated counts and sums of a margin, and an engine that answers from them. As confidential as the records.

    one column of codes for each variable, then  _n    records    _k    sum of their keys
                                                  weight          and the other stored sums, if any

A query is covered if each of its variables is one of the cube's or a level above one. It is answered from the smallest
cube that covers it, else by the engine; both give the same integers. So covered queries work without the records, for
example while their database is down. A small table does not add up a large cube every time: the margin of its variables
is cached (`MarginCache`).

The choice of cubes to build: those that save most rows per byte, within a limit.

The **tables** that should be fast: every set of up to n variables, alone and at each level of a geography; under `dp` the
declared ones. A table costs as many rows as the smallest source that answers it has: a cube, or all n records.

    rows of a margin   at most K (1 - (1 - 1/K)^n) on average, with K cells and n people who fall into them independently
    with
                       any probabilities: x -> 1 - (1 - x)^n is concave (Jensen)
    gain of a cube     the sum, over the tables that it covers, of max(rows before, FEW) - max(its rows, FEW)

Below FEW rows a table takes milliseconds, and nothing more is gained. The cube with the largest gain per byte of max(its
rows, FEW) rows is chosen, costs are updated, and so on, until fewer than FEW rows are gained or nothing fits.

Source: Harinarayan, Rajaraman & Ullman (1996), "Implementing data cubes efficiently", sections 3 and 4 (space).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from threading import Lock

import numpy as np
import pyarrow as pa
from cachetools import LRUCache
from numpy.typing import NDArray

from discreet.errors import RecordsAway
from discreet.model.dataset import Dataset
from discreet.model.exact import Confidential
from discreet.model.hierarchy import ancestors
from discreet.model.universe import dp_terms
from discreet.records.engine import AggregateQuery, Engine, SparseCells, dense_of, parts_of
from discreet.records.storage import WEIGHT, storage_schema, sum_columns, to_numpy
from discreet.records.tabulate import sum_groups

COUNT, KEYS = "_n", "_k"
#: Groups of one aggregate of a build, at most, unless a single category has more.
AT_ONCE = 2**21


@dataclass(slots=True, eq=False, repr=False)
class Cube(Confidential):
    """The groups of a margin with their sums, in the columns of `cube_schema`."""

    _dataset: Dataset
    _columns: dict[str, NDArray[np.integer]]

    def cells(self, query: AggregateQuery) -> SparseCells:
        """The rows that a query adds up, by its variables; a group may be in several of them."""
        kept: NDArray[np.bool_] | slice = slice(None)
        if query.filters:
            inside = []
            for name, members in query.filters:
                flags = np.zeros(len(self._dataset.variable(name)), dtype=np.bool_)
                flags[list(members)] = True
                inside.append(flags[self._codes(name)])
            kept = np.logical_and.reduce(inside)
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
        return self._columns[COUNT].size

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
    names = [variable.name for variable in dataset.variables]
    above = (n for n in names if any(ancestors(dataset, name, n) is not None for name in variables))
    return frozenset((*variables, *above))


def covers(dataset: Dataset, variables: frozenset[str], query: AggregateQuery) -> bool:
    """Whether a cube that determines these variables can answer a query."""
    weighed = dataset.weight_column is not None or not query.weights
    if query.measures:
        return False
    return query.variables <= variables and weighed and set(query.sums) <= set(sum_columns(dataset))


def cube_schema(dataset: Dataset, variables: tuple[str, ...]) -> pa.Schema:
    """The columns of a cube's file."""
    stored = storage_schema(dataset)
    sums = [name for name in (WEIGHT, *sum_columns(dataset)) if name in stored.names]
    fields = [*map(stored.field, variables), pa.field(COUNT, pa.uint32()), pa.field(KEYS, pa.uint64())]
    return pa.schema(fields + [pa.field(name, pa.int64()) for name in sums])


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
            writer.write_batch(pa.record_batch(dict(zip(schema.names, columns, strict=True)), schema=schema))
    if rows > most:
        path.unlink()
        return None
    return rows


def read_cube(dataset: Dataset, variables: tuple[str, ...], path: Path) -> Cube:
    """The cube of a file, memory-mapped; OSError or ValueError if it cannot be read, or has other columns."""
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    if table.schema != cube_schema(dataset, variables):
        raise ValueError("another margin")
    return Cube(dataset, {name: to_numpy(table.column(name)) for name in table.column_names})


def _parts(
    engine: Engine, dataset: Dataset, variables: tuple[str, ...], records: int
) -> Iterator[SparseCells]:
    """The groups of a margin, in slices of its longest variable if they are many."""
    split = max((dataset.variable(name) for name in variables), key=len)
    groups = min(records, math.prod(len(dataset.variable(name)) for name in variables))
    at_once = max(1, len(split) * AT_ONCE // max(groups, 1))
    for first in range(0, len(split), at_once):
        codes = tuple(range(first, min(first + at_once, len(split))))
        filters = () if len(codes) == len(split) else ((split.name, codes),)
        weights = dataset.weight_column is not None
        yield engine.aggregate(AggregateQuery(variables, filters, weights, sum_columns(dataset)))


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
        self._dataset, self._lock = dataset, Lock()
        self.kept: LRUCache[_Key, tuple[int, Cube]] = LRUCache(most_bytes, getsizeof=lambda sized: sized[0])

    def of(self, cube: Cube, query: AggregateQuery) -> Cube:
        """The margin of a query, or the cube itself if that is as good."""
        cells = math.prod(len(self._dataset.variable(name)) for name in query.variables)
        size = cells * _NUMBER * (len(query.variables) + 3 + len(query.sums))
        if cells * GAIN > cube.rows or size * LARGEST_SHARE > self.kept.maxsize:
            return cube
        key = (query.variables, query.weights, query.sums)
        with self._lock:
            if (found := self.kept.get(key)) is not None:
                return found[1]
        margin = cube.margin(query)
        with self._lock:
            self.kept[key] = size, margin
        return margin


#: Rows of a cube in one part of a large table.
PART = 2**18


@dataclass(frozen=True, slots=True)
class StoredCube:
    """A stored cube: the variables that it determines, its rows, and `open`, which gives None if the file is damaged."""

    variables: frozenset[str]
    rows: int
    open: Callable[[], Cube | None]


class CubedEngine:
    """Counts from cubes that cover the query, else from the records; refused if these are away and there is no cube.

    `cubes` returns the current cubes, the smallest first.
    """

    def __init__(
        self,
        dataset: Dataset,
        cubes: Callable[[], tuple[StoredCube, ...]],
        open_records: Callable[[], Engine],
    ) -> None:
        self._dataset, self._cubes, self._open_records = dataset, cubes, open_records
        self._engine: Engine | None = None
        self._margins = MarginCache(dataset)
        try:
            self._engine = open_records()
        except RecordsAway:
            if not cubes():
                raise

    @property
    def tag(self) -> str:
        """The tag stored with the records."""
        return self._records().tag

    def aggregate(self, query: AggregateQuery) -> SparseCells:
        """One aggregate, from the smallest cube that covers it."""
        if (cube := self._cube(query)) is None:
            return self._records().aggregate(query)
        cells = self._margins.of(cube, query).cells(query)
        return sum_groups(cells, [len(self._dataset.variable(name)) for name in query.group_by])

    def parts(self, query: AggregateQuery) -> Iterator[SparseCells]:
        """The rows of that cube, or the parts of the engine."""
        if (cube := self._cube(query)) is None:
            yield from parts_of(self._records(), query)
        else:
            cells = cube.cells(query)
            yield from (cells.rows(slice(at, at + PART)) for at in range(0, cells.counts.size, PART))

    def dense(
        self, query: AggregateQuery, lookups: Sequence[NDArray[np.int64]], cells: int
    ) -> SparseCells | None:
        """A dense table by the engine, if no cube covers it."""
        if any(self._covering(query)):
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
        opened = (stored.open() for stored in self._covering(query))
        return next((cube for cube in opened if cube is not None), None)

    def _covering(self, query: AggregateQuery) -> Iterator[StoredCube]:
        return (stored for stored in self._cubes() if covers(self._dataset, stored.variables, query))


Margin = tuple[str, ...]

#: This many rows are added up in milliseconds.
FEW = 100_000
#: Candidate margins, at most: larger ones are left out first.
MOST = 4_000


@dataclass(frozen=True, slots=True)
class PlannedCube:
    """A cube worth building: expected rows, bytes, the tables that it makes faster, and the rows that these read now."""

    variables: Margin
    rows: int
    bytes: int
    tables: int
    before: int

    @property
    def why(self) -> str:
        """Its benefit, in a sentence."""
        times = self.before / max(self.rows, 1)
        tables = "1 table reads" if self.tables == 1 else f"{self.tables:,} tables read"
        return f"{tables} {self.rows:,} rows instead of {self.before:,} on average ({times:,.0f} times fewer)"


def rollup_variables(dataset: Dataset) -> Margin:
    """The margin that every load tries: all variables except the finer levels of a geography."""
    finer = {level for h in dataset.hierarchies if h.geography for level in h.levels[1:]}
    return reduce_margin(dataset, (v.name for v in dataset.variables if v.name not in finer))


def reduce_margin(dataset: Dataset, names: Iterable[str]) -> Margin:
    """A margin without levels that finer ones determine, in the order of the description."""
    given = set(names)
    spare = {n for n in given for m in given if ancestors(dataset, m, n) is not None}
    return tuple(v.name for v in dataset.variables if v.name in given - spare)


def tables_of(dataset: Dataset, up_to: int) -> tuple[Margin, ...]:
    """The tables that should be fast."""
    if dataset.protection.is_dp:
        declared = dp_terms(dataset)[1].declared
        return tuple(dict.fromkeys(reduce_margin(dataset, margin) for margin in declared if margin))
    return _cross_with_geography(dataset, up_to)


def rows_at_most(dataset: Dataset, variables: Margin, records: int) -> int:
    """The number of rows of a margin, at most, on average.

    >>> from types import SimpleNamespace
    >>> rows_at_most(SimpleNamespace(variable=lambda _name: range(10)), ("a", "b"), 100)
    64
    """
    cells = math.prod(len(dataset.variable(name)) for name in variables)
    if cells == 1:
        return 1
    return min(cells, records, math.ceil(-cells * math.expm1(records * math.log1p(-1 / cells))))


def plan_cubes(
    dataset: Dataset, records: int, up_to: int, within: int, there: Sequence[tuple[Margin, int]] = ()
) -> tuple[PlannedCube, ...]:
    """The cubes to build, best first.

    `up_to` bounds the variables of a table in addition to geography, `within` the bytes that may be added; `there` are the
    existing cubes, with their rows.
    """
    tables, margins = tables_of(dataset, up_to), _candidates(dataset, up_to, records)
    rows = np.array([rows_at_most(dataset, margin, records) for margin in margins], dtype=np.int64)
    widths = np.array([row_bytes(dataset, margin) for margin in margins], dtype=np.int64)
    weights = widths * rows
    covered = _coverage(dataset, margins, tables)
    costs = np.full(len(tables), max(records, FEW), dtype=np.int64)
    for variables, size in there:
        costs = np.where(_coverage(dataset, [variables], tables)[0], np.minimum(costs, max(size, FEW)), costs)
    found: list[PlannedCube] = []
    usable = rows * GAIN <= records
    while True:
        gains = np.array(
            [_rows_saved(costs, few, size).sum() for few, size in zip(covered, rows, strict=True)]
        )
        worth = np.where(usable & (weights <= within), gains / (np.maximum(rows, FEW) * widths), 0)
        best = int(worth.argmax()) if worth.size else 0
        if not worth.size or worth[best] <= 0 or gains[best] < FEW:
            return tuple(found)
        gained = _rows_saved(costs, covered[best], rows[best]) > 0
        size, bytes_used = int(rows[best]), int(weights[best])
        before = int(costs[gained].mean())
        found.append(PlannedCube(margins[best], size, bytes_used, int(gained.sum()), before))
        within -= bytes_used
        costs = np.where(gained, max(size, FEW), costs)


def _rows_saved(costs: NDArray[np.int64], covered: NDArray[np.bool_], rows: int) -> NDArray[np.int64]:
    return np.where(covered, np.maximum(costs - max(int(rows), FEW), 0), 0)


def _candidates(dataset: Dataset, up_to: int, records: int) -> list[Margin]:
    """The tables themselves, and margins of a few more variables, each of which serves many tables."""
    found = set(tables_of(dataset, up_to))
    for more in (1, 2, 3):
        larger = _cross_with_geography(dataset, up_to + more) if len(found) <= MOST else ()
        found |= set(larger) if len(larger) <= MOST else set()
    return sorted(found, key=lambda margin: (rows_at_most(dataset, margin, records), margin))[:MOST]


def _cross_with_geography(dataset: Dataset, up_to: int) -> tuple[Margin, ...]:
    """Every set of up to this many variables, alone and at each level of a geography."""
    others = [variable.name for variable in dataset.variables if variable.name not in dataset.geography]
    areas = [(), *((name,) for name in dataset.geography)]
    few = [each for size in range(min(up_to, len(others)) + 1) for each in combinations(others, size)]
    found = (reduce_margin(dataset, (*area, *each)) for area in areas for each in few)
    return tuple(dict.fromkeys(margin for margin in found if margin))


def _coverage(dataset: Dataset, margins: Sequence[Margin], tables: Sequence[Margin]) -> NDArray[np.bool_]:
    names = [variable.name for variable in dataset.variables]
    single = {name: derivable_variables(dataset, (name,)) for name in names}
    known = [frozenset[str]().union(*(single[name] for name in margin)) for margin in margins]
    lacks = np.array([[name not in each for name in names] for each in known], dtype=np.float32)
    needs = np.array([[name in table for name in names] for table in tables], dtype=np.float32)
    return np.asarray(lacks @ needs.T == 0)
