"""A cube: the counts and sums of a margin, added up once. A table over its variables is exact from it and reads no record.

    one column of codes for each variable, then  _n    records    _k    sum of their keys
                                                  weight          and the further stored sums, where there are any

A cube by fine categories also tells the coarser levels above them: the load has checked that records nest. It is as
confidential as the records.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from discreet.model.confidential import Confidential
from discreet.model.level_maps import ancestors
from discreet.records.design_columns import stored_sums
from discreet.records.engine import AggregateQuery, SparseCells
from discreet.records.sparse_sums import added_up
from discreet.records.storage import WEIGHT, storage_schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.records.engine import Engine

COUNT, KEYS = "_n", "_k"
#: Groups that one aggregate of a build may bring at once, at most, unless a single category brings more.
AT_ONCE = 2**21


class Cube(Confidential):
    """The groups of a margin with their sums.

    Args:
        dataset: The description.
        columns: As `cube_schema` has them, by name.
    """

    __slots__ = ("_columns", "_dataset")

    def __init__(self, dataset: Dataset, columns: dict[str, NDArray[np.integer]]) -> None:
        self._dataset = dataset
        self._columns = columns

    def cells(self, query: AggregateQuery) -> SparseCells:
        """The rows that a query adds up, by its variables; a group may be in several of them."""
        kept = self._kept(query)
        return SparseCells(
            tuple(self._codes(name)[kept] for name in query.group_by),
            self._columns[COUNT][kept].astype(np.int64),
            self._columns[KEYS][kept].astype(np.uint64),
            self._columns[WEIGHT][kept].astype(np.int64) if query.weights else None,
            tuple(self._columns[name][kept].astype(np.int64) for name in query.sums),
        )

    @property
    def rows(self) -> int:
        """How many groups it has."""
        return int(self._columns[COUNT].size)

    def margin(self, query: AggregateQuery) -> Cube:
        """The cube of all variables that a query looks at, with the sums that it asks for."""
        names = tuple(sorted(query.variables))
        lengths = [len(self._dataset.variable(name)) for name in names]
        cells = added_up(self.cells(AggregateQuery(names, (), query.weights, query.sums)), lengths)
        columns: dict[str, NDArray[np.integer]] = dict(zip(names, cells.codes, strict=True))
        columns |= {COUNT: cells.counts, KEYS: cells.key_sums}
        if cells.weight_sums is not None:
            columns[WEIGHT] = cells.weight_sums
        return Cube(self._dataset, columns | dict(zip(query.sums, cells.sums, strict=True)))

    def _kept(self, query: AggregateQuery) -> NDArray[np.bool_] | slice:
        """The rows that the filters leave."""
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


def told_by(dataset: Dataset, variables: tuple[str, ...]) -> frozenset[str]:
    """The variables that a cube tells: its own, and the levels above them."""
    above = {
        other.name
        for other in dataset.variables
        for name in variables
        if ancestors(dataset, name, other.name) is not None
    }
    return frozenset(variables) | above


def covers(dataset: Dataset, told: frozenset[str], query: AggregateQuery) -> bool:
    """Whether a cube that tells these variables can answer a query."""
    weighed = dataset.weight_column is not None or not query.weights
    return query.variables <= told and weighed and set(query.sums) <= set(stored_sums(dataset))


def cube_schema(dataset: Dataset, variables: tuple[str, ...]) -> pa.Schema:
    """The columns of a cube's file."""
    stored = storage_schema(dataset)
    fields = [stored.field(name) for name in variables]
    fields += [pa.field(COUNT, pa.uint32()), pa.field(KEYS, pa.uint64())]
    weights = (WEIGHT,) if dataset.weight_column is not None else ()
    return pa.schema(fields + [pa.field(name, pa.int64()) for name in (*weights, *stored_sums(dataset))])


def row_bytes(dataset: Dataset, variables: tuple[str, ...]) -> int:
    """What one row of a cube takes."""
    return sum(field.type.bit_width // 8 for field in cube_schema(dataset, variables))


def write_cube(
    engine: Engine, dataset: Dataset, variables: tuple[str, ...], path: Path, records: int, most: int
) -> int | None:
    """Add up a margin and write it; returns its rows, or None where there are more than `most`, and no file is left.

    Args:
        engine: What counts.
        dataset: The description.
        variables: The margin.
        path: The file.
        records: How many records there are, at most.
        most: How many rows are worth keeping.
    """
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
    """The cube of a file, which is mapped into memory.

    Raises:
        OSError, ValueError: It cannot be read, or has other columns.
    """
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    if table.schema != cube_schema(dataset, variables):
        raise ValueError("another margin")
    return Cube(dataset, {name: _plain(table.column(name)) for name in table.column_names})


def records_in(engine: Engine, dataset: Dataset) -> int:
    """How many records there are. Confidential."""
    return int(engine.aggregate(AggregateQuery((dataset.variables[0].name,))).counts.sum())


def _plain(column: pa.ChunkedArray) -> NDArray[np.integer]:
    """One array; a view of the file where it has one batch."""
    return cast("NDArray[np.integer]", np.from_dlpack(column.combine_chunks()))


def _parts(
    engine: Engine, dataset: Dataset, variables: tuple[str, ...], records: int
) -> Iterator[SparseCells]:
    """The groups of a margin, some categories of its longest variable at a time where they are many."""
    split = max((dataset.variable(name) for name in variables), key=len)
    groups = min(records, math.prod(len(dataset.variable(name)) for name in variables))
    at_once = max(1, len(split) * AT_ONCE // max(groups, 1))
    query = AggregateQuery(variables, weights=dataset.weight_column is not None, sums=stored_sums(dataset))
    for first in range(0, len(split), at_once):
        codes = tuple(range(first, min(first + at_once, len(split))))
        filters = () if len(codes) == len(split) else ((split.name, codes),)
        yield engine.aggregate(AggregateQuery(variables, filters, query.weights, query.sums))
