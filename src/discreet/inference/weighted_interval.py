"""Estimates of a weighted table with their errors: totals, sums, differences, ratios and shares, from printed numbers alone.

A printed number X has a printed relative standard error; e = RSE · X bounds its root mean squared error, of sampling and
noise together. How the errors of two cells go together is not printed. But root mean squares obey Minkowski's inequality,
whatever the correlation, so

    error(A + B), error(A - B)  ≤  e_A + e_B
    error(A / B)                ≤  (e_A + R e_B) / B,              R = A / B
    error(A / (A + C))          ≤  ((1 - p) e_A + p e_C) / (A + C),    p the share

The last two are of first order (delta method): the bias of a ratio is at most the relative error of its base times the
error of the ratio, so bases with an error of more than 25 % are refused. A result is as good as the printed errors are. It
is rounded up to the ladder of errors.

Limits of a total hold every T with (X - T)² ≤ c X T, c = (z RSE)²: the variance grows with the total, as that of a count
does. So T = X (1 + c/2 ± √(c + c²/4)). Limits of all else are those of the totals, added, subtracted and divided at their
worst: A - R B has a root mean square of at most e_A + R e_B, and R is kept where |A - R B| ≤ z (e_A + R e_B), which is
Fieller's way and divides no estimates. They rest on the normal law of estimates.

Source: Wilson (1927); Korn & Graubard (1998) for surveys; Fieller (1954); Hartley & Ross (1954) for the bias of ratios.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from operator import add
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from discreet.errors import BadRequest
from discreet.inference.intervals import Interval
from discreet.inference.picked_cells import cell_members, cell_place, refuse_shared_people
from discreet.model.error_ladder import NO_ERROR, WHOLE, rounded_up
from discreet.model.release import NOT_APPLICABLE
from discreet.model.told import told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.model.release import Release

    Codes = tuple[str, ...]

Number = TypeVar("Number", float, "NDArray[np.float64]")
#: The largest relative error of a base: the bias of a ratio is then at most a quarter of its error.
MOST_BASE_ERROR = 0.25


@dataclass(frozen=True, slots=True)
class WeightedInterval(Interval):
    """An interval for a number of the population, for sampling and noise together.

    Args:
        relative_standard_error: In percent, rounded up to the ladder; None where the estimate is 0 or the error beyond it.
    """

    relative_standard_error: float | None = None


@dataclass(frozen=True, slots=True)
class Bounded:
    """An estimate, what its standard error is at most, and its limits.

    >>> men, women = Bounded(60, 6, 50, 72), Bounded(40, 4, 33, 48)
    >>> men - women
    Bounded(value=20, error=10, low=2, high=39)
    >>> round(men.over(women).error, 3), round(men.beside(women).error, 3)
    (0.3, 0.048)
    """

    value: float
    error: float
    low: float
    high: float

    def __add__(self, other: Bounded) -> Bounded:
        """Their sum, whatever the correlation of their errors."""
        return Bounded(
            self.value + other.value, self.error + other.error, self.low + other.low, self.high + other.high
        )

    def __sub__(self, other: Bounded) -> Bounded:
        """Their difference, whatever the correlation of their errors."""
        return Bounded(
            self.value - other.value, self.error + other.error, self.low - other.high, self.high - other.low
        )

    def over(self, base: Bounded) -> Bounded:
        """Their ratio, to first order: the error of the base is small."""
        ratio = self.value / base.value
        return Bounded(
            ratio, (self.error + ratio * base.error) / base.value, self.low / base.high, self.high / base.low
        )

    def beside(self, rest: Bounded) -> Bounded:
        """The share of it in itself and the rest together, to first order: the error of both together is small."""
        whole = self.value + rest.value
        share = self.value / whole
        return Bounded(
            share,
            ((1 - share) * self.error + share * rest.error) / whole,
            self.low / (self.low + rest.high),
            self.high / (self.high + rest.low),
        )

    def as_base(self) -> Bounded:
        """The same, to divide by.

        Raises:
            BadRequest: It is not above zero, or its error is not small.
        """
        if self.value <= 0 or self.error > MOST_BASE_ERROR * self.value:
            raise BadRequest(
                told(
                    "The base is too uncertain to divide by: its relative standard error may be above {most:g} %.",
                    most=100 * MOST_BASE_ERROR,
                ),
                told("Take a larger one, such as a total."),
            )
        return self

    def at_most(self, most: float) -> Bounded:
        """The same, where it cannot be larger."""
        return Bounded(min(self.value, most), self.error, min(self.low, most), min(self.high, most))

    def interval(self, level: float) -> WeightedInterval:
        """What a reader is told of it; its limits belong to this level."""
        tenths = rounded_up(np.array(self.error / abs(self.value) * WHOLE)) if self.value else NO_ERROR
        told = None if tenths < 0 else float(tenths) / 10
        return WeightedInterval(self.value, self.low, self.high, level, told)


def total_limits(value: Number, error: Number, quantile: float) -> tuple[Number, Number]:
    """The limits of a total from its printed number and error, or those of many.

    Args:
        value: The released number.
        error: Its relative standard error, as a fraction.
        quantile: Of the normal law, 1.96 for 95 %.

    >>> [round(limit) for limit in total_limits(1000, 0.1, 1.96)]
    [822, 1216]
    """
    square = (quantile * error) ** 2
    reach = (square + square**2 / 4) ** 0.5
    return value * (1 + square / 2 - reach), value * (1 + square / 2 + reach)


def weighted_sum(release: Release, cells: Sequence[Codes], level: float) -> Bounded:
    """The sum of cells that share no people.

    Raises:
        BadRequest: The level is no chance, a cell has no error, its number was changed to add up, or two share people.
    """
    quantile = _quantile(release, level)
    places = [cell_place(release, codes) for codes in cells]
    refuse_shared_people(combinations([cell_members(release, place) for place in places], 2))
    return reduce(add, (_total(release, place, quantile) for place in places))


def weighted_share(
    release: Release, part: Sequence[Codes], rest: Sequence[Codes] | None, whole: Codes, level: float
) -> Bounded:
    """The share of a part, beside its rest or in one total.

    Of the whole population the declared number is taken, which has no error. Where the parts of the total are in the table
    too, part and rest together are another estimate of it: the share with the smaller error is taken.
    """
    one = weighted_sum(release, part, level)
    if rest is not None:
        left = weighted_sum(release, rest, level)
        (one + left).as_base()
        return one.beside(left)
    total = _population(release, whole) or weighted_sum(release, [whole], level).as_base()
    found = [one.over(total).at_most(1.0)]
    others = _rest_in(release, part, whole)
    if others and release.errors is not None and all(release.errors[place] >= 0 for place in others):
        quantile = _quantile(release, level)
        found.append(one.beside(reduce(add, (_total(release, place, quantile) for place in others))))
    return min(found, key=lambda each: each.error)


def weighted_limits(release: Release, level: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The limits of every cell by itself, in whole people; -1 where a cell has no error."""
    quantile = _quantile(release, level)
    errors = np.full(release.values.shape, NO_ERROR) if release.errors is None else release.errors
    zero = release.status == NOT_APPLICABLE
    values, known = np.where(zero, 0, release.values).astype(np.float64), zero | (errors >= 0)
    low, high = total_limits(values, np.maximum(errors, 0) / WHOLE, quantile)
    return (
        np.where(known, np.floor(low), -1).astype(np.int64),
        np.where(known, np.ceil(high), -1).astype(np.int64),
    )


def _quantile(release: Release, level: float) -> float:
    """Of the normal law, where the table has errors at all."""
    if not 0 < level < 1:
        raise BadRequest(
            told("The level is {level}.", level=level), told("Give a chance between 0 and 1, as in 0.95.")
        )
    additivity = release.request.additivity or release.dataset.protection.additivity
    if additivity != "independent":
        raise BadRequest(
            told("The numbers were changed to add up and have no relative standard errors of their own."),
            told("Ask with additivity=independent."),
        )
    return NormalDist().inv_cdf((1 + level) / 2)


def _total(release: Release, place: tuple[int, ...], quantile: float) -> Bounded:
    """One cell; one that cannot occur is exactly 0."""
    if release.status[place] == NOT_APPLICABLE:
        return Bounded(0.0, 0.0, 0.0, 0.0)
    error = NO_ERROR if release.errors is None else int(release.errors[place])
    if error < 0:
        raise BadRequest(
            told("The cell has no relative standard error of its own."),
            told("Choose a cell with more people, or add up cells that have one."),
        )
    value = float(release.values[place])
    return Bounded(value, value * error / WHOLE, *total_limits(value, error / WHOLE, quantile))


def _population(release: Release, whole: Codes) -> Bounded | None:
    """The declared population, where a cell is everybody."""
    place, survey = cell_place(release, whole), release.dataset.survey
    everybody = all(
        len(set(d.members()[at])) == len(d.base) for d, at in zip(release.dimensions, place, strict=True)
    )
    if survey is None or release.request.filters or not everybody:
        return None
    size = float(survey.population_size)
    return Bounded(size, 0.0, size, size)


def _rest_in(release: Release, part: Sequence[Codes], whole: Codes) -> list[tuple[int, ...]]:
    """The cells of a total beside the part, where they and the part differ from it in one variable and are all of it."""
    top = cell_place(release, whole)
    places = [cell_place(release, codes) for codes in part]
    varied = {axis for place in places for axis, at in enumerate(place) if at != top[axis]}
    if len(varied) != 1:
        return []
    axis = varied.pop()
    dimension = release.dimensions[axis]
    parts, members = dimension.wholes.get(top[axis], []), dimension.members()
    inside = {place[axis] for place in places}
    complete = {base for at in parts for base in members[at]} >= set(members[top[axis]])
    if not complete or not inside <= set(parts):
        return []
    return [(*top[:axis], at, *top[axis + 1 :]) for at in parts if at not in inside]
