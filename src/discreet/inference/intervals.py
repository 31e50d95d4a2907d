"""Intervals for what the true counts were: a cell, a sum, a share, a difference, a ratio.

An interval holds every true value that the release does not speak against: n belongs to it when neither
tail, P(X >= x | n) nor P(X <= x | n), is as small as half of what the level leaves. So it covers the truth with
at least the stated chance, for every table. For sums T of noise over cells and X of released counts,

    sum:         X - t,  t between the tails of T;
    difference:  (X - T) of one group minus (X' - T') of the other;
    share:       a / (a + b),  a = max(X - T, 0),  b = max(X' - T', 0)   (ratio: a / b),

where the tail of a share is that of (1 - p) a - p b, which is Fieller's way: no normal law, no quotient of
estimates. Groups must share no people; a total with noise of its own is a group of its own.

Source: Neyman (1937); Fieller (1954).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadRequest
from discreet.inference.channel import WIDEST, channel_of, whole_numbers
from discreet.inference.law import SLACK, Law
from discreet.inference.noise_sum import NoiseSum, noise_sum
from discreet.inference.picked_cells import PickedCells, refuse_shared_noise
from discreet.inference.quotient import least_share
from discreet.model.noise_law import depends_on_count
from discreet.model.told import told

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.inference.channel import Channel
    from discreet.model.noise_law import CellLaw

DEFAULT_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval for a true value.

    Args:
        estimate: What the released counts say themselves.
        low: The smallest value of the interval.
        high: The largest; infinite where a denominator may be zero.
        level: The interval covers the true value with at least this chance.
    """

    estimate: float
    low: float
    high: float
    level: float


def cell_intervals(
    released: ArrayLike, noise: CellLaw, level: float = DEFAULT_LEVEL
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The smallest and largest true count of each cell, each cell by itself."""
    alpha = _half(level)
    channel = channel_of(noise)
    cells = whole_numbers(released)
    if channel.laws.size > WIDEST:
        return _by_one_law(cells, channel, alpha)
    values, place = np.unique(cells, return_inverse=True)
    evidence = channel.evidence(values)
    index = channel.law_index(evidence.counts)
    at = np.arange(channel.laws.shape[1])[::-1]
    upper = np.cumsum(channel.laws[:, ::-1], axis=1)[:, ::-1][index, at]
    lower = np.cumsum(channel.laws, axis=1)[index, at]
    kept = (evidence.chance > 0) & (upper > alpha - SLACK) & (lower > alpha - SLACK)
    # Where no count passes both tails (a table with gaps), every possible count is kept.
    kept = np.where(kept.any(axis=1, keepdims=True), kept, evidence.chance > 0)
    low = evidence.first + kept.argmax(axis=1)
    high = evidence.first + kept.shape[1] - 1 - kept[:, ::-1].argmax(axis=1)
    place = place.reshape(cells.shape)
    return low[place], high[place]


def _by_one_law(
    cells: NDArray[np.int64], channel: Channel, alpha: float
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same where one law serves every count: the noise that is not rare is the same for all cells."""
    law = Law(channel.lowest, channel.laws[0])
    most, least = law.highest_not_rare(alpha), -law.reflected().highest_not_rare(alpha)
    # No count is below zero: where noise that is not rare leaves none, every possible one is kept.
    high = np.where(cells >= least, cells - least, cells - law.first)
    if (high < 0).any():
        raise BadRequest(
            told("The count {count} cannot be released with this noise.", count=cells[high < 0][0]),
            told("Give the law that belongs to it."),
        )
    return np.maximum(cells - most, 0), high


def cell_interval(released: int, noise: CellLaw, level: float = DEFAULT_LEVEL) -> Interval:
    """The interval of one true count.

    >>> from discreet.noise import laplace
    >>> cell_interval(20, laplace(epsilon=1.0, m=8))
    Interval(estimate=20, low=17, high=23, level=0.95)
    """
    low, high = cell_intervals([released], noise, level)
    return Interval(released, int(low[0]), int(high[0]), level)


def law_interval(released: int, law: CellLaw, level: float = DEFAULT_LEVEL) -> Interval:
    """The interval of one true count of a release, from the law of its cell; a public count is its own.

    >>> from discreet.noise import laplace
    >>> from discreet.noise.sum_law import SumLaw
    >>> law_interval(20, SumLaw(laplace(epsilon=1.0, m=8).rows[0], 4))
    Interval(estimate=20, low=15, high=25, level=0.95)
    """
    if depends_on_count(law):
        return cell_interval(released, law, level)
    _half(level)
    reach = law.laws[0].half_width(level)
    return Interval(released, max(0, released - reach), max(0, released + reach), level)


def sum_interval(
    cells: ArrayLike | PickedCells, noise: CellLaw | None = None, level: float = DEFAULT_LEVEL
) -> Interval:
    """The interval of the true sum of cells that share no people.

    Args:
        cells: Released counts, or cells picked from a release (`picked`), which know their noise.
        noise: The noise table of counts.
        level: The chance with which the interval covers the true sum, at least.

    >>> from discreet.noise import laplace
    >>> sum_interval([20] * 100, laplace(epsilon=1.0, m=8))
    Interval(estimate=2000, low=1973, high=2027, level=0.95)
    """
    found = noise_sum(cells, noise)
    return _of_sums(found, level)


def _of_sums(found: NoiseSum, level: float) -> Interval:
    kept = found.not_rare(_half(level))
    return Interval(found.released, int(kept[0]), int(kept[-1]), level)


def difference_interval(
    cells: ArrayLike | PickedCells,
    others: ArrayLike | PickedCells,
    noise: CellLaw | None = None,
    level: float = DEFAULT_LEVEL,
) -> Interval:
    """The interval of the true sum of some cells minus that of others.

    >>> from discreet.noise import laplace
    >>> difference_interval([30], [20], laplace(epsilon=1.0, m=8))
    Interval(estimate=10, low=6, high=14, level=0.95)
    """
    _refuse_shared(cells, others)
    return _of_sums(noise_sum(cells, noise, minus=others), level)


def ratio_interval(
    cells: ArrayLike | PickedCells,
    others: ArrayLike | PickedCells,
    noise: CellLaw | None = None,
    level: float = DEFAULT_LEVEL,
) -> Interval:
    """The interval of the true sum of some cells divided by that of others.

    >>> from discreet.noise import laplace
    >>> found = ratio_interval([300], [100], laplace(epsilon=1.0, m=8))
    >>> round(found.low, 3), round(found.high, 3)
    (2.913, 3.093)
    """
    alpha = _half(level)
    one, two = _two_sums(cells, others, noise)
    low, high = least_share(one, two, alpha), 1 - least_share(two, one, alpha)
    return Interval(_quotient(one.released, two.released), _odds(low), _odds(high), level)


def share_interval(
    part: ArrayLike | PickedCells,
    noise: CellLaw | None = None,
    *,
    rest: ArrayLike | PickedCells | None = None,
    whole: ArrayLike | PickedCells | None = None,
    level: float = DEFAULT_LEVEL,
) -> Interval:
    """The interval of the true share of a part.

    Args:
        part: The cells of the part, as counts or picked from a release.
        noise: The noise table of counts.
        rest: The cells of the rest; the whole is then part and rest together.
        whole: The whole, where it was released with noise of its own.
        level: The chance with which the interval covers the true share, at least.

    >>> from discreet.noise import laplace
    >>> found = share_interval([30], laplace(epsilon=1.0, m=8), rest=[70])
    >>> round(found.low, 3), round(found.high, 3)
    (0.278, 0.32)
    """
    if (rest is None) == (whole is None):
        raise BadRequest(
            told("A share needs the rest or the whole, and not both."), told("Give one of them.")
        )
    alpha = _half(level)
    one, two = _two_sums(part, rest if whole is None else whole, noise)
    inside = 0 if whole is None else 1
    low = least_share(one, two, alpha, inside=inside)
    high = 1 - least_share(two, one, alpha, inside=-inside)
    above, below = max(one.released, 0), max(two.released, 0)
    if whole is None:
        return Interval(_quotient(above, above + below), low, high, level)
    return Interval(min(_quotient(above, below), 1.0), min(_odds(low), 1.0), min(_odds(high), 1.0), level)


def _refuse_shared(cells: ArrayLike | PickedCells, others: ArrayLike | PickedCells) -> None:
    if isinstance(cells, PickedCells) and isinstance(others, PickedCells):
        refuse_shared_noise(cells, others)


def _two_sums(
    cells: ArrayLike | PickedCells, others: ArrayLike | PickedCells | None, noise: CellLaw | None
) -> tuple[NoiseSum, NoiseSum]:
    others = () if others is None else others
    _refuse_shared(cells, others)
    return noise_sum(cells, noise), noise_sum(others, noise)


def _half(level: float) -> float:
    if not 0 < level < 1:
        raise BadRequest(
            told("The level is {level}.", level=level), told("It lies between 0 and 1, as in 0.95.")
        )
    return (1 - level) / 2


def _quotient(above: float, below: float) -> float:
    return above / below if below > 0 else inf


def _odds(share: float) -> float:
    return share / (1 - share) if share < 1 else inf
