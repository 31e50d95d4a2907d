"""Intervals that rest on the normal distribution of estimates: weighted tables, and joint tables under `dp`.

Weighted tables print a relative standard error: e = RSE X bounds the root mean squared error of X, of sampling and noise
together. Correlations are not printed, but by Minkowski's inequality

    error(A + B), error(A - B)  ≤  e_A + e_B
    error(A / B)                ≤  (e_A + R e_B) / B,              R = A / B
    error(A / (A + C))          ≤  ((1 - p) e_A + p e_C) / (A + C),    p the share

The last two are of first order, so bases with an error above 25 % are refused. In a joint table the covariance V of all
cells is known; x are its unrounded values:

    sum, difference   w'x ± z √(w'Vw)
    share, ratio      all p with  (a - p b)² ≤ z² (V_aa - 2 p V_ab + p² V_bb)          (Fieller)

Source: Wilson (1927); Korn & Graubard (1998) for surveys; Fieller (1954); Hartley & Ross (1954) for the bias of ratios;
docs/methods/dp-joint.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from math import ceil, floor, inf, sqrt
from operator import add
from statistics import NormalDist
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.inference.confidence_intervals.count_intervals import Interval, check_level
from discreet.inference.confidence_intervals.picked_cells import (
    cell_members,
    cell_place,
    refuse_shared_people,
)
from discreet.model.messages.text import message
from discreet.model.release import NO_ERROR, NOT_APPLICABLE, WHOLE, Release, round_up_to_step

Codes = tuple[str, ...]

Number = TypeVar("Number", float, "NDArray[np.float64]")
#: Maximum relative error of a base: the bias of a ratio is then at most a quarter of its error.
MOST_BASE_ERROR = 0.25


@dataclass(frozen=True, slots=True)
class WeightedInterval(Interval):
    """An interval for a number of the population, for sampling and noise together.

    Args:
        relative_standard_error: In percent, rounded up to the scale of errors; None where the estimate is 0 or the error
            is off the scale.
    """

    relative_standard_error: float | None = None


@dataclass(frozen=True, slots=True)
class BoundedEstimate:
    """An estimate, an upper bound of its standard error, and its limits.

    >>> men, women = BoundedEstimate(60, 6, 50, 72), BoundedEstimate(40, 4, 33, 48)
    >>> men - women
    BoundedEstimate(value=20, error=10, low=2, high=39)
    >>> round(men.over(women).error, 3), round(men.share_with(women).error, 3)
    (0.3, 0.048)
    """

    value: float
    error: float
    low: float
    high: float

    def __add__(self, other: BoundedEstimate) -> BoundedEstimate:
        low, high = self.low + other.low, self.high + other.high
        return BoundedEstimate(self.value + other.value, self.error + other.error, low, high)

    def __sub__(self, other: BoundedEstimate) -> BoundedEstimate:
        low, high = self.low - other.high, self.high - other.low
        return BoundedEstimate(self.value - other.value, self.error + other.error, low, high)

    def over(self, base: BoundedEstimate) -> BoundedEstimate:
        """Their ratio, to first order: the error of the base is small."""
        ratio = self.value / base.value
        error = (self.error + ratio * base.error) / base.value
        return BoundedEstimate(ratio, error, self.low / base.high, self.high / base.low)

    def share_with(self, rest: BoundedEstimate) -> BoundedEstimate:
        """Its share in the sum with a rest, to first order: the error of the sum is small."""
        whole = self.value + rest.value
        share = self.value / whole
        error = ((1 - share) * self.error + share * rest.error) / whole
        low, high = self.low / (self.low + rest.high), self.high / (self.high + rest.low)
        return BoundedEstimate(share, error, low, high)

    def as_base(self) -> BoundedEstimate:
        """The same, as a divisor."""
        refuse_uncertain_base(self.value, self.error)
        return self

    def at_most(self, most: float) -> BoundedEstimate:
        return BoundedEstimate(min(self.value, most), self.error, min(self.low, most), min(self.high, most))

    def interval(self, level: float) -> WeightedInterval:
        """The published interval; the limits belong to this level."""
        tenths = round_up_to_step(np.array(self.error / abs(self.value) * WHOLE)) if self.value else NO_ERROR
        told = None if tenths < 0 else float(tenths) / 10
        return WeightedInterval(self.value, self.low, self.high, level, told)


def refuse_uncertain_base(value: float, error: float) -> None:
    """Refuse to divide by a number that is not positive, or of which the standard error is too large."""
    if value <= 0 or error > MOST_BASE_ERROR * value:
        raise BadRequest(
            message(
                "The base is too uncertain to divide by: its relative standard error may be above {most:g} %.",
                most=100 * MOST_BASE_ERROR,
            ),
            message("Take a larger one, such as a total."),
        )


def total_limits(value: Number, error: Number, quantile: float) -> tuple[Number, Number]:
    """The limits of a total from its printed number and error, or those of many.

    They hold every T with (X - T)² ≤ c X T, c = (z RSE)²: the variance grows with the total, as for a count. So
    T = X (1 + c/2 ± √(c + c²/4)).

    >>> [round(limit) for limit in total_limits(1000, 0.1, 1.96)]
    [822, 1216]
    """
    square = (quantile * error) ** 2
    reach = (square + square**2 / 4) ** 0.5
    return value * (1 + square / 2 - reach), value * (1 + square / 2 + reach)


def estimate_sum(release: Release, cells: Sequence[Codes], level: float) -> BoundedEstimate:
    """The sum of cells that share no people.

    Raises:
        BadRequest: A wrong level, a cell without an error, numbers that were changed to add up, or cells that share people.
    """
    quantile = _quantile(release, level)
    places = [cell_place(release, codes) for codes in cells]
    refuse_shared_people(combinations([cell_members(release, place) for place in places], 2))
    return reduce(add, (_total(release, place, quantile) for place in places))


def estimate_share(
    release: Release, part: Sequence[Codes], rest: Sequence[Codes] | None, whole: Codes, level: float
) -> BoundedEstimate:
    """The share of a part in the sum with its rest, or in one total.

    For the whole population the declared number is used, which has no error. If the parts of the total are in the table too,
    part and rest together are another estimate of it, and the share with the smaller error is used.
    """
    one = estimate_sum(release, part, level)
    if rest is not None:
        left = estimate_sum(release, rest, level)
        (one + left).as_base()
        return one.share_with(left)
    total = _population(release, whole) or estimate_sum(release, [whole], level).as_base()
    found = [one.over(total).at_most(1.0)]
    others = _rest_in(release, part, whole)
    if others and release.errors is not None and all(release.errors[place] >= 0 for place in others):
        quantile = _quantile(release, level)
        found.append(one.share_with(reduce(add, (_total(release, place, quantile) for place in others))))
    return min(found, key=lambda each: each.error)


def estimate_limits(release: Release, level: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The limits of each cell by itself, in whole people; -1 where a cell has no error."""
    quantile = _quantile(release, level)
    errors = np.full(release.values.shape, NO_ERROR) if release.errors is None else release.errors
    zero = release.status == NOT_APPLICABLE
    values, known = np.where(zero, 0, release.values).astype(np.float64), zero | (errors >= 0)
    low, high = total_limits(values, np.maximum(errors, 0) / WHOLE, quantile)
    return (
        np.where(known, np.floor(low), -1).astype(np.int64),
        np.where(known, np.ceil(high), -1).astype(np.int64),
    )


def check_weighted(release: Release, level: float) -> None:
    """Refuse a wrong level, and numbers that were changed to add up."""
    if not 0 < level < 1:
        raise BadRequest(
            message("The level is {level}.", level=level),
            message("Give a chance between 0 and 1, as in 0.95."),
        )
    additivity = release.request.additivity or release.dataset.protection.additivity
    if additivity != "independent":
        raise BadRequest(
            message("The numbers were changed to add up and have no separate relative standard errors."),
            message("Ask with additivity=independent."),
        )


def _quantile(release: Release, level: float) -> float:
    check_weighted(release, level)
    return NormalDist().inv_cdf((1 + level) / 2)


def _total(release: Release, place: tuple[int, ...], quantile: float) -> BoundedEstimate:
    """One cell; an impossible one is exactly 0."""
    if release.status[place] == NOT_APPLICABLE:
        return BoundedEstimate(0.0, 0.0, 0.0, 0.0)
    error = NO_ERROR if release.errors is None else int(release.errors[place])
    if error < 0:
        raise BadRequest(
            message("The cell has no separate relative standard error."),
            message("Choose a cell with more people, or add up cells that have one."),
        )
    value = float(release.values[place])
    return BoundedEstimate(value, value * error / WHOLE, *total_limits(value, error / WHOLE, quantile))


def _population(release: Release, whole: Codes) -> BoundedEstimate | None:
    """The declared population, if a cell is the whole population."""
    place, survey = cell_place(release, whole), release.dataset.survey
    everybody = all(
        len(set(d.members()[at])) == len(d.base) for d, at in zip(release.dimensions, place, strict=True)
    )
    if survey is None or release.request.filters or not everybody:
        return None
    size = float(survey.population_size)
    return BoundedEstimate(size, 0.0, size, size)


def _rest_in(release: Release, part: Sequence[Codes], whole: Codes) -> list[tuple[int, ...]]:
    """The other cells of a total, if they and the part are a partition of it by one variable; else none."""
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


#: Error of the coverage, because noise is on a grid of at least 8 steps per standard deviation.
LATTICE = 1 / (24 * 8**2)


def joint_sum(release: Release, cells: Sequence[Codes], minus: Sequence[Codes], level: float) -> Interval:
    """The interval of the true sum of cells minus that of others; true sums are whole, so limits are rounded inwards."""
    x, covariance = _moments(release, [cells, minus] if minus else [cells])
    signs = np.array([1.0, -1.0])[: x.size]
    value = float(signs @ x)
    reach = _joint_quantile(level) * sqrt(max(float(signs @ covariance @ signs), 0.0))
    low, high = ceil(value - reach), floor(value + reach)
    if high < low:  # no whole number inside: the nearest
        low = high = round(value)
    if not minus:
        low, high = max(low, 0), max(high, 0)
    return Interval(round(value), low, high, level)


def joint_quotient(
    release: Release, cells: Sequence[Codes], base: Sequence[Codes], level: float, *, share: bool
) -> Interval:
    """The interval of the ratio of two true sums; a share is between 0 and 1."""
    x, v = _moments(release, [cells, base])
    most = 1.0 if share else inf
    low, high = _fieller(x, v, _joint_quantile(level))
    estimate = max(float(x[0]), 0.0) / float(x[1]) if x[1] > 0 else inf
    return Interval(min(estimate, most), min(max(low, 0.0), most), min(max(high, 0.0), most), level)


def _fieller(x: NDArray[np.float64], v: NDArray[np.float64], z: float) -> tuple[float, float]:
    """The smallest and the largest quotient; unbounded where the base may be zero."""
    square = float(x[1] ** 2 - z**2 * v[1, 1])
    linear = float(x[0] * x[1] - z**2 * v[0, 1])
    constant = float(x[0] ** 2 - z**2 * v[0, 0])
    inside = linear**2 - square * constant
    if square <= 0 or x[1] <= 0 or inside < 0:
        return 0.0, inf
    return (linear - sqrt(inside)) / square, (linear + sqrt(inside)) / square


def _moments(
    release: Release, groups: Sequence[Sequence[Codes]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The sum of each group and their covariances; an impossible cell is exactly 0."""
    if release.unrounded is None:
        raise ValueError("only a joint table has unrounded values")
    places = [[cell_place(release, codes) for codes in group] for group in groups]
    for group in places:
        refuse_shared_people(combinations([cell_members(release, place) for place in group], 2))
    listed = [place for group in places for place in group]
    possible = np.array([release.status[place] != NOT_APPLICABLE for place in listed])
    member = np.repeat(np.eye(len(groups)), [len(group) for group in groups], axis=1) * possible
    covariance = release.distribution.covariance(listed)
    if covariance is None:
        raise ValueError("only cells of a joint table have a covariance")
    values = np.array([release.unrounded[place] for place in listed])
    return member @ values, member @ covariance @ member.T


def _joint_quantile(level: float) -> float:
    from scipy.special import ndtri  # noqa: PLC0415 - slow to import, and few intervals need it

    check_level(level)
    return float(ndtri((1 + min(level + LATTICE, (1 + level) / 2)) / 2))
