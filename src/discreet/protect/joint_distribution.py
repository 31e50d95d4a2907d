"""The noise distribution of a joint table: the variance of every cell, and the covariance of any two.

All cells are linear functions of the same noisy residuals, so they are not independent. Each alone is normal, rounded.
Sums, differences and shares of cells have the variance that follows from their covariances:

    Cov(cell, other) = Σ_S v_S Π_j ⟨u_j, u'_j⟩                            (`margins/residual_table.py`)

A test of a whole table treats the noise of its cells as independent. It uses the largest variance of any contrast of
them with length 1 (`for_tests`): more noise than there is, in every direction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.margins.residual_space import along
from discreet.margins.residual_table import Side, covariances
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import is_level_of, map_labels
from discreet.model.messages.text import one_line
from discreet.model.noise_distribution import CellDistribution, NoiseDistribution
from discreet.model.shape import TableShape
from discreet.noise.cell_distribution import RoundedNormalDistribution
from discreet.noise.table import NO_NOISE
from discreet.protect.joint_plan import JointPlan
from discreet.protect.joint_residuals import Block

#: Variances are rounded up to this many binary digits, so that equal ones compare equal.
_DIGITS = 2**40


@dataclass(frozen=True, eq=False)
class JointDistribution(NoiseDistribution):
    """Variances and covariances of the cells of a joint table.

    Args:
        variances: Of every cell, before rounding; 0 for a public number or a cell without categories.
        nobody: Cells without categories.
        shape: The whole table.
        plan: The residuals.
        dataset: The description.
        places: For each axis the indices of the whole table that are kept.
    """

    variances: NDArray[np.float64]
    nobody: NDArray[np.bool_]
    shape: TableShape
    plan: JointPlan
    dataset: Dataset
    places: tuple[NDArray[np.int64], ...]

    @property
    def laws(self) -> tuple[CellDistribution, ...]:
        """One rounded normal distribution for each variance."""
        return self._found[0]

    @property
    def kind(self) -> NDArray[np.int64]:
        """The index of each cell's distribution."""
        return self._found[1]

    @cached_property
    def _found(self) -> tuple[tuple[CellDistribution, ...], NDArray[np.int64]]:
        found, kind = np.unique(self.variances, return_inverse=True)
        laws = tuple(RoundedNormalDistribution(v, self.plan.steps) if v else NO_NOISE for v in found.tolist())
        return laws, kind.reshape(self.variances.shape)

    @property
    def impossible(self) -> NDArray[np.bool_]:
        """Cells without categories."""
        return self.nobody

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Cells whose residuals are invariants."""
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
        return covariances(self.plan.space, self.plan.variances, [self._box(place) for place in places])

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
        """The distribution of some of the cells."""
        index = np.ix_(*places)
        kept = tuple(own[few] for own, few in zip(self.places, places, strict=True))
        return replace(self, variances=self.variances[index], nobody=self.nobody[index], places=kept)

    def document(self) -> dict[str, Any]:
        """The standard deviations, and by classes of categories which cell has which."""
        classes, table = _by_classes(self.kind)
        sd = [{"standard_deviation": math.sqrt(v)} for v in np.unique(self.variances).tolist()]
        return {"noise": {"joint": True, "laws": sd, "classes": classes, "law": table.ravel().tolist()}}

    def _box(self, place: tuple[int, ...]) -> list[Side]:
        """A cell as categories of every attribute, at the finest level."""
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
        chosen = np.True_ if block.chosen is None else block.chosen
        own, empty = _of_block(block, plan)
        variances[block.place] = np.where(chosen, own, variances[block.place])
        nobody[block.place] = np.where(chosen, empty, nobody[block.place])
    mantissa, exponent = np.frexp(variances)
    rounded = np.ldexp(np.ceil(mantissa * _DIGITS - 0.01) / _DIGITS, exponent)
    return JointDistribution(rounded, nobody, shape, plan, dataset, tuple(map(np.arange, shape.lengths)))


def _of_block(block: Block, plan: JointPlan) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The variance of each cell, and whether it has no category."""
    outputs = [side.outputs for side in block.sides]
    total = np.zeros(outputs)
    empty: NDArray[np.bool_] = np.zeros(outputs, dtype=np.bool_)
    for axis, side in enumerate(block.sides):
        empty = empty | along(side.levels < 0, axis, len(outputs))
    told = [side.squares.max(axis=1, initial=0.0) > 0 for side in block.sides]
    for part, variance in zip(plan.space.parts, plan.variances, strict=True):
        if variance and all(bool(own[level]) for own, level in zip(told, part, strict=True)):
            product: Any = variance
            for axis, (side, level) in enumerate(zip(block.sides, part, strict=True)):
                product = product * along(side.squares[level], axis, len(outputs))
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


def _by_classes(kind: NDArray[np.int64]) -> tuple[list[list[int]], NDArray[np.int64]]:
    """For each axis the class of every index, and the array reduced to one index per class."""
    classes = []
    for axis in range(kind.ndim):
        seen: dict[bytes, int] = {}
        each = [seen.setdefault(row.tobytes(), len(seen)) for row in np.moveaxis(kind, axis, 0)]
        kind = kind.take(np.unique(each, return_index=True)[1], axis)
        classes.append(each)
    return classes, kind
