"""From records and a shape to an exact table: one aggregate, then zeros and margins by addition.

Counts, keys and weights are one linear map applied to three columns. The engine returns the groups that
occur; here they are placed in a dense array (groups of categories added up), and the total of each
dimension is the sum along its axis. People in a category that is not shown still count in the total: they
go to one extra place that is dropped at the end. Unsigned addition is exact: key sums stay below 2^64.

Comes from: an `Engine` and a `TableShape`. Goes to: `protect`, as an `ExactTable`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.exact import ExactTable
from discreet.records.engine import AggregateQuery

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.model.shape import Dimension, TableShape
    from discreet.records.engine import Engine, SparseCells


def tabulate(
    engine: Engine, shape: TableShape, *, weights: bool = False, sums: tuple[str, ...] = ()
) -> ExactTable:
    """Count every cell of a shape, totals included.

    Args:
        engine: Where the records are.
        shape: Which cells.
        weights: Add up the weights too.
        sums: Further stored columns to add up, in the same pass.
    """
    cells = engine.aggregate(replace(query_of(shape), weights=weights, sums=sums))
    axes = [_Axis(dimension) for dimension in shape.dimensions]
    plain = all(axis.plain for axis in axes)
    widths = [axis.length if plain else axis.atoms for axis in axes]
    place = _places(cells, axes, widths)

    def table(values: NDArray[np.generic]) -> NDArray[np.generic]:
        dense = _dense(values, place, axes, widths)
        return _with_totals(dense, axes) if plain else _with_sums(dense, axes)

    weight_sums = None if cells.weight_sums is None else table(cells.weight_sums)
    # Further sums are laid out one at a time, when they are asked for: there may be hundreds.
    further = {name: partial(table, column) for name, column in zip(sums, cells.sums, strict=True)}
    return ExactTable(shape, table(cells.counts), table(cells.key_sums), weight_sums, further)  # type: ignore[arg-type]


def query_of(shape: TableShape) -> AggregateQuery:
    """The aggregate of a shape.

    Filters are pushed down; a dimension that shows part of its population keeps all of it.
    """
    filters = [(hidden.name, hidden.members) for hidden in shape.filters]
    filters += [(d.name, d.population) for d in shape.dimensions if len(d.population) < len(d.base)]
    return AggregateQuery(tuple(d.name for d in shape.dimensions), tuple(filters))


class _Axis:
    """How the base categories of a dimension become its outputs.

    Each base category goes to one atom: the outputs that hold nothing smaller are atoms, and so is each
    remaining set of base categories that the same outputs hold (those in no output make one too). Outputs of
    coarser levels, and the total, are sums of atoms.
    """

    def __init__(self, dimension: Dimension) -> None:
        outputs = dimension.outputs
        parents = {output.parent for output in outputs}
        self.leaves = [place for place in range(len(outputs)) if place not in parents]
        self.length = dimension.length
        self.total = dimension.total
        self.flat = len(self.leaves) == len(outputs)
        self.atom = np.full(len(dimension.base), -1, dtype=np.int64)
        members = [outputs[place].members for place in self.leaves]
        lengths = np.fromiter(map(len, members), np.int64, len(members))
        held = np.fromiter(chain.from_iterable(members), np.int64, int(lengths.sum()))
        self.atom[held] = np.repeat(np.arange(len(members)), lengths)
        self.atoms = len(members)
        if held.size < len(dimension.population):
            self._place_the_rest(dimension)
        self.one_to_one = held.size == self.atoms == len(dimension.population)
        self.identity = bool((self.atom == np.arange(len(dimension.base))).all())
        self.sums = [] if self.flat else self._coarser(dimension)
        self.plain = self.flat and self.atoms == len(self.leaves)

    def _place_the_rest(self, dimension: Dimension) -> None:
        """Atoms for people in no leaf: one for each output that is their finest, one for those in none."""
        finest: dict[int, int] = {}
        for place, output in enumerate(dimension.outputs):
            finest |= dict.fromkeys(output.members, place)
        atoms: dict[int, int] = {}
        for base in dimension.population:
            if self.atom[base] < 0:
                self.atom[base] = atoms.setdefault(finest.get(base, -1), self.atoms + len(atoms))
        self.atoms += len(atoms)

    def _coarser(self, dimension: Dimension) -> list[tuple[int, NDArray[np.int64]]]:
        """Each output that holds others, with its atoms."""
        leaves = set(self.leaves)
        return [
            (place, np.unique(self.atom[list(output.members)]))
            for place, output in enumerate(dimension.outputs)
            if place not in leaves
        ]


def _places(cells: SparseCells, axes: list[_Axis], widths: list[int]) -> NDArray[np.int64]:
    """The flat place of each group in a dense array of these widths."""
    place = np.zeros(cells.counts.shape, dtype=np.int64)
    for codes, axis, width in zip(cells.codes, axes, widths, strict=True):
        place *= width
        place += codes if axis.identity else axis.atom[codes]
    return place


def _dense(
    values: NDArray[np.generic], place: NDArray[np.int64], axes: list[_Axis], widths: list[int]
) -> NDArray[np.generic]:
    """The sums of all atoms; where every base category is an atom of its own, nothing is added."""
    dense = np.zeros(math.prod(widths), dtype=values.dtype)
    if all(axis.one_to_one for axis in axes):
        dense[place] = values
    else:
        np.add.at(dense, place, values)
    return dense.reshape(widths)


def _with_totals(dense: NDArray[np.generic], axes: list[_Axis]) -> NDArray[np.generic]:
    """Fill the totals in place, where every output is an atom and nothing else is: the common case."""
    for number, axis in enumerate(axes):
        if axis.total:
            before: tuple[Any, ...] = (slice(None),) * number
            inner = dense[(*before, slice(0, axis.length - 1))]
            dense[(*before, axis.length - 1)] = inner.sum(axis=number, dtype=dense.dtype)
    return dense


def _with_sums(dense: NDArray[np.generic], axes: list[_Axis]) -> NDArray[np.generic]:
    """From atoms to outputs and totals, one axis after the other."""
    for number, axis in enumerate(axes):
        before: tuple[Any, ...] = (slice(None),) * number
        shape = (*dense.shape[:number], axis.length, *dense.shape[number + 1 :])
        result = np.empty(shape, dtype=dense.dtype)
        leaves = slice(0, len(axis.leaves)) if axis.flat else axis.leaves
        result[(*before, leaves)] = dense[(*before, slice(0, len(axis.leaves)))]
        for place, atoms in axis.sums:
            result[(*before, place)] = dense[(*before, atoms)].sum(axis=number, dtype=dense.dtype)
        if axis.total:
            result[(*before, axis.length - 1)] = dense.sum(axis=number, dtype=dense.dtype)
        dense = result
    return dense
