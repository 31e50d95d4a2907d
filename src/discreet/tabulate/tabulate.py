"""From records and a shape to an exact table: one aggregate, then zeros and margins by addition.

Counts, keys and weights are one linear map applied to three columns. The engine returns the groups that
occur; here they are placed in a dense array (groups of categories added up), and the total of each
dimension is the sum along its axis. People in a category that is not shown still count in the total: they
go to one extra place that is dropped at the end. Unsigned addition is exact: key sums stay below 2^64.

Comes from: an `Engine` and a `TableShape`. Goes to: `perturb`, as an `ExactTable`.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from discreet.model.exact import ExactTable
from discreet.tabulate.engine import AggregateQuery

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.model.shape import Dimension, TableShape
    from discreet.tabulate.engine import Engine, SparseCells


def tabulate(engine: Engine, shape: TableShape, *, weights: bool = False) -> ExactTable:
    """Count every cell of a shape, totals included."""
    cells = engine.aggregate(_query(shape, weights=weights))
    maps = [_CategoryMap(dimension) for dimension in shape.dimensions]
    place = _places(cells, maps)
    grouped = any(not m.one_to_one for m in maps)

    def table(values: NDArray[np.generic]) -> NDArray[np.generic]:
        return _with_totals(_dense(values, place, maps, add=grouped), maps)

    weight_sums = None if cells.weight_sums is None else table(cells.weight_sums)
    return ExactTable(shape, table(cells.counts), table(cells.key_sums), weight_sums)  # type: ignore[arg-type]


def _query(shape: TableShape, *, weights: bool) -> AggregateQuery:
    """Filters are pushed down; a dimension that shows part of its population keeps all of it."""
    filters = [(hidden.name, hidden.members) for hidden in shape.filters]
    filters += [(d.name, d.population) for d in shape.dimensions if len(d.population) < len(d.base)]
    return AggregateQuery(tuple(d.name for d in shape.dimensions), tuple(filters), weights)


class _CategoryMap:
    """Where the base categories of a dimension go in its dense axis."""

    def __init__(self, dimension: Dimension) -> None:
        self.total = dimension.total
        self.shown = len(dimension.outputs)
        members = [output.members for output in dimension.outputs]
        lengths = np.fromiter(map(len, members), np.int64, len(members))
        in_an_output = int(lengths.sum())
        self.target = np.full(len(dimension.base), self.shown, dtype=np.int64)
        self.target[np.fromiter(chain.from_iterable(members), np.int64, in_an_output)] = np.repeat(
            np.arange(self.shown), lengths
        )
        self.one_to_one = in_an_output == self.shown == len(dimension.population)
        self.identity = self.one_to_one and self.shown == len(dimension.base)
        self.unshown = int(in_an_output < len(dimension.population))

    @property
    def length(self) -> int:
        """The dense axis: what is shown, one place for people in no output, one for the total."""
        return self.shown + self.unshown + self.total


def _places(cells: SparseCells, maps: list[_CategoryMap]) -> NDArray[np.int64]:
    """The flat place of each group in the dense array."""
    place = np.zeros(cells.counts.shape, dtype=np.int64)
    for codes, category_map in zip(cells.codes, maps, strict=True):
        place *= category_map.length
        place += codes if category_map.identity else category_map.target[codes]
    return place


def _dense(
    values: NDArray[np.generic], place: NDArray[np.int64], maps: list[_CategoryMap], *, add: bool
) -> NDArray[np.generic]:
    dense = np.zeros(math.prod(m.length for m in maps), dtype=values.dtype)
    if add:
        np.add.at(dense, place, values)
    else:
        dense[place] = values
    return dense.reshape(tuple(m.length for m in maps))


def _with_totals(dense: NDArray[np.generic], maps: list[_CategoryMap]) -> NDArray[np.generic]:
    """Fill each total by adding along its axis, then drop the place of the unshown."""
    for axis, category_map in enumerate(maps):
        if category_map.total:
            end = category_map.length - 1
            inner = dense[(slice(None),) * axis + (slice(0, end),)]
            dense[(slice(None),) * axis + (end,)] = inner.sum(axis=axis, dtype=dense.dtype)
    for axis, category_map in enumerate(maps):
        if category_map.unshown:
            dense = np.delete(dense, category_map.shown, axis=axis)
    return dense
