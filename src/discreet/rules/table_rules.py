"""Declared rules on perturbed counts, area by area: is this area's part of the table too sparse to show?

Every rule is a function of `Slices`, that is of counts that already carry their noise. Structural zeros
are left out. With x the interior cells of an area, n its total, K the cells that can occur:

    share of zeros       #{x <= 0} / K                 share of ones   #{1 <= x <= k} / #{x > 0}
    marginal dominance   largest category of a variable / n
    attribute disclosure rows with exactly one populated cell / populated rows
    mean cell size       n / K

Comes from: `[[rule]]` in `dataset.toml`. Goes to: `verdict`.
Source: Rinott et al. (2018), section 2.2, property 3, and the remark on zeros, ones and twos.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.rules import reading
from discreet.rules.reading import key

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.rules.noisy_table import Slices


@dataclass(frozen=True, slots=True)
class ShareOfZeros:
    """At most so large a share of empty cells."""

    kind: ClassVar[str] = "share-of-zeros"
    most: float = key(reading.share)
    level: str | None = key(reading.level, None)
    from_variables: int = key(reading.whole(1), 1)

    def blocked(self, slices: Slices) -> NDArray[np.bool_]:
        """The slices with more."""
        empty = _sum((slices.interior <= 0) & slices.possible)
        return empty > self.most * _sum(slices.possible)

    @property
    def reason(self) -> str:
        """What is wrong with a blocked area."""
        return f"more than {self.most:.0%} of the cells are empty"


@dataclass(frozen=True, slots=True)
class ShareOfOnes:
    """At most so large a share of small counts among the populated cells."""

    kind: ClassVar[str] = "share-of-ones"
    most: float = key(reading.share)
    up_to: int = key(reading.whole(1), 1)
    level: str | None = key(reading.level, None)
    from_variables: int = key(reading.whole(1), 1)

    def blocked(self, slices: Slices) -> NDArray[np.bool_]:
        """The slices with more."""
        small = _sum((slices.interior > 0) & (slices.interior <= self.up_to) & slices.possible)
        return small > self.most * _sum((slices.interior > 0) & slices.possible)

    @property
    def reason(self) -> str:
        """What is wrong with a blocked area."""
        counts = "1" if self.up_to == 1 else f"1 to {self.up_to}"
        return f"more than {self.most:.0%} of the populated cells are counts of {counts}"


@dataclass(frozen=True, slots=True)
class MarginalDominance:
    """At most so large a share of an area's people in one category of a variable."""

    kind: ClassVar[str] = "marginal-dominance"
    most: float = key(reading.share)
    level: str | None = key(reading.level, None)
    from_variables: int = key(reading.whole(1), 1)

    def blocked(self, slices: Slices) -> NDArray[np.bool_]:
        """The slices in which a variable has a larger one; a variable with one category has none."""
        bad = np.zeros(len(slices.counts), dtype=np.bool_)
        for axis in range(1, slices.counts.ndim):
            if slices.counts.shape[axis] > 2:
                bad |= slices.margin(axis).max(axis=1) > self.most * np.maximum(slices.total, 0)
        return bad

    @property
    def reason(self) -> str:
        """What is wrong with a blocked area."""
        return f"one category of a variable holds more than {self.most:.0%} of the people"


@dataclass(frozen=True, slots=True)
class AttributeDisclosure:
    """At most so large a share of populated rows in which everybody is in one cell.

    A row is the categories of one variable with all others fixed. Who is known to be in it is then known
    to be in its one populated cell. A row of which only one cell can occur tells nothing new.
    """

    kind: ClassVar[str] = "attribute-disclosure"
    most: float = key(reading.share, 0.0)
    level: str | None = key(reading.level, None)
    from_variables: int = key(reading.whole(1), 1)

    def blocked(self, slices: Slices) -> NDArray[np.bool_]:
        """The slices with more."""
        populated = (slices.interior > 0) & slices.possible
        rows = np.zeros(len(slices.counts), dtype=np.int64)
        telling = rows.copy()
        for axis in range(1, populated.ndim):
            full = populated.sum(axis=axis)
            open_rows = slices.possible.sum(axis=axis) > 1
            rows += _sum((full > 0) & open_rows)
            telling += _sum((full == 1) & open_rows)
        return telling > self.most * rows

    @property
    def reason(self) -> str:
        """What is wrong with a blocked area."""
        share = f"more than {self.most:.0%} of the rows have" if self.most else "a row has"
        return f"{share} everybody in one cell"


#: The rules on counts that a large mean cell size may rescue.
RESCUABLE = (ShareOfZeros.kind, ShareOfOnes.kind, MarginalDominance.kind, AttributeDisclosure.kind)


def _rescuable(value: object, dataset: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not set(value) <= set(RESCUABLE):
        raise reading.Unusable(f"List kinds among {', '.join(RESCUABLE)}.")
    return tuple(value)


@dataclass(frozen=True, slots=True)
class MeanCellSize:
    """At least so many people a cell; from so many on, other rules do not block."""

    kind: ClassVar[str] = "mean-cell-size"
    least: float = key(reading.positive)
    rescue: float | None = key(reading.positive, None)
    rescues: tuple[str, ...] = key(_rescuable, RESCUABLE)
    level: str | None = key(reading.level, None)
    from_variables: int = key(reading.whole(1), 1)

    def blocked(self, slices: Slices) -> NDArray[np.bool_]:
        """The slices with smaller cells."""
        return slices.total < self.least * _sum(slices.possible)

    def rescued(self, slices: Slices) -> NDArray[np.bool_]:
        """The slices with cells so large that other rules do not block them."""
        if self.rescue is None:
            return np.zeros(len(slices.counts), dtype=np.bool_)
        return slices.total >= self.rescue * _sum(slices.possible)

    @property
    def reason(self) -> str:
        """What is wrong with a blocked area."""
        return f"the mean cell has fewer than {self.least:g} people"


@dataclass(frozen=True, slots=True)
class BlockedAreas:
    """The table fails as a whole when more than so large a share of its areas is blocked."""

    kind: ClassVar[str] = "blocked-areas"
    most: float = key(reading.share)
    level: str | None = key(reading.level, None)
    from_variables: int = key(reading.whole(1), 1)


def _sum(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many in each slice."""
    found: NDArray[np.int64] = flags.reshape(len(flags), -1).sum(axis=1, dtype=np.int64)
    return found
