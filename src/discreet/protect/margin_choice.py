"""The choice of margins: every cell of a table is answered by the declared margin with the smallest expected variance.

A cell is described by a set of categories of each variable. A margin can answer it if it has each variable that excludes
someone, at that level, a finer one, or a coarser one that can express the same set. The answer then sums K base cells:

    variance(cell, margin) = K(cell, margin) * variance(margin),   K = product over the margin's variables

The choice depends on the description of the cell alone, so the same description has the same number in every table, layout
and slice. Outputs of different levels of a variable contain the same people, so each level is a separate block.

Structural zeros have no noise. They are not subtracted from K here: that would cost more than it gains.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import OutsideUniverse, TooManyCells
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import is_level_of, map_labels
from discreet.model.messages.text import message
from discreet.model.shape import Dimension, TableShape
from discreet.model.universe import Margin, Universe

if TYPE_CHECKING:  # only the description makes an invariant
    from discreet.model.universe import Invariant

#: The most base cells that one answer sums.
MOST_BASE_CELLS = 30_000_000
#: In place of a depth: the total of a dimension.
TOTALS = -1


@dataclass(frozen=True, eq=False)
class Condition:
    """What a block of a table says about one variable: a label for each category, -1 for excluded people.

    Args:
        labels: The output of the block that each category belongs to.
        axis: The block's axis, or None for a total or a filter that is not shown.
    """

    name: str
    labels: NDArray[np.int64]
    outputs: int
    axis: int | None

    @property
    def restricts(self) -> bool:
        """Whether it distinguishes or excludes people."""
        return self.outputs > 1 or bool((self.labels < 0).any())


@dataclass(frozen=True, eq=False)
class MarginAxis:
    """How one variable of a margin is summed.

    Args:
        kept: The positions of the categories that count.
        target: For each of them its index among the joint outputs of the axes that it serves.
        axes: These axes of the block, ascending.
    """

    name: str
    kept: NDArray[np.int64]
    target: NDArray[np.int64]
    axes: tuple[int, ...]
    lengths: tuple[int, ...]

    @property
    def outputs(self) -> int:
        """The number of joint outputs; 1 where the variable is only summed over."""
        return math.prod(self.lengths)

    def terms(self) -> NDArray[np.int64]:
        """How many categories each joint output sums."""
        return np.bincount(self.target, minlength=self.outputs).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Part:
    """Cells of a block, and the margin that answers them.

    Args:
        margin: The margin, or None where the cells are public.
        chosen: Which of the block's cells it answers; None for all.
        public: The declared invariant that releases cells without a margin, and so without noise.
    """

    block: tuple[slice, ...]
    margin: Margin | None
    axes: tuple[MarginAxis, ...]
    lengths: tuple[int, ...]
    chosen: NDArray[np.bool_] | None = None
    public: Invariant | None = None

    def __post_init__(self) -> None:
        if (self.margin is None) != (self.public is not None):
            raise ValueError("cells have the noise of a margin, or are a declared invariant")

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Which of the block's cells the margin answers."""
        return np.ones(self.lengths, dtype=np.bool_) if self.chosen is None else self.chosen

    @property
    def base_cells(self) -> int:
        """How many cells of the margin are summed in all."""
        return math.prod(axis.kept.size for axis in self.axes)

    def terms(self) -> NDArray[np.int64]:
        """How many base cells each cell of the block sums, structural zeros included."""
        total = np.ones((1,) * len(self.lengths), dtype=np.int64)
        for axis in self.axes:
            shape = [1] * len(self.lengths)
            for place, length in zip(axis.axes, axis.lengths, strict=True):
                shape[place] = length
            total = total * axis.terms().reshape(shape)
        return np.broadcast_to(total, self.lengths)


def choose_margins(
    shape: TableShape, universe: Universe, dataset: Dataset, variances: Mapping[Margin, float]
) -> tuple[Part, ...]:
    """The parts that answer every cell of a table, totals included, by the variance of each released margin's noise.

    Raises:
        OutsideUniverse: No declared table contains the request; decided by the shape alone.
        TooManyCells: The answer would sum more than `MOST_BASE_CELLS`.
    """
    parts: list[Part] = []
    for depths in block_depths(shape):
        parts += _block(shape, depths, universe, dataset, variances)
    return tuple(parts)


def block_depths(shape: TableShape) -> Iterator[tuple[int, ...]]:
    """The blocks of a table: for every dimension a depth, or `TOTALS`."""
    return product(*((*_depths(each), TOTALS) if each.total else _depths(each) for each in shape.dimensions))


def block_conditions(
    shape: TableShape, depths: tuple[int, ...]
) -> tuple[list[Condition], tuple[slice, ...], tuple[int, ...], NDArray[np.bool_] | None]:
    """The conditions of a block's cells, its slices, its lengths, and which of its cells are at these depths."""
    conditions = [
        _condition(dimension, axis, depth)
        for axis, (dimension, depth) in enumerate(zip(shape.dimensions, depths, strict=True))
    ]
    conditions += [_filter(hidden.name, hidden.members, len(hidden.base)) for hidden in shape.filters]
    block = tuple(
        slice(len(d.outputs), len(d.outputs) + 1) if depth == TOTALS else slice(0, len(d.outputs))
        for d, depth in zip(shape.dimensions, depths, strict=True)
    )
    lengths = tuple(each.stop - each.start for each in block)
    mask = np.ones((1,) * len(lengths), dtype=np.bool_)
    for axis, (dimension, depth) in enumerate(zip(shape.dimensions, depths, strict=True)):
        if depth != TOTALS and len(_depths(dimension)) > 1:
            there = np.array([output.depth == depth for output in dimension.outputs])
            mask = mask & there.reshape([-1 if a == axis else 1 for a in range(len(lengths))])
    return conditions, block, lengths, None if mask.all() else np.broadcast_to(mask, lengths)


def _depths(dimension: Dimension) -> tuple[int, ...]:
    """The depths of a dimension's outputs; outputs of one depth are disjoint."""
    return tuple(sorted({output.depth for output in dimension.outputs}))


def _block(
    shape: TableShape,
    depths: tuple[int, ...],
    universe: Universe,
    dataset: Dataset,
    variances: Mapping[Margin, float],
) -> list[Part]:
    """The parts of the cells at one depth of every dimension, or of totals."""
    conditions, block, lengths, asked = block_conditions(shape, depths)
    telling = [condition for condition in conditions if condition.restricts]
    for public in universe.known:
        if margin_axes(public.margin, telling, dataset) is not None:
            return [Part(block, None, (), lengths, asked, public)]
    found = [
        Part(block, margin, axes, lengths)
        for margin in universe.margins
        if (axes := margin_axes(margin, telling, dataset)) is not None
    ]
    if not found:
        raise outside_universe(telling, universe, dataset)
    small = [part for part in found if part.base_cells <= MOST_BASE_CELLS]
    if not small:
        raise TooManyCells(
            message(
                "The answer would add up more than {most_base_cells:,} released cells.",
                most_base_cells=MOST_BASE_CELLS,
            ),
            message("Filter to fewer categories, or ask for a table that is declared itself."),
        )
    return _smallest_variance(small, variances, asked)


def _condition(dimension: Dimension, axis: int, depth: int) -> Condition:
    if depth == TOTALS:
        return _filter(dimension.name, dimension.population, len(dimension.base))
    labels = np.full(len(dimension.base), -1, dtype=np.int64)
    there = [(place, output) for place, output in enumerate(dimension.outputs) if output.depth == depth]
    sizes = [len(output.members) for _, output in there]
    members = np.fromiter(chain.from_iterable(output.members for _, output in there), np.int64, sum(sizes))
    labels[members] = np.repeat([place for place, _ in there], sizes)
    return Condition(dimension.name, labels, len(dimension.outputs), axis)


def _filter(name: str, members: tuple[int, ...], base: int) -> Condition:
    labels = np.full(base, -1, dtype=np.int64)
    labels[list(members)] = 0
    return Condition(name, labels, 1, None)


def margin_axes(
    margin: Margin, conditions: list[Condition], dataset: Dataset
) -> tuple[MarginAxis, ...] | None:
    """How a margin answers restricting conditions; None if it cannot."""
    by_variable: dict[str, list[tuple[Condition, NDArray[np.int64]]]] = {name: [] for name in margin}
    for condition in conditions:
        onto = next((name for name in margin if is_level_of(dataset, name, condition.name)), None)
        labels = None if onto is None else map_labels(dataset, condition.name, condition.labels, onto)
        if onto is None or labels is None:
            return None
        by_variable[onto].append((condition, labels))
    return tuple(
        MarginAxis(name, *joint_outputs(len(dataset.variable(name)), by_variable[name])) for name in margin
    )


def joint_outputs(
    categories: int, conditions: list[tuple[Condition, NDArray[np.int64]]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[int, ...], tuple[int, ...]]:
    """The categories that satisfy all conditions, the joint output of each, and the axes and lengths of the outputs."""
    counted = np.ones(categories, dtype=np.bool_)
    for _, labels in conditions:
        counted &= labels >= 0
    kept = np.flatnonzero(counted)
    target = np.zeros(kept.size, dtype=np.int64)
    axes, lengths = [], []
    for condition, labels in conditions:
        if condition.axis is not None:
            target = target * condition.outputs + labels[kept]
            axes.append(condition.axis)
            lengths.append(condition.outputs)
    return kept, target, tuple(axes), tuple(lengths)


def _smallest_variance(
    parts: list[Part], variances: Mapping[Margin, float], asked: NDArray[np.bool_] | None
) -> list[Part]:
    """Give each cell to the margin of smallest variance, the first of equals; most blocks need one margin."""
    bounds = [_bounds(part, variances) for part in parts]
    best = min(high for _, high in bounds)
    rivals = [part for part, (low, _) in zip(parts, bounds, strict=True) if low <= best]
    if len(rivals) == 1:
        return [replace(rivals[0], chosen=asked)]
    expected = [part.terms() * variances[part.margin or ()] for part in rivals]
    winner = np.argmin(np.stack(expected), axis=0)
    used = np.unique(winner if asked is None else winner[asked])
    if used.size == 1:
        return [replace(rivals[int(used[0])], chosen=asked)]
    return [
        replace(part, chosen=winner == place if asked is None else (winner == place) & asked)
        for place, part in enumerate(rivals)
        if place in used
    ]


def _bounds(part: Part, variances: Mapping[Margin, float]) -> tuple[float, float]:
    """The smallest and largest expected variance of a part's cells; cells without base cells do not count."""
    low = high = variances[part.margin or ()]
    for axis in part.axes:
        terms = axis.terms()
        some = terms[terms > 0]
        low *= int(some.min()) if some.size else 0
        high *= int(some.max()) if some.size else 0
    return low, high


def outside_universe(conditions: list[Condition], universe: Universe, dataset: Dataset) -> OutsideUniverse:
    """The refusal, with the variables whose removal would help."""
    names = list(dict.fromkeys(condition.name for condition in conditions))
    helps = tuple(
        message('"{name}"', name=name)
        for name in names
        if any(
            margin_axes(m, [c for c in conditions if c.name != name], dataset) is not None
            for m in universe.margins
        )
    )
    advice = (
        message("Take out {helps:either}, filters included.", helps=helps)
        if helps
        else message("See the dataset's budget for the declared tables.")
    )
    return OutsideUniverse(
        message(
            "No declared table contains {value:times}, so it has no privacy budget.",
            value=tuple(sorted(names)) or (message("the grand total"),),
        ),
        message("{advice} The custodian may declare it, or open a ledger for it.", advice=advice),
    )
