"""The nonempty cells of a wide table, block by block, without an array of all its cells.

The outputs of a dimension fall into **layers** of disjoint ones: the finest, those of each coarser level, the total. A
block is one layer of every dimension; a table with totals by d variables has 2^d blocks or more. The groups of all
variables are counted once. From there a tree is walked, one dimension after the other: each step maps the codes of its
dimension to a layer and merges groups, so blocks share work with their neighbours. Dimensions with most categories come
first: their totals leave least to walk.

Memory holds the groups of one aggregate. If they may exceed AT_ONCE, the categories of the longest dimension are counted
in slices, and its total by the table without it, recursively.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.shape import Dimension, TableShape
from discreet.records.engine import AggregateQuery, Engine, SparseCells
from discreet.records.tabulate import query_of

#: Flat indices up to here fit 64-bit integers.
MOST_PLACES = 2**62
#: Up to this many cells are always added up in a dense array.
DENSE = 2**16


def sum_groups(cells: SparseCells, lengths: Sequence[int]) -> SparseCells:
    """Merge equal groups and add up their numbers, in a dense array if it fits, else by sorting.

    `lengths` has the number of categories of each grouped variable.
    """
    if not cells.counts.size:
        return cells
    places = flat_positions(cells.codes, lengths) if lengths else np.zeros(cells.counts.size, dtype=np.int64)
    size = math.prod(lengths)
    if size <= max(DENSE, 2 * places.size):
        row = np.full(size, -1, dtype=np.int64)  # the first row of each group
        row[places[::-1]] = np.arange(places.size - 1, -1, -1)
        occupied = np.flatnonzero(row >= 0)
        first = row[occupied]

        def total(column: NDArray[Any]) -> NDArray[Any]:
            dense = np.zeros(size, dtype=column.dtype)
            np.add.at(dense, places, column)
            return dense[occupied]
    else:
        order = np.argsort(places, kind="stable")
        ordered = places[order]
        starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        first = order[starts]

        def total(column: NDArray[Any]) -> NDArray[Any]:
            return np.asarray(np.add.reduceat(column[order], starts))

    return SparseCells(
        tuple(codes[first] for codes in cells.codes),
        total(cells.counts),
        total(cells.key_sums),
        None if cells.weight_sums is None else total(cells.weight_sums),
        tuple(total(column) for column in cells.sums),
    )


def flat_positions(codes: Sequence[NDArray[np.integer]], lengths: Sequence[int]) -> NDArray[np.int64]:
    """The flat index of each row, or another number that equal rows share if the table is too large.

    >>> flat_positions([np.array([1, 0, 1]), np.array([2, 0, 2])], (2, 3)).tolist()
    [5, 0, 5]
    """
    place, size = np.zeros(codes[0].size if codes else 1, dtype=np.int64), 1
    for column, length in zip(codes, lengths, strict=True):
        if size * length > MOST_PLACES:
            known, place = np.unique(place, return_inverse=True)
            size = known.size
        place = place * length
        place += column
        size *= length
    return place


#: Groups of one aggregate, at most, unless a single category has more.
AT_ONCE = 2**22


@dataclass(frozen=True, slots=True)
class _Layer:
    """Disjoint outputs of a dimension: the place of each base category (or -1), the layer's first place and length."""

    output: NDArray[np.int32]
    first: int
    length: int

    @property
    def merges(self) -> bool:
        """Whether two base categories share an output."""
        used = self.output[self.output >= 0]
        return np.unique(used).size < used.size


def wide_blocks(
    engine: Engine, shape: TableShape, *, weights: bool = False, sums: tuple[str, ...] = ()
) -> Iterator[SparseCells]:
    """The nonempty cells, each once; the code of a cell is its flat index in the table, ascending in a block.

    The number of cells must fit 63 bits; `sums` are other stored columns to add up.
    """
    query = replace(query_of(shape), weights=weights, sums=sums)
    records = int(engine.aggregate(AggregateQuery(query.group_by[:1], query.filters)).counts.sum())
    axes = tuple(range(len(shape.dimensions)))
    layers = [_layers(dimension) for dimension in shape.dimensions]
    for cells, lengths, few in _pieces(engine, query, shape, axes, layers, records):
        order = sorted(axes, key=lambda axis: -lengths[axis])
        for block, firsts in _walk(cells, lengths, (0,) * len(axes), order, few):
            place = np.zeros(block.counts.size, dtype=np.int64)
            for codes, first, length in zip(block.codes, firsts, shape.lengths, strict=True):
                place *= length
                place += codes.astype(np.int64) + first
            yield replace(block, codes=(place,)).rows(np.argsort(place, kind="stable"))


def _pieces(
    engine: Engine,
    query: AggregateQuery,
    shape: TableShape,
    axes: tuple[int, ...],
    layers: list[list[_Layer]],
    records: int,
) -> Iterator[tuple[SparseCells, tuple[int, ...], list[list[_Layer]]]]:
    """Groups by some axes, about AT_ONCE at most, with the layers made of them; all other axes are totals."""
    lengths = tuple(len(d.base) if axis in axes else 1 for axis, d in enumerate(shape.dimensions))
    groups = min(records, math.prod(lengths))
    if groups <= AT_ONCE or len(axes) == 1:
        yield _all_axes(engine.aggregate(query), axes, len(lengths)), lengths, layers
        return
    split = max(axes, key=lambda axis: lengths[axis])
    dimension, others = shape.dimensions[split], tuple(axis for axis in axes if axis != split)
    fine = [layer for layer in layers[split] if not layer.first]
    for codes in _slices(dimension, max(1, lengths[split] * AT_ONCE // groups)):
        few = replace(query, filters=(*query.filters, (dimension.name, codes)))
        cells = _all_axes(engine.aggregate(few), axes, len(lengths))
        yield cells, lengths, [*layers[:split], fine, *layers[split + 1 :]]
    if dimension.total:
        without = replace(query, group_by=tuple(shape.dimensions[axis].name for axis in others))
        total = [layer for layer in layers[split] if layer.first or not dimension.outputs]
        rest = [*layers[:split], total, *layers[split + 1 :]]
        yield from _pieces(engine, without, shape, others, rest, records)


def _slices(dimension: Dimension, size: int) -> Iterator[tuple[int, ...]]:
    """The base categories of a dimension's outputs in slices; an output is never split."""
    members: list[int] = []
    for output in dimension.outputs:
        if output.depth == 0:
            members += output.members
        if len(members) >= size:
            yield tuple(members)
            members = []
    if members:
        yield tuple(members)


def _all_axes(cells: SparseCells, axes: tuple[int, ...], count: int) -> SparseCells:
    known = dict(zip(axes, cells.codes, strict=True))
    nothing = np.zeros(cells.counts.size, dtype=np.uint8)
    return replace(cells, codes=tuple(known.get(axis, nothing) for axis in range(count)))


def _layers(dimension: Dimension) -> list[_Layer]:
    """The layers of a dimension: outputs of one depth are disjoint; the total is a separate layer."""
    found = []
    for depth in sorted({output.depth for output in dimension.outputs}):
        output = np.full(len(dimension.base), -1, dtype=np.int32)
        for place, each in enumerate(dimension.outputs):
            if each.depth == depth:
                output[list(each.members)] = place
        found.append(_Layer(output, 0, len(dimension.outputs)))
    if dimension.total:
        found.append(_Layer(np.zeros(len(dimension.base), dtype=np.int32), len(dimension.outputs), 1))
    return found


def _walk(
    cells: SparseCells,
    lengths: tuple[int, ...],
    firsts: tuple[int, ...],
    order: list[int],
    layers: list[list[_Layer]],
) -> Iterator[tuple[SparseCells, tuple[int, ...]]]:
    """The blocks below a node of the tree."""
    if not order:
        yield cells, firsts
        return
    axis, rest = order[0], order[1:]
    for layer in layers[axis]:
        now = (*lengths[:axis], layer.length, *lengths[axis + 1 :])
        there = (*firsts[:axis], layer.first, *firsts[axis + 1 :])
        output = layer.output[cells.codes[axis]]
        found = replace(cells, codes=(*cells.codes[:axis], output, *cells.codes[axis + 1 :]))
        inside = output >= 0
        found = found if inside.all() else found.rows(inside)
        if layer.merges and lengths[axis] > 1:
            found = sum_groups(found, now)
        yield from _walk(found, now, there, rest, layers)
