"""Which declared table answers each cell of a joint universe: the smallest that can say it, by the cell alone.

A cell is a box: some categories of every chain. Along a chain it is told at the coarsest level that can say it: all
districts of a region are the region, all categories are everybody. So a description has one table that answers it, whatever
table, layout or slice it stands in, and its value is one sum of that table's values.

    block     the cells at one depth of every dimension, or of totals (as in `cover`)
    side      along one chain: for every output of the block, its level and its categories there
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.margins.boxes import squared_lengths
from discreet.model.level_maps import express, is_level_of
from discreet.protect.cover import block_conditions, block_depths, outside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.margins.chain import Chain
    from discreet.margins.residual_space import Levels
    from discreet.model.dataset import Dataset
    from discreet.model.shape import TableShape
    from discreet.model.universe import Universe
    from discreet.protect.cover import Condition
    from discreet.protect.joint_plan import JointPlan

    AtLevel = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]

#: Sides that are remembered; one of 3,750 areas takes some 200 kB.
KNOWN_SIDES = 64


@dataclass(frozen=True, eq=False)
class ChainSide:
    """What a block says along one chain.

    Args:
        chain: The attribute.
        kept: Its finest categories that count.
        target: For each of them the output that it belongs to.
        lengths: Of the axes that the outputs are laid along; the outputs are all their combinations.
    """

    chain: Chain
    kept: NDArray[np.int64]
    target: NDArray[np.int64]
    lengths: tuple[int, ...] = ()
    _at: dict[int, AtLevel] = field(default_factory=dict)

    @cached_property
    def outputs(self) -> int:
        """How many outputs there are; 1 where the chain is only added up."""
        return int(np.prod(self.lengths, dtype=np.int64))

    @cached_property
    def levels(self) -> NDArray[np.int64]:
        """The coarsest level that can say each output; -1 where it holds no category."""
        finest = self.chain.levels
        found = np.full(self.outputs, finest)
        for level in range(finest - 1, -1, -1):
            above = self.chain.ancestors(finest, level)
            below = np.bincount(above, minlength=self.chain.size(level))
            key, numbers = np.unique(self.target * below.size + above[self.kept], return_counts=True)
            broken = np.zeros(self.outputs, dtype=np.bool_)
            broken[key[numbers < below[key % below.size]] // below.size] = True
            found[~broken & (found == level + 1)] = level
        found[np.bincount(self.target, minlength=self.outputs) == 0] = -1
        return found

    @cached_property
    def told(self) -> tuple[int, ...]:
        """The levels that say an output."""
        return tuple(np.unique(self.levels[self.levels >= 0]).tolist())

    def at(self, level: int) -> AtLevel:
        """The outputs of a level; the categories of that level that they add up; and the output of each, in order."""
        if level not in self._at:
            outputs = np.flatnonzero(self.levels == level)
            own = np.isin(self.target, outputs)
            above = self.chain.ancestors(self.chain.levels, level)[self.kept[own]]
            size = self.chain.size(level)
            key = np.unique(self.target[own] * size + above)
            self._at[level] = outputs, key % size, key // size
        return self._at[level]

    @cached_property
    def squares(self) -> NDArray[np.float64]:
        """Row level, column output: what a variance of 1 at that level adds to the output's variance."""
        found = np.zeros((self.chain.levels + 1, self.outputs))
        for level in self.told:
            outputs, kept, target = self.at(level)
            place = np.searchsorted(outputs, target)
            for above, squares in enumerate(squared_lengths(self.chain, level, kept, place, outputs.size)):
                found[above, outputs] = squares
        return found


@dataclass(frozen=True, eq=False)
class Block:
    """Cells of a table at one depth of every dimension, or of totals.

    Args:
        place: Where the block stands in the table's arrays.
        lengths: Its shape.
        sides: One for every chain.
        axes: For each of them the axes of the block that its outputs are laid along, ascending.
        chosen: Which of its cells stand at the depths; None for all.
    """

    place: tuple[slice, ...]
    lengths: tuple[int, ...]
    sides: tuple[ChainSide, ...]
    axes: tuple[tuple[int, ...], ...]
    chosen: NDArray[np.bool_] | None

    def tables(self) -> Iterator[Levels]:
        """The levels of the tables that answer cells of the block."""
        return product(*(side.told for side in self.sides))

    def laid(self, by_output: NDArray[Any]) -> NDArray[Any]:
        """An array over the outputs of all chains in the shape of the block."""
        lengths = [length for side in self.sides for length in side.lengths]
        axes = [axis for own in self.axes for axis in own]
        table = by_output.reshape(lengths).transpose(np.argsort(axes, kind="stable"))
        missing = [axis for axis in range(len(self.lengths)) if axis not in axes]
        return np.broadcast_to(np.expand_dims(table, missing), self.lengths)


def joint_cover(
    shape: TableShape, universe: Universe, dataset: Dataset, plan: JointPlan
) -> tuple[Block, ...]:
    """The blocks of a table, each with the sides that say which table answers its cells.

    Raises:
        OutsideUniverse: No declared table contains what is asked; decided by the shape alone.
    """
    blocks = []
    for depths in block_depths(shape):
        conditions, place, lengths, chosen = block_conditions(shape, depths)
        sides = _sides(conditions, dataset, plan)
        block = None if sides is None else Block(place, lengths, *sides, chosen)
        if block is None or not all(map(plan.space.holds, block.tables())):
            raise outside([each for each in conditions if each.restricts], universe, dataset)
        blocks.append(block)
    return tuple(blocks)


def _sides(
    conditions: list[Condition], dataset: Dataset, plan: JointPlan
) -> tuple[tuple[ChainSide, ...], tuple[tuple[int, ...], ...]] | None:
    """What conditions say along every chain, and on which axes; None where one is on no chain, or finer than its chain."""
    by_chain: list[list[tuple[Condition, NDArray[np.int64]]]] = [[] for _ in plan.names]
    for condition in conditions:
        if not condition.restricts:
            continue
        at = next((j for j, c in enumerate(plan.names) if is_level_of(dataset, c[-1], condition.name)), None)
        labels = (
            None if at is None else express(dataset, condition.name, condition.labels, plan.names[at][-1])
        )
        if at is None or labels is None:
            return None
        by_chain[at].append((condition, labels))
    sides = tuple(_side(chain, own) for chain, own in zip(plan.space.chains, by_chain, strict=True))
    return sides, tuple(tuple(c.axis for c, _ in own if c.axis is not None) for own in by_chain)


def _side(chain: Chain, conditions: list[tuple[Condition, NDArray[np.int64]]]) -> ChainSide:
    counted = np.ones(chain.size(chain.levels), dtype=np.bool_)
    for _, labels in conditions:
        counted &= labels >= 0
    kept = np.flatnonzero(counted)
    target = np.zeros(kept.size, dtype=np.int64)
    shown = [(each, labels) for each, labels in conditions if each.axis is not None]
    for condition, labels in shown:
        target = target * condition.outputs + labels[kept]
    return _known_side(
        chain, kept.tobytes(), target.tobytes(), tuple(condition.outputs for condition, _ in shown)
    )


@lru_cache(maxsize=KNOWN_SIDES)
def _known_side(chain: Chain, kept: bytes, target: bytes, lengths: tuple[int, ...]) -> ChainSide:
    """The side with these categories: tables share their sides, and what follows from one is worked out once."""
    return ChainSide(chain, np.frombuffer(kept, np.int64), np.frombuffer(target, np.int64), lengths)
