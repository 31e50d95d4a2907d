"""How far the noise alone may move each count of a page, from the release and its noise distribution.

Every number has an interval (`inference/intervals`) that covers the true count with probability 95 % or more. It
depends on the released number and the public distribution only, so it discloses nothing new. Large numbers share one
half-width; small ones may differ, for example a zero that stays zero. The page names the widest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.errors import BadRequest
from discreet.inference.confidence_intervals.count_intervals import cell_intervals
from discreet.inference.confidence_intervals.table_intervals import every_interval
from discreet.inference.table_view import bonferroni_level, percent_limits
from discreet.model.noise_distribution import CellDistribution, depends_on_count
from discreet.model.release import Release
from discreet.noise.table import NO_NOISE, NoiseTable
from discreet.noise.table_distribution import DistributionWithSums
from discreet.web.pages.table_grid import Limits, Shares

LEVEL = 0.95
#: The most numbers that are listed one by one.
MOST_LINES = 12
#: A table with more noise distributions is not evaluated for a page.
MOST_LAWS = 40


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """What a page says about the noise of its counts.

    Args:
        within: The largest half-width of any number's interval.
        percent: The level in percent.
        small: Numbers with an interval unlike that of the larger ones: number, lowest, highest.
        below, above: How far the interval of a larger number reaches; None where it varies.
    """

    within: int
    percent: int
    small: tuple[tuple[int, int, int], ...]
    below: int | None
    above: int | None


def noise_uncertainty(release: Release) -> Uncertainty | None:
    """The uncertainty of the counts; None where the released numbers carry no independent noise."""
    additivity = release.request.additivity or release.dataset.protection.additivity
    sums = isinstance(release.law, DistributionWithSums)  # sums of the areas shown
    if not release.measure.is_count or additivity != "independent" or sums:
        return None
    laws = [law for law in release.law.laws if law != NO_NOISE]
    if not any(depends_on_count(law) for law in laws):
        return _widest(laws)
    return _by_number(release, laws[0]) if len(laws) == 1 else None


def cell_limits(release: Release) -> Limits | None:
    """The smallest and largest true count of every cell, negative where there is none; None without any."""
    try:
        return every_interval(release, LEVEL)
    except BadRequest:  # fitted numbers, or a distribution too wide for inference
        return None


def share_limits(release: Release) -> Shares | None:
    """The smallest and largest true percentage of every cell, rounded outwards; None without percentages."""
    if not release.view.percent:
        return None
    try:
        low, high = percent_limits(release, every_interval(release, bonferroni_level(LEVEL)))
    except BadRequest:  # as above
        return None
    return None if low is None or high is None else (np.floor(10 * low) / 10, np.ceil(10 * high) / 10)


def _widest(laws: Sequence[CellDistribution]) -> Uncertainty | None:
    """Noise that does not depend on the count: the widest distribution."""
    if not 0 < len(laws) <= MOST_LAWS:
        return None
    within = max(law.laws[0].half_width(LEVEL) for law in laws)
    return Uncertainty(within, round(100 * LEVEL), (), None, None)


def _by_number(release: Release, law: CellDistribution) -> Uncertainty | None:
    """Noise that depends on the count: the interval of each number shown."""
    shown = np.unique(release.noisy[release.status == 0])
    try:
        low, high = cell_intervals(shown, law, LEVEL)
    except BadRequest:  # a distribution too wide for inference, or no number at all
        return None
    lines = [*zip(shown.tolist(), low.tolist(), high.tolist(), strict=True)]
    within = max(max(number - first, last - number) for number, first, last in lines)
    return Uncertainty(within, round(100 * LEVEL), *_split(lines, law))


def _split(
    lines: list[tuple[int, int, int]], law: CellDistribution
) -> tuple[tuple[tuple[int, int, int], ...], int | None, int | None]:
    """The numbers with an interval unlike that of larger ones, and how far the interval of those reaches."""
    if not isinstance(law, NoiseTable) or law.repeats > 1:
        return tuple(lines[:MOST_LINES]), None, None
    large = len(law.rows) + 2 * law.largest  # from here on all intervals are alike
    low, high = cell_intervals([large], law, LEVEL)
    below, above = large - int(low[0]), int(high[0]) - large
    small = [(n, first, last) for n, first, last in lines if (n - first, last - n) != (below, above)]
    return tuple(small[:MOST_LINES]), below, above
