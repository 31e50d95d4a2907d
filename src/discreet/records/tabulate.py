"""From records and a shape to an exact table: a dense array of all cells, or the nonempty cells block by block.

**Dense** (`tabulate`): one aggregate, then zeros and margins by addition. Counts, keys and weights go through the same
linear map. The engine returns the nonempty groups; they are placed in an array (groups of categories added up), and the
total of each dimension is the sum along its axis. People in a category that is not shown still count in the total: they
go to one extra place, which is dropped at the end. Key sums stay below 2^64, so unsigned addition is exact.

**Sparse** (`wide_blocks`), for wide tables. The outputs of a dimension fall into layers of disjoint ones: the finest,
those of each coarser level, the total. A block is one layer of every dimension; a table with totals by d variables has
2^d blocks or more. The groups of all variables are counted once. From there a tree is walked, one dimension after the
other: each step maps the codes of its dimension to a layer and merges groups, so blocks share work with their neighbours.
Dimensions with most categories come first: their totals leave least to walk. Memory holds the groups of one aggregate. If
they may exceed AT_ONCE, the categories of the longest dimension are counted in slices, and its total by the table without
it, recursively.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from string import ascii_letters
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WorkspaceUnusable
from discreet.model.exact import ExactTable, MeasureSums
from discreet.model.shape import Dimension, TableShape
from discreet.records.engine import AggregateQuery, Engine, MeasureQuery, SparseCells, dense_of, parts_of

Number = TypeVar("Number", bound=np.generic)
#: Unites the parts along an axis.
Join = Callable[[NDArray[Any], int], NDArray[Any]]
#: Larger tables are added up from parts of an aggregate, whose groups would outweigh the table.
MANY = 2**18


def tabulate(
    engine: Engine,
    shape: TableShape,
    *,
    weights: bool = False,
    sums: tuple[str, ...] = (),
    measures: tuple[MeasureQuery, ...] = (),
) -> ExactTable:
    """Count every cell of a shape, totals included.

    `sums` are other stored columns to add up in the same pass, `measures` numeric variables.
    """
    query = replace(query_of(shape), weights=weights, sums=sums, measures=measures)
    layout = _Layout(shape.dimensions)
    dense = None if measures else dense_of(engine, query, layout.lookups(), math.prod(layout.widths))
    if dense is not None:
        totals = None if dense.weight_sums is None else layout.outputs(dense.weight_sums)
        return ExactTable(shape, layout.outputs(dense.counts), layout.outputs(dense.key_sums), totals)
    if shape.cells > MANY and not sums and not measures:
        return _add_parts(parts_of(engine, query), layout, shape, weights=weights)
    cells = engine.aggregate(query)
    if len(cells.measures) != len(measures):
        raise WorkspaceUnusable(
            "The engine of this version does not add up measures.", "Load the dataset with another engine."
        )
    place = layout.places(cells)
    table = partial(layout.table, place=place)
    weight_sums = None if cells.weight_sums is None else table(cells.weight_sums)
    # Other sums are laid out lazily: there may be hundreds.
    further = {name: partial(table, column) for name, column in zip(sums, cells.sums, strict=True)}
    added = tuple(layout.measure(each, place) for each in cells.measures)
    return ExactTable(shape, table(cells.counts), table(cells.key_sums), weight_sums, further, added)


def _add_parts(
    parts: Iterator[SparseCells], layout: _Layout, shape: TableShape, *, weights: bool
) -> ExactTable:
    """A large table from parts of an aggregate; only the table itself is in memory."""
    counts, keys = layout.empty(np.int64), layout.empty(np.uint64)
    sums = layout.empty(np.int64) if weights else None
    for part in parts:
        place = layout.places(part)
        np.add.at(counts, place, part.counts)
        np.add.at(keys, place, part.key_sums)
        if sums is not None and part.weight_sums is not None:
            np.add.at(sums, place, part.weight_sums)
    # One after the other: each frees its atoms before the next is laid out.
    counts = layout.outputs(counts)
    keys = layout.outputs(keys)
    return ExactTable(shape, counts, keys, None if sums is None else layout.outputs(sums))


def query_of(shape: TableShape) -> AggregateQuery:
    """The aggregate of a shape.

    Filters are pushed down; a dimension that shows part of its population keeps all of it.
    """
    filters = [(hidden.name, hidden.members) for hidden in shape.filters]
    filters += [(d.name, d.population) for d in shape.dimensions if len(d.population) < len(d.base)]
    return AggregateQuery(tuple(d.name for d in shape.dimensions), tuple(filters))


class _Axis:
    """The map from the base categories of a dimension to its outputs.

    Each base category belongs to one atom: outputs that contain no smaller one are atoms, and so is each remaining set of
    base categories with the same outputs (those in no output form one too). Outputs of coarser levels, and the total, are
    sums of atoms.
    """

    def __init__(self, dimension: Dimension) -> None:
        outputs = dimension.outputs
        self.leaves = dimension.leaves
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

    def _coarser(self, dimension: Dimension) -> list[_Sum]:
        """The sum of each output that contains others, and of the total: of coarse parts that fill it, else of atoms."""
        wholes = dimension.wholes
        members, deep = dimension.members(), {p: output.depth for p, output in enumerate(dimension.outputs)}
        leaves, found = set(self.leaves), []
        for place in sorted(wholes, key=lambda place: -deep.get(place, -1)):
            parts, own = wholes[place], members[place]
            coarse = leaves.isdisjoint(parts) and sum(len(members[part]) for part in parts) == len(own)
            summed = np.array(parts) if coarse else np.unique(self.atom[list(own)])
            whole = summed.size > 0 and summed[-1] - summed[0] + 1 == summed.size
            # A slice is added up without a copy.
            run = slice(int(summed[0]), int(summed[-1]) + 1) if whole else summed
            found.append(_Sum(place, run, coarse))
        return found


class _Sum(NamedTuple):
    """One output as a sum of coarse outputs, or of atoms."""

    place: int
    summed: NDArray[np.int64] | slice
    of_outputs: bool


class _Layout:
    """The positions of groups in the dense array of a table's atoms, and the table made of it."""

    def __init__(self, dimensions: Iterable[Dimension]) -> None:
        self.axes: list[_Axis] = []
        for dimension in dimensions:
            if _Axis not in dimension.cache:
                dimension.cache[_Axis] = _Axis(dimension)
            self.axes.append(dimension.cache[_Axis])
        self.widths = [axis.length if axis.plain else axis.atoms for axis in self.axes]
        self.one_to_one = all(axis.one_to_one for axis in self.axes)

    def empty(self, dtype: type[Number]) -> NDArray[Number]:
        return np.zeros(math.prod(self.widths), dtype=dtype)

    def lookups(self) -> list[NDArray[np.int64]]:
        """For each dimension the offset of a base category in the flat array; below zero: not counted."""
        strides = [math.prod(self.widths[number + 1 :]) for number in range(len(self.widths))]
        return [axis.atom * stride for axis, stride in zip(self.axes, strides, strict=True)]

    def places(self, cells: SparseCells) -> NDArray[np.int64]:
        place = np.zeros(cells.counts.shape, dtype=np.int64)
        for codes, axis, width in zip(cells.codes, self.axes, self.widths, strict=True):
            place *= width
            place += codes if axis.identity else axis.atom[codes]
        return place

    def table(self, values: NDArray[Number], place: NDArray[np.int64]) -> NDArray[Number]:
        """The table of the values of groups; nothing is added if every base category is an atom."""
        dense = self.empty(values.dtype.type)
        if self.one_to_one:
            dense[place] = values
        else:
            np.add.at(dense, place, values)
        return self.outputs(dense)

    def measure(self, sums: MeasureSums, place: NDArray[np.int64]) -> MeasureSums:
        """The table of what was added up of a measure; of a union of groups the largest of all are the largest."""
        ranks = sums.largest.shape[1]
        dense = largest_by_place(sums.largest, place, math.prod(self.widths))
        return MeasureSums(
            self.table(sums.contributors, place),
            self.table(sums.key_sums, place),
            self.table(sums.totals, place),
            self.outputs(dense.reshape(*self.widths, ranks), _largest),
        )

    def outputs(self, atoms: NDArray[Number], join: Join | None = None) -> NDArray[Number]:
        """From atoms to outputs and totals, axis by axis; in place if every output is an atom.

        `join` unites parts along an axis; by default it adds them up.
        """
        join = join or _sum
        dense = atoms.reshape(self.widths) if join is _sum else atoms
        for number, axis in enumerate(self.axes):
            if not axis.plain:
                dense = _with_sums(dense, axis, number, join)
            elif axis.total:
                before: tuple[Any, ...] = (slice(None),) * number
                dense[(*before, -1)] = join(dense[(*before, slice(-1))], number)
        return dense


def largest_by_place(values: NDArray[np.int64], place: NDArray[np.int64], places: int) -> NDArray[np.int64]:
    """The largest values of all rows with the same place, in descending order; as many as a row has.

    >>> largest_by_place(np.array([[5, 2], [4, 3], [1, 0]]), np.array([1, 1, 0]), 2).tolist()
    [[1, 0], [5, 4]]
    """
    ranks = values.shape[1]
    found = np.zeros((places, ranks), dtype=np.int64)
    owners, numbers = np.repeat(place, ranks), values.ravel()
    owners, numbers = owners[numbers > 0], numbers[numbers > 0]
    order = np.lexsort((-numbers, owners))
    owners, numbers = owners[order], numbers[order]
    rank = np.arange(owners.size) - np.searchsorted(owners, owners)
    kept = rank < ranks
    found[owners[kept], rank[kept]] = numbers[kept]
    return found


def _largest(values: NDArray[Any], axis: int) -> NDArray[Any]:
    """The largest values along an axis, with those of a part on the last axis."""
    ranks = values.shape[-1]
    parts = np.moveaxis(values, axis, -2)
    merged = -np.sort(-parts.reshape(*parts.shape[:-2], -1), axis=-1)
    if merged.shape[-1] < ranks:  # no part at all
        return np.zeros((*merged.shape[:-1], ranks), dtype=values.dtype)
    return np.ascontiguousarray(merged[..., :ranks])


def _with_sums(dense: NDArray[Number], axis: _Axis, number: int, join: Join) -> NDArray[Number]:
    before: tuple[Any, ...] = (slice(None),) * number
    result = np.empty((*dense.shape[:number], axis.length, *dense.shape[number + 1 :]), dtype=dense.dtype)
    leaves = slice(0, len(axis.leaves)) if axis.flat else np.array(axis.leaves)
    result[(*before, leaves)] = dense[(*before, slice(0, len(axis.leaves)))]
    for place, summed, of_outputs in axis.sums:
        parts = (result if of_outputs else dense)[(*before, summed)]
        result[(*before, place)] = join(parts, number)
    if axis.total and axis.flat:
        result[(*before, axis.length - 1)] = join(dense, number)
    return result


def _sum(values: NDArray[Any], axis: int) -> NDArray[Any]:
    """The sum along an axis; `einsum` is up to three times as fast as `sum` for short axes."""
    letters = ascii_letters[: values.ndim]
    summed: NDArray[Any] = np.einsum(f"{letters}->{letters[:axis]}{letters[axis + 1 :]}", values)
    return summed


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
