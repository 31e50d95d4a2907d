"""A joint universe is measured once, at load; every answer comes from the stored residuals, without reading a record.

    load      y_S = g_S f_S + noise(key of the cell in the stream of S), integers; their differences are stored
    answer    the values of the smallest table that contains a cell, summed over its categories, exactly, in steps of 2^-30
    release   the value rounded to an integer, halves to even: the same in every table

Each residual has one stream of keys, which depends on the dataset, the version, the fingerprint of the records, the noise
table, the codes, the grid and the blocks. No key is used for two measurements.

The table that answers a cell depends on the cell alone. A cell is a set of categories of every attribute. Along an
attribute the coarsest level that can express it is used: all districts of a region are the region. So a description has
one value in every table, layout and slice.

    block     the cells at one depth of every dimension, or of totals (as in `margin_choice`)
    side      along one attribute: for every output of the block, its level and its categories there

All cells are linear functions of the same noisy residuals, so they are not independent. Each alone is normal, rounded.
Sums, differences and shares of cells have the variance that follows from their covariances:

    Cov(cell, other) = Σ_S v_S Π_j ⟨u_j, u'_j⟩                            (`margins/residual_space.py`)

A test of a whole table treats the noise of its cells as independent. It uses the largest variance of any contrast of
them with length 1 (`for_tests`): more noise than there is, in every direction.

Source: docs/methods/dp-joint.md.
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import product
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadDescription, WorkspaceUnusable
from discreet.margins import residual_space
from discreet.margins.residual_space import Attribute, Levels, Side
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import is_level_of, map_labels
from discreet.model.messages.text import one_line
from discreet.model.noise_distribution import CellDistribution, NoiseDistribution
from discreet.model.request import TableRequest
from discreet.model.shape import TableShape, table_shape
from discreet.model.universe import Margin, Universe, maximal
from discreet.noise.cell_distribution import RoundedNormalDistribution
from discreet.noise.table import NO_NOISE, mechanism_name
from discreet.noise.table_distribution import by_classes
from discreet.protect import margin_choice
from discreet.protect.description_keys import NoiseContext, canonical_cells, residual_keys
from discreet.protect.joint_plan import JointPlan, Residual
from discreet.protect.protector import NoisyCells
from discreet.records.engine import Engine
from discreet.records.keys import Secret
from discreet.records.tabulate import tabulate

#: The most numbers of a universe.
MOST_NUMBERS = 50_000_000
#: Cells of the cached tables of values, together.
CACHED_CELLS = 4_000_000


def residual_cells(plan: JointPlan) -> int:
    """The number of stored integers."""
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
    """Count the largest declared tables, and measure all residuals from them."""
    declared = tuple(residual.margin for residual in plan.residuals)
    counted = {
        margin: tabulate(engine, margin_shape(margin, dataset)).counts
        for margin in maximal(declared, dataset)
    }
    return noisy_residuals(plan, counted, secret, dataset, fingerprint)


def margin_shape(margin: Margin, dataset: Dataset) -> TableShape:
    """The shape of a whole margin, without totals."""
    return table_shape(TableRequest(dataset.id, margin, totals=False), dataset)


def noisy_residuals(
    plan: JointPlan,
    counted: Mapping[Margin, NDArray[np.int64]],
    secret: Secret,
    dataset: Dataset,
    fingerprint: str,
) -> NDArray[np.int64]:
    """All noisy residuals one after the other, in the order of the parts.

    `counted` has the exact tables of the largest margins, with axes in the order of the sorted names.
    """
    tables = {plan.levels(margin): _by_attribute(plan, margin, table) for margin, table in counted.items()}
    found = np.zeros(residual_cells(plan), dtype=np.int64)
    for levels, table in residual_space.part_tables(plan.space, tables):
        residual = plan.by_levels[levels]
        noisy = residual.grid * table + _noise(plan, residual, secret, dataset, fingerprint)
        found[plan.places[levels]] = residual_space.differences(plan.space, noisy, levels).ravel()
    return found


def _noise(
    plan: JointPlan, residual: Residual, secret: Secret, dataset: Dataset, fingerprint: str
) -> NDArray[np.int64] | int:
    table = residual.noise
    if table is None:
        return 0
    context = NoiseContext(dataset.id, dataset.version, fingerprint, mechanism_name(table))
    cells = canonical_cells(residual.margin, dataset)
    keys = residual_keys(secret, context, cells, _blocks(plan, residual))
    return _by_attribute(plan, residual.margin, table.noise(np.zeros(keys.shape, dtype=np.int64), keys))


def _blocks(plan: JointPlan, residual: Residual) -> str:
    """A hash of the grid and the blocks of a residual."""
    text = hashlib.sha256(str(residual.grid).encode("ascii"))
    for names, attribute, level in zip(plan.names, plan.space.attributes, residual.levels, strict=True):
        if level:
            parents = " ".join(map(str, attribute.parents[level - 1].tolist()))
            text.update(f"|{names[level - 1]} {level} {parents}".encode())
    return text.hexdigest()


def _by_attribute(plan: JointPlan, margin: Margin, table: NDArray[Any]) -> NDArray[Any]:
    """A table over sorted names as one over attributes, with an axis of length 1 for each that it does not use."""
    order = [next((margin.index(n) for n in attribute if n in margin), None) for attribute in plan.names]
    shown = table.transpose([axis for axis in order if axis is not None])
    return shown.reshape([1 if axis is None else table.shape[axis] for axis in order])


@dataclass(frozen=True, eq=False, repr=False)
class StoredResiduals:
    """The noisy residuals of a version, which were charged for and may be released."""

    plan: JointPlan
    numbers: NDArray[np.int64]
    _values: OrderedDict[Levels, NDArray[np.int64]] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        if self.numbers.shape != (residual_cells(self.plan),):
            raise WorkspaceUnusable(
                "The stored residuals are not those of the plan.", "Load the dataset again."
            )

    def residual(self, levels: Levels) -> tuple[int, NDArray[np.int64]]:
        """The grid and the stored integers of one residual, with an axis for every attribute."""
        grid = self.plan.by_levels[levels].grid
        return grid, self.numbers[self.plan.places[levels]].reshape(self.plan.space.shape(levels))

    def values(self, table: Levels) -> NDArray[np.int64]:
        """The values of a table in steps of 1/UNIT, with an axis for every attribute."""
        with self._lock:
            if table not in self._values:
                self._values[table] = residual_space.table_values(self.plan.space, table, self.residual)
            self._values.move_to_end(table)
            while sum(each.size for each in self._values.values()) > CACHED_CELLS and len(self._values) > 1:
                self._values.popitem(last=False)
            return self._values[table]

    def cells(
        self, shape: TableShape, blocks: tuple[Block, ...], distribution: JointDistribution
    ) -> NoisyCells:
        """The noisy cells of a table: integers, and the values that they are rounded from."""
        values = np.zeros(shape.lengths, dtype=np.int64)
        for block in blocks:
            block.put(values, self._block(block))
        unrounded = values / residual_space.UNIT
        return NoisyCells(np.rint(unrounded).astype(np.int64), distribution, unrounded)

    def _block(self, block: Block) -> NDArray[np.int64]:
        found = np.zeros([side.outputs for side in block.sides], dtype=np.int64)
        for levels in block.tables():
            table, places = self.values(levels), []
            for axis, (side, level) in enumerate(zip(block.sides, levels, strict=True)):
                outputs, kept, target = side.at(level)
                places.append(outputs)
                table, starts = np.take(table, kept, axis=axis), np.flatnonzero(np.diff(target, prepend=-1))
                if starts.size < target.size:
                    table = np.add.reduceat(table, starts, axis=axis)
            found[np.ix_(*places)] = table
        return block.laid(found)


AtLevel = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]

#: Cached sides; one of 3,750 areas takes some 200 kB.
CACHED_SIDES = 64


@dataclass(frozen=True, eq=False)
class AttributeSide:
    """The outputs of a block along one attribute.

    Args:
        kept: Its finest categories that count.
        target: For each of them its output.
        lengths: Of the axes that the outputs are laid along; the outputs are all their combinations.
    """

    attribute: Attribute
    kept: NDArray[np.int64]
    target: NDArray[np.int64]
    lengths: tuple[int, ...] = ()
    _at: dict[int, AtLevel] = field(default_factory=dict)

    @cached_property
    def outputs(self) -> int:
        """The number of outputs; 1 where the attribute is only summed over."""
        return int(np.prod(self.lengths, dtype=np.int64))

    @cached_property
    def levels(self) -> NDArray[np.int64]:
        """The coarsest level that can express each output; -1 for an output without categories."""
        finest = self.attribute.levels
        found = np.full(self.outputs, finest)
        for level in range(finest - 1, -1, -1):
            above = self.attribute.ancestors(finest, level)
            below = np.bincount(above, minlength=self.attribute.size(level))
            key, numbers = np.unique(self.target * below.size + above[self.kept], return_counts=True)
            broken = np.zeros(self.outputs, dtype=np.bool_)
            broken[key[numbers < below[key % below.size]] // below.size] = True
            found[~broken & (found == level + 1)] = level
        found[np.bincount(self.target, minlength=self.outputs) == 0] = -1
        return found

    @cached_property
    def active_levels(self) -> tuple[int, ...]:
        return tuple(np.unique(self.levels[self.levels >= 0]).tolist())

    def at(self, level: int) -> AtLevel:
        """The outputs at a level, the categories of that level that they sum, and the output of each, in order."""
        if level not in self._at:
            outputs = np.flatnonzero(self.levels == level)
            own = np.isin(self.target, outputs)
            above = self.attribute.ancestors(self.attribute.levels, level)[self.kept[own]]
            size = self.attribute.size(level)
            key = np.unique(self.target[own] * size + above)
            self._at[level] = outputs, key % size, key // size
        return self._at[level]

    @cached_property
    def squares(self) -> NDArray[np.float64]:
        """Row level, column output: the share of a variance of 1 at that level in the output's variance."""
        found = np.zeros((self.attribute.levels + 1, self.outputs))
        for level in self.active_levels:
            outputs, kept, target = self.at(level)
            place = np.searchsorted(outputs, target)
            for above, squares in enumerate(
                residual_space.norms_squared(self.attribute, level, kept, place, outputs.size)
            ):
                found[above, outputs] = squares
        return found


@dataclass(frozen=True, eq=False)
class Block:
    """Cells of a table at one depth of every dimension, or of totals.

    Args:
        axes: For each of them the axes of the block that its outputs are laid along, ascending.
        chosen: Which of its cells are at the depths; None for all.
    """

    place: tuple[slice, ...]
    lengths: tuple[int, ...]
    sides: tuple[AttributeSide, ...]
    axes: tuple[tuple[int, ...], ...]
    chosen: NDArray[np.bool_] | None

    def tables(self) -> Iterator[Levels]:
        """The levels of the tables that answer cells of the block."""
        return product(*(side.active_levels for side in self.sides))

    def put(self, table: NDArray[Any], cells: NDArray[Any]) -> None:
        """Write the chosen cells of the block into a whole table."""
        np.copyto(table[self.place], cells, where=True if self.chosen is None else self.chosen)

    def laid(self, by_output: NDArray[Any]) -> NDArray[Any]:
        """An array over the outputs of all attributes in the shape of the block."""
        lengths = [length for side in self.sides for length in side.lengths]
        axes = [axis for own in self.axes for axis in own]
        table = by_output.reshape(lengths).transpose(np.argsort(axes, kind="stable"))
        missing = [axis for axis in range(len(self.lengths)) if axis not in axes]
        return np.broadcast_to(np.expand_dims(table, missing), self.lengths)


def joint_blocks(
    shape: TableShape, universe: Universe, dataset: Dataset, plan: JointPlan
) -> tuple[Block, ...]:
    """The blocks of a table, each with the sides that decide which table answers its cells.

    Raises:
        OutsideUniverse: No declared table contains the request; decided by the shape alone.
    """
    blocks = []
    for depths in margin_choice.block_depths(shape):
        conditions, place, lengths, chosen = margin_choice.block_conditions(shape, depths)
        sides = _sides(conditions, dataset, plan)
        block = None if sides is None else Block(place, lengths, *sides, chosen)
        if block is None or not plan.by_levels.keys() >= set(block.tables()):
            raise margin_choice.outside_universe(
                [each for each in conditions if each.restricts], universe, dataset
            )
        blocks.append(block)
    return tuple(blocks)


def _sides(
    conditions: list[margin_choice.Condition], dataset: Dataset, plan: JointPlan
) -> tuple[tuple[AttributeSide, ...], tuple[tuple[int, ...], ...]] | None:
    """The sides of conditions along every attribute, and their axes; None if one cannot be expressed by an attribute."""
    by_attribute: list[list[tuple[margin_choice.Condition, NDArray[np.int64]]]] = [[] for _ in plan.names]
    for condition in conditions:
        if not condition.restricts:
            continue
        at = next((j for j, c in enumerate(plan.names) if is_level_of(dataset, c[-1], condition.name)), None)
        labels = (
            None if at is None else map_labels(dataset, condition.name, condition.labels, plan.names[at][-1])
        )
        if at is None or labels is None:
            return None
        by_attribute[at].append((condition, labels))
    sides, axes = [], []
    for attribute, own in zip(plan.space.attributes, by_attribute, strict=True):
        kept, target, laid, lengths = margin_choice.joint_outputs(attribute.size(attribute.levels), own)
        sides.append(_make_side(attribute, kept.tobytes(), target.tobytes(), lengths))
        axes.append(laid)
    return tuple(sides), tuple(axes)


@lru_cache(maxsize=CACHED_SIDES)
def _make_side(attribute: Attribute, kept: bytes, target: bytes, lengths: tuple[int, ...]) -> AttributeSide:
    """Tables share their sides, so the derived arrays are computed once."""
    return AttributeSide(attribute, np.frombuffer(kept, np.int64), np.frombuffer(target, np.int64), lengths)


#: Variances are rounded up to this many binary digits, so that equal ones compare equal.
_DIGITS = 2**40


@dataclass(frozen=True, eq=False)
class JointDistribution(NoiseDistribution):
    """Variances and covariances of the cells of a joint table.

    Args:
        variances: Of every cell, before rounding; 0 for a public number or a cell without categories.
        nobody: Cells without categories.
        places: For each axis the indices of the whole table that are kept.
    """

    variances: NDArray[np.float64]
    nobody: NDArray[np.bool_]
    shape: TableShape
    plan: JointPlan
    dataset: Dataset
    places: tuple[NDArray[np.int64], ...]

    @property
    def distributions(self) -> tuple[CellDistribution, ...]:
        return self._found[0]

    @property
    def kind(self) -> NDArray[np.int64]:
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[tuple[CellDistribution, ...], NDArray[np.int64]]:
        found, kind = np.unique(self.variances, return_inverse=True)
        distributions = tuple(
            RoundedNormalDistribution(v, self.plan.steps) if v else NO_NOISE for v in found.tolist()
        )
        return distributions, kind.reshape(self.variances.shape)

    @property
    def impossible(self) -> NDArray[np.bool_]:
        return self.nobody

    @property
    def exact(self) -> NDArray[np.bool_]:
        return np.asarray((self.variances == 0) & ~self.nobody)

    @property
    def rounds(self) -> bool:
        """True: every cell is its own value, rounded."""
        return True

    def adds_up(self, axis: int, wholes: Mapping[int, Sequence[int]]) -> bool:  # noqa: ARG002 - all of them do
        """Whether a whole is the sum of its parts up to rounding; not if some cells are structural zeros."""
        return not self.dataset.structural_zeros

    def source(self, *place: int) -> str | None:
        """The name "joint": all cells share the noise of the residuals. None for a public number."""
        return "joint" if self.variances[place] else None

    def covariance(self, places: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
        """The covariance matrix of the unrounded values of some cells."""
        return residual_space.covariances(
            self.plan.space, self.plan.variances, [self._box(place) for place in places]
        )

    def for_tests(self) -> JointDistribution:
        """The distribution for tests that assume independence: every cell has the largest variance of a unit contrast."""
        levels = [_finest_level(self.plan, self.dataset, d.name) for d in self.shape.dimensions]
        largest = max(
            (
                v * _thinnest(self.plan, part, levels)
                for part, v in zip(self.plan.space.parts, self.plan.variances, strict=True)
            ),
            default=0.0,
        )
        return replace(self, variances=np.where(self.variances > 0, np.maximum(self.variances, largest), 0.0))

    def cut(self, places: tuple[NDArray[np.int64], ...]) -> JointDistribution:
        index = np.ix_(*places)
        kept = tuple(own[few] for own, few in zip(self.places, places, strict=True))
        return replace(self, variances=self.variances[index], nobody=self.nobody[index], places=kept)

    def document(self) -> dict[str, Any]:
        """The standard deviations, and by classes of categories which cell has which."""
        classes, (table,) = by_classes(self.kind)
        sd = [{"standard_deviation": math.sqrt(v)} for v in np.unique(self.variances).tolist()]
        return {"noise": {"joint": True, "laws": sd, "classes": classes, "law": table.ravel().tolist()}}

    def _box(self, place: tuple[int, ...]) -> list[Side]:
        at = [int(own[here]) for own, here in zip(self.places, place, strict=True)]
        sets = [(d.name, d.members()[here]) for d, here in zip(self.shape.dimensions, at, strict=True)]
        sets += [(f.name, f.members) for f in self.shape.filters]
        kept = [self._categories(names[-1], sets) for names in self.plan.names]
        return [
            (0, np.zeros(1, dtype=np.int64)) if own.all() else (attribute.levels, np.flatnonzero(own))
            for attribute, own in zip(self.plan.space.attributes, kept, strict=True)
        ]

    def _categories(self, finest: str, sets: Sequence[tuple[str, tuple[int, ...]]]) -> NDArray[np.bool_]:
        """Which categories of the finest level of an attribute satisfy all conditions on it."""
        kept = np.ones(len(self.dataset.variable(finest)), dtype=np.bool_)
        for name, members in sets:
            if is_level_of(self.dataset, name, finest):
                labels = np.full(len(self.dataset.variable(name)), -1, dtype=np.int64)
                labels[list(members)] = 0
                told = map_labels(self.dataset, name, labels, finest)
                kept &= kept if told is None else told >= 0
        return kept

    def __repr__(self) -> str:
        return one_line(self, f"of {self.variances.size:,} cells, jointly")


def joint_distribution(
    shape: TableShape, blocks: Sequence[Block], plan: JointPlan, dataset: Dataset
) -> JointDistribution:
    """The distribution of the cells of a table; no stored value is read."""
    variances = np.zeros(shape.lengths)
    nobody = np.zeros(shape.lengths, dtype=np.bool_)
    for block in blocks:
        own, empty = _of_block(block, plan)
        block.put(variances, own)
        block.put(nobody, empty)
    mantissa, exponent = np.frexp(variances)
    rounded = np.ldexp(np.ceil(mantissa * _DIGITS - 0.01) / _DIGITS, exponent)
    return JointDistribution(rounded, nobody, shape, plan, dataset, tuple(map(np.arange, shape.lengths)))


def _of_block(block: Block, plan: JointPlan) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The variance of each cell, and whether it has no category."""
    outputs = [side.outputs for side in block.sides]
    total = np.zeros(outputs)
    empty: NDArray[np.bool_] = np.zeros(outputs, dtype=np.bool_)
    for axis, side in enumerate(block.sides):
        empty = empty | residual_space.along(side.levels < 0, axis, len(outputs))
    told = [side.squares.max(axis=1, initial=0.0) > 0 for side in block.sides]
    for part, variance in zip(plan.space.parts, plan.variances, strict=True):
        if variance and all(bool(own[level]) for own, level in zip(told, part, strict=True)):
            product: Any = variance
            for axis, (side, level) in enumerate(zip(block.sides, part, strict=True)):
                product = product * residual_space.along(side.squares[level], axis, len(outputs))
            total += product
    return block.laid(np.where(empty, 0.0, total)), block.laid(empty)


def _finest_level(plan: JointPlan, dataset: Dataset, name: str) -> tuple[int, int] | None:
    """The attribute of a variable, and the finest level of it that can be looked at."""
    for place, attribute in enumerate(plan.names):
        if is_level_of(dataset, attribute[-1], name):
            return place, attribute.index(name) + 1 if name in attribute else len(attribute)
    return None


def _thinnest(plan: JointPlan, part: tuple[int, ...], shown: Sequence[tuple[int, int] | None]) -> float:
    """1 over the fewest cells of a table that a cell of a residual spans; 0 if the table does not contain it."""
    level = dict(each for each in shown if each is not None)
    share = 1.0
    for place, (attribute, own) in enumerate(zip(plan.space.attributes, part, strict=True)):
        if own > level.get(place, 0):
            return 0.0
        if own < level.get(place, 0):
            share *= float(attribute.shares(level[place], own).max())
    return share
