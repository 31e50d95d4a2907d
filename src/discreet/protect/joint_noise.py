"""A joint universe measured once, at load, and answered from what was stored: no record is read for an answer.

    load      y_S = g_S f_S + noise(key of the cell in the stream of S), whole numbers; their differences are stored
    answer    the values of the smallest table that says a cell, added up over its categories, exactly, in steps of 2^-30
    shown     the value rounded to a whole number, halves to even: the same in every table

Each residual has one stream of keys. It depends on the dataset, the version, the fingerprint of the records, the noise
table, the codes, the grid and the blocks: nothing that is measured twice has one key.

Source: docs/methods/dp-joint.md.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import BadDescription, WorkspaceUnusable
from discreet.margins.residual_table import UNIT, differences, part_tables, table_values
from discreet.model.shape import Dimension, TableShape, plain_outputs
from discreet.model.universe import maximal
from discreet.noise.identity import mechanism_name
from discreet.protect.description_keys import NoiseContext, margin_cells, residual_keys
from discreet.protect.noisy_cells import NoisyCells
from discreet.records.tabulate import tabulate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from discreet.margins.residual_space import Levels
    from discreet.model.dataset import Dataset
    from discreet.model.universe import Margin
    from discreet.protect.joint_cover import Block
    from discreet.protect.joint_law import JointLaw
    from discreet.protect.joint_plan import JointPlan, Residual
    from discreet.records.engine import Engine
    from discreet.records.secret import Secret

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
    return measured(plan, counted, secret, dataset, fingerprint)


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


def measured(
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
    tables = {plan.levels(margin): _by_chains(plan, margin, table) for margin, table in counted.items()}
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
    cells = margin_cells(residual.margin, dataset)
    keys = residual_keys(secret, context, cells, _blocks(plan, residual))
    return _by_chains(plan, residual.margin, table.noise(np.zeros(keys.shape, dtype=np.int64), keys))


def _blocks(plan: JointPlan, residual: Residual) -> str:
    """The grid and the blocks of a residual, as text."""
    text = hashlib.sha256(str(residual.grid).encode("ascii"))
    for names, chain, level in zip(plan.names, plan.space.chains, residual.levels, strict=True):
        if level:
            parents = " ".join(map(str, chain.parents[level - 1].tolist()))
            text.update(f"|{names[level - 1]} {level} {parents}".encode())
    return text.hexdigest()


def _by_chains(plan: JointPlan, margin: Margin, table: NDArray[Any]) -> NDArray[Any]:
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

    def cells(self, shape: TableShape, blocks: tuple[Block, ...], law: JointLaw) -> NoisyCells:
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
                table = _added(np.take(table, kept, axis=axis), axis, target)
            found[np.ix_(*places)] = table
        return block.laid(found)


def _added(table: NDArray[np.int64], axis: int, target: NDArray[np.int64]) -> NDArray[np.int64]:
    """Categories added up to their outputs, which stand in ascending order."""
    starts = np.flatnonzero(np.diff(target, prepend=-1))
    return table if starts.size == target.size else np.add.reduceat(table, starts, axis=axis)
