"""Rules on noisy counts, area by area: whether an area's part of the table is too sparse.

`verdict_of` in `rules/verdict.py` writes the sentence that refuses a table; `rules/suppression.py` raises it.

Every rule is a function of `Slices`, noisy counts without structural zeros. With x the interior cells of an area, n its
total, K the cells that can occur:

    share of zeros       #{x <= 0} / K                 share of ones   #{1 <= x <= k} / #{x > 0}
    marginal dominance   largest category of a variable / n
    attribute disclosure rows with exactly one populated cell / populated rows
    mean cell size       n / K

Source: Rinott et al. (2018), section 2.2, property 3, and the remark on zeros, ones and twos.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.model.messages.sentences import quote_names
from discreet.model.messages.text import message
from discreet.rules import reading
from discreet.rules.noisy_table import Slices, number
from discreet.rules.reading import key
from discreet.rules.rule import CountRule, Rule, kinds, register


@register
@dataclass(frozen=True, slots=True, kw_only=True)
class ShareOfZeros(CountRule):
    """At most a share `most` of empty cells."""

    kind: ClassVar[str] = "share-of-zeros"
    rescuable: ClassVar[bool] = True
    most: float = key(reading.share)

    def withholds(self, slices: Slices) -> NDArray[np.bool_]:
        empty = slices.sizes - number(slices.positive)
        return empty > self.most * slices.sizes

    @property
    def reason(self) -> str:
        return message("more than {most:.0%} of the cells are empty", most=self.most)


@register
@dataclass(frozen=True, slots=True, kw_only=True)
class ShareOfOnes(CountRule):
    """At most a share `most` of small counts among the populated cells."""

    kind: ClassVar[str] = "share-of-ones"
    rescuable: ClassVar[bool] = True
    most: float = key(reading.share)
    up_to: int = key(reading.whole(1), 1)

    def withholds(self, slices: Slices) -> NDArray[np.bool_]:
        small = number((slices.interior <= self.up_to) & slices.positive)
        return small > self.most * number(slices.positive)

    @property
    def reason(self) -> str:
        counts = "1" if self.up_to == 1 else message("1 to {up_to}", up_to=self.up_to)
        return message(
            "more than {most:.0%} of the populated cells are counts of {counts}",
            most=self.most,
            counts=counts,
        )


@register
@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalDominance(CountRule):
    """At most a share `most` of an area's people in one category of a variable."""

    kind: ClassVar[str] = "marginal-dominance"
    rescuable: ClassVar[bool] = True
    most: float = key(reading.share)

    def withholds(self, slices: Slices) -> NDArray[np.bool_]:
        """The slices with a dominant category; a variable with one category has none."""
        bad = np.zeros(len(slices.counts), dtype=np.bool_)
        for axis in range(1, slices.counts.ndim):
            if slices.counts.shape[axis] > 2:
                bad |= slices.margin(axis).max(axis=1) > self.most * np.maximum(slices.total, 0)
        return bad

    @property
    def reason(self) -> str:
        return message("one category of a variable holds more than {most:.0%} of the people", most=self.most)


@register
@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeDisclosure(CountRule):
    """At most a share `most` of populated rows with a single populated cell.

    A row is the categories of one variable with all others fixed. A person known to be in it is known to be in its one
    populated cell. A row of which only one cell can occur discloses nothing.
    """

    kind: ClassVar[str] = "attribute-disclosure"
    rescuable: ClassVar[bool] = True
    most: float = key(reading.share, 0.0)

    def withholds(self, slices: Slices) -> NDArray[np.bool_]:
        populated = slices.positive
        rows = np.zeros(len(slices.counts), dtype=np.int64)
        telling = rows.copy()
        everything = bool(slices.possible.all())
        for axis in range(1, populated.ndim):
            full = populated.sum(axis=axis)
            open_rows = populated.shape[axis] > 1 if everything else slices.possible.sum(axis=axis) > 1
            rows += number((full > 0) & open_rows)
            telling += number((full == 1) & open_rows)
        return telling > self.most * rows

    @property
    def reason(self) -> str:
        many = message("more than {most:.0%} of the rows have", most=self.most)
        return message("{share} everybody in one cell", share=many if self.most else message("a row has"))


def _rescuable(value: object, dataset: object) -> tuple[str, ...]:
    known = [name for name, kind in kinds().items() if kind.rescuable]
    if not isinstance(value, list) or any(each not in known for each in value):
        raise reading.Unusable(f"List kinds among {', '.join(known)}.")
    return tuple(value)


@register
@dataclass(frozen=True, slots=True, kw_only=True)
class MeanCellSize(CountRule):
    """A minimum mean cell size; from `rescue` on, other rules (`rescues`, or all) withhold nothing."""

    kind: ClassVar[str] = "mean-cell-size"
    least: float = key(reading.positive)
    rescue: float | None = key(reading.positive, None)
    rescues: tuple[str, ...] | None = key(_rescuable, None)

    def withholds(self, slices: Slices) -> NDArray[np.bool_]:
        return slices.total < self.least * slices.sizes

    def spares(self, other: Rule, slices: Slices) -> NDArray[np.bool_]:
        """The slices with cells large enough to be exempt from the other rule."""
        listed = other.rescuable and (self.rescues is None or other.kind in self.rescues)
        if self.rescue is None or not listed:
            return slices.none()
        return slices.total >= self.rescue * slices.sizes

    @property
    def reason(self) -> str:
        return message("the mean cell has fewer than {least:g} people", least=self.least)

    @property
    def sentence(self) -> str:
        withheld = message("An area is withheld where {reason}{where}.", reason=self.reason, where=self.where)
        if self.rescue is None:
            return withheld
        named = message("the rules {rescues}", rescues=quote_names(self.rescues or ()))
        others = message("rules on sparse areas") if self.rescues is None else named
        return message(
            "{withheld} From {rescue:g} people a cell on {others} withhold nothing.",
            withheld=withheld,
            rescue=self.rescue,
            others=others,
        )
