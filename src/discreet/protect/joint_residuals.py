"""A joint universe measured once, at load, and answered from what was stored: no record is read for an answer.

    load      y_S = g_S f_S + noise(key of the cell in the stream of S), whole numbers; their differences are stored
    answer    the values of the smallest table that says a cell, added up over its categories, exactly, in steps of 2^-30
    shown     the value rounded to a whole number, halves to even: the same in every table

Each residual has one stream of keys. It depends on the dataset, the version, the fingerprint of the records, the noise
table, the codes, the grid and the blocks: nothing that is measured twice has one key.

Source: docs/methods/dp-joint.md.

Which declared table answers each cell of a joint universe: the smallest that can say it, by the cell alone.

A cell is a box: some categories of every chain. Along a chain it is told at the coarsest level that can say it: all
districts of a region are the region, all categories are everybody. So a description has one table that answers it, whatever
table, layout or slice it stands in, and its value is one sum of that table's values.

    block     the cells at one depth of every dimension, or of totals (as in `cover`)
    side      along one chain: for every output of the block, its level and its categories there
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadDescription, WorkspaceUnusable
from discreet.margins.residual_space import Attribute, Levels
from discreet.margins.residual_table import UNIT, differences, norms_squared, part_tables, table_values
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import is_level_of, map_labels
from discreet.model.shape import Dimension, TableShape, plain_outputs
from discreet.model.universe import Margin, Universe, maximal
from discreet.noise.identity import mechanism_name
from discreet.protect.description_keys import NoiseContext, canonical_cells, residual_keys
from discreet.protect.joint_plan import JointPlan, Residual
from discreet.protect.margin_choice import Condition, block_conditions, block_depths, outside_universe
from discreet.protect.protector import NoisyCells
from discreet.records.engine import Engine
from discreet.records.keys import Secret
from discreet.records.tabulate import tabulate

if TYPE_CHECKING:
    from discreet.protect.joint_distribution import JointDistribution


#: A universe may have so many numbers.
MOST_NUMBERS = 50_000_000
#: Values of tables are kept for the next question up to so many cells together.
KEPT_CELLS = 4_000_000


def residual_cells(plan: JointPlan) -> int:
    """How many numbers are stored.

    Raises:
        BadDescription: More than is done.
    """
    cells = sum(map(plan.space.cells, plan.space.parts))
    if cells > MOST_NUMBERS:
        raise BadDescription(
            f"The universe has {cells:,} residuals, and at most {MOST_NUMBERS:,} are measured together.",
            'Declare fewer or smaller tables, or write margins = "own", which computes noise when it is asked for.',
        )
    return cells


def measure(
    engine: Engine, plan: JointPlan, secret: Secret, dataset: Dataset, fingerprint: str
) -> NDArray[np.int64]:
    """Count the largest declared tables, and measure everything from them."""
    declared = tuple(residual.margin for residual in plan.residuals)
    counted = {
        margin: tabulate(engine, _plain_shape(margin, dataset)).counts
        for margin in maximal(declared, dataset)
    }
    return noisy_residuals(plan, counted, secret, dataset, fingerprint)


def _plain_shape(margin: Margin, dataset: Dataset) -> TableShape:
    """All cells of a margin, without totals."""
    dimensions = []
    for variable in map(dataset.variable, margin):
        everything = tuple(range(len(variable)))
        outputs = plain_outputs(variable)
        dimensions.append(
            Dimension(variable.name, variable.label, outputs, everything, variable.codes, total=False)
        )
    return TableShape(tuple(dimensions))


def noisy_residuals(
    plan: JointPlan,
    counted: Mapping[Margin, NDArray[np.int64]],
    secret: Secret,
    dataset: Dataset,
    fingerprint: str,
) -> NDArray[np.int64]:
    """All noisy residuals one after the other, in the order of the parts.

    Args:
        plan: What is measured, with which noise.
        counted: The exact tables of margins that hold all others, axes in the order of the sorted names.
        secret: The workspace's secret.
        dataset: The description.
        fingerprint: The keyed fingerprint of the records.
    """
    tables = {plan.levels(margin): _by_attribute(plan, margin, table) for margin, table in counted.items()}
    found = np.zeros(residual_cells(plan), dtype=np.int64)
    places = _places(plan)
    for levels, table in part_tables(plan.space, tables):
        residual = plan.by_levels[levels]
        noisy = residual.grid * table + _noise(plan, residual, secret, dataset, fingerprint)
        found[places[levels]] = differences(plan.space, noisy, levels).ravel()
    return found


def _noise(
    plan: JointPlan, residual: Residual, secret: Secret, dataset: Dataset, fingerprint: str
) -> NDArray[np.int64] | int:
    """The noise of every cell of a residual; a public number has none."""
    table = residual.noise
    if table is None:
        return 0
    context = NoiseContext(dataset.id, dataset.version, fingerprint, mechanism_name(table))
    cells = canonical_cells(residual.margin, dataset)
    keys = residual_keys(secret, context, cells, _blocks(plan, residual))
    return _by_attribute(plan, residual.margin, table.noise(np.zeros(keys.shape, dtype=np.int64), keys))


def _blocks(plan: JointPlan, residual: Residual) -> str:
    """The grid and the blocks of a residual, as text."""
    text = hashlib.sha256(str(residual.grid).encode("ascii"))
    for names, chain, level in zip(plan.names, plan.space.chains, residual.levels, strict=True):
        if level:
            parents = " ".join(map(str, chain.parents[level - 1].tolist()))
            text.update(f"|{names[level - 1]} {level} {parents}".encode())
    return text.hexdigest()


def _by_attribute(plan: JointPlan, margin: Margin, table: NDArray[Any]) -> NDArray[Any]:
    """A table over sorted names as one over chains, with an axis of length 1 for each that it does not look at."""
    order = [next((margin.index(n) for n in chain if n in margin), None) for chain in plan.names]
    shown = table.transpose([axis for axis in order if axis is not None])
    return shown.reshape([1 if axis is None else table.shape[axis] for axis in order])


def _places(plan: JointPlan) -> dict[Levels, slice]:
    """Where the numbers of each residual are stored."""
    ends = np.cumsum([plan.space.cells(part) for part in plan.space.parts]).tolist()
    return {
        part: slice(start, end) for part, start, end in zip(plan.space.parts, [0, *ends], ends, strict=False)
    }


@dataclass(frozen=True, eq=False, repr=False)
class StoredResiduals:
    """The noisy residuals of a version: numbers that were charged for, and may be seen.

    Args:
        plan: What was measured.
        numbers: All of them, as `measured` gives them.
    """

    plan: JointPlan
    numbers: NDArray[np.int64]
    _values: OrderedDict[Levels, NDArray[np.int64]] = field(default_factory=OrderedDict)
    _at: dict[Levels, slice] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._at.update(_places(self.plan))
        if self.numbers.shape != (residual_cells(self.plan),):
            raise WorkspaceUnusable(
                "The stored residuals are not those of the plan.", "Load the dataset again."
            )

    def residual(self, levels: Levels) -> tuple[int, NDArray[np.int64]]:
        """The grid and the stored numbers of one residual, with an axis for every chain."""
        own = self.plan.by_levels[levels]
        return own.grid, self.numbers[self._at[levels]].reshape(self.plan.space.shape(levels))

    def values(self, table: Levels) -> NDArray[np.int64]:
        """The values of a table in steps of 1/UNIT, with an axis for every chain."""
        found = self._values.pop(table, None)
        if found is None:
            found = table_values(self.plan.space, table, self.residual)
        self._values[table] = found
        while sum(each.size for each in self._values.values()) > KEPT_CELLS and len(self._values) > 1:
            self._values.popitem(last=False)
        return found

    def cells(self, shape: TableShape, blocks: tuple[Block, ...], law: JointDistribution) -> NoisyCells:
        """The noisy cells of a table: whole numbers, and the values that they are rounded from."""
        values = np.zeros(shape.lengths, dtype=np.int64)
        for block in blocks:
            own = self._block(block)
            chosen = np.True_ if block.chosen is None else block.chosen
            values[block.place] = np.where(chosen, own, values[block.place])
        unrounded = values / UNIT
        return NoisyCells(np.rint(unrounded).astype(np.int64), law, unrounded)

    def _block(self, block: Block) -> NDArray[np.int64]:
        """The values of a block's cells: each from the one table that says it."""
        found = np.zeros([side.outputs for side in block.sides], dtype=np.int64)
        for levels in block.tables():
            table, places = self.values(levels), []
            for axis, (side, level) in enumerate(zip(block.sides, levels, strict=True)):
                outputs, kept, target = side.at(level)
                places.append(outputs)
                table = _sum_outputs(np.take(table, kept, axis=axis), axis, target)
            found[np.ix_(*places)] = table
        return block.laid(found)


def _sum_outputs(table: NDArray[np.int64], axis: int, target: NDArray[np.int64]) -> NDArray[np.int64]:
    """Categories added up to their outputs, which stand in ascending order."""
    starts = np.flatnonzero(np.diff(target, prepend=-1))
    return table if starts.size == target.size else np.add.reduceat(table, starts, axis=axis)


AtLevel = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]

#: Sides that are remembered; one of 3,750 areas takes some 200 kB.
KNOWN_SIDES = 64


@dataclass(frozen=True, eq=False)
class AttributeSide:
    """What a block says along one chain.

    Args:
        chain: The attribute.
        kept: Its finest categories that count.
        target: For each of them the output that it belongs to.
        lengths: Of the axes that the outputs are laid along; the outputs are all their combinations.
    """

    chain: Attribute
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
            for above, squares in enumerate(norms_squared(self.chain, level, kept, place, outputs.size)):
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
    sides: tuple[AttributeSide, ...]
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


def joint_blocks(
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
            raise outside_universe([each for each in conditions if each.restricts], universe, dataset)
        blocks.append(block)
    return tuple(blocks)


def _sides(
    conditions: list[Condition], dataset: Dataset, plan: JointPlan
) -> tuple[tuple[AttributeSide, ...], tuple[tuple[int, ...], ...]] | None:
    """What conditions say along every chain, and on which axes; None where one is on no chain, or finer than its chain."""
    by_chain: list[list[tuple[Condition, NDArray[np.int64]]]] = [[] for _ in plan.names]
    for condition in conditions:
        if not condition.restricts:
            continue
        at = next((j for j, c in enumerate(plan.names) if is_level_of(dataset, c[-1], condition.name)), None)
        labels = (
            None if at is None else map_labels(dataset, condition.name, condition.labels, plan.names[at][-1])
        )
        if at is None or labels is None:
            return None
        by_chain[at].append((condition, labels))
    sides = tuple(_side(chain, own) for chain, own in zip(plan.space.chains, by_chain, strict=True))
    return sides, tuple(tuple(c.axis for c, _ in own if c.axis is not None) for own in by_chain)


def _side(chain: Attribute, conditions: list[tuple[Condition, NDArray[np.int64]]]) -> AttributeSide:
    counted = np.ones(chain.size(chain.levels), dtype=np.bool_)
    for _, labels in conditions:
        counted &= labels >= 0
    kept = np.flatnonzero(counted)
    target = np.zeros(kept.size, dtype=np.int64)
    shown = [(each, labels) for each, labels in conditions if each.axis is not None]
    for condition, labels in shown:
        target = target * condition.outputs + labels[kept]
    return _make_side(
        chain, kept.tobytes(), target.tobytes(), tuple(condition.outputs for condition, _ in shown)
    )


@lru_cache(maxsize=KNOWN_SIDES)
def _make_side(chain: Attribute, kept: bytes, target: bytes, lengths: tuple[int, ...]) -> AttributeSide:
    """The side with these categories: tables share their sides, and what follows from one is worked out once."""
    return AttributeSide(chain, np.frombuffer(kept, np.int64), np.frombuffer(target, np.int64), lengths)
