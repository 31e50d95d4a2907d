"""The interval of a population total in a weighted table: sampling and noise together, from printed numbers alone.

With X the number shown, RSE its printed relative standard error and z the normal quantile of the level, it holds
every total T with (X - T)² ≤ c X T, c = (z RSE)²: the variance grows with the total, as that of a count does. So

    T = X (1 + c/2 ± √(c + c²/4))

It is approximate, as intervals of surveys are: it rests on the normal law of estimates. Printed errors are rounded up,
so it is rather too wide than too narrow.

Comes from: a release with errors. Goes to: `api`.
Source: Wilson (1927); Korn & Graubard (1998) for surveys.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.inference.intervals import Interval

if TYPE_CHECKING:
    from discreet.model.release import Release

Floats = NDArray[np.float64]
Number = TypeVar("Number", float, Floats)


def total_limits(value: Number, error: Number, quantile: float) -> tuple[Number, Number]:
    """The limits of a total, or of many, from the printed number and error.

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


def weighted_interval(release: Release, place: tuple[int, ...], level: float) -> Interval:
    """The interval of the population's total of one cell.

    Raises:
        BadRequest: The level is no chance, the cell has no error, or its number was changed to add up.
    """
    quantile = _quantile(level)
    additivity = release.request.additivity or release.dataset.protection.additivity
    error = -1 if release.errors is None else int(release.errors[place])
    if error < 0 or additivity != "independent":
        raise BadRequest(
            "The cell has no relative standard error of its own.",
            "Choose a cell with more people, and additivity=independent.",
        )
    value = float(release.values[place])
    low, high = total_limits(value, error / 1000, quantile)
    return Interval(value, low, high, level)


def every_weighted_interval(release: Release, level: float) -> tuple[Floats, Floats]:
    """The limits of every cell by itself; not a number where a cell has no error of its own.

    Raises:
        BadRequest: The level is no chance.
    """
    if release.errors is None:
        raise ValueError("the release has no errors")
    error = np.where(release.missing | (release.errors < 0), np.nan, release.errors / 1000)
    return total_limits(release.values.astype(np.float64), error, _quantile(level))


def _quantile(level: float) -> float:
    """Of the normal law, for both tails together."""
    if not 0 < level < 1:
        raise BadRequest(f"The level is {level}.", "Give a chance between 0 and 1, as in 0.95.")
    return NormalDist().inv_cdf((1 + level) / 2)
