"""How sure each count of a page is: what the noise alone leaves open, from the release and its law.

Every number shown has an interval (`inference/confidence_intervals/count_intervals.py`) that covers the true count
    with a chance of 95 % or more.
It depends on the number shown and on the public law only, so it tells nothing new. Large numbers share one reach, ±k;
small ones may not: a zero that stays zero, a small count that is never shown. The widest reach is said of all.
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
#: More kinds of noise than this in one table are not worked out for a page.
MOST_LAWS = 40


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """What a page says of how sure its counts are.

    Args:
        within: The widest reach of any number's interval: so near is every count to the true one.
        percent: The level in percent.
        small: Numbers shown whose interval is not that of the larger ones: number, lowest, highest.
        below, above: How far the interval of any larger number reaches; None where it varies.
    """

    within: int
    percent: int
    small: tuple[tuple[int, int, int], ...]
    below: int | None
    above: int | None


def noise_uncertainty(release: Release) -> Uncertainty | None:
    """What can be said of every count; None where the numbers shown have no noise of their own."""
    if not _has_own_noise(release):
        return None
    laws = [law for law in release.law.laws if law != NO_NOISE]
    if not any(depends_on_count(law) for law in laws):
        return _widest(laws)
    return _by_number(release, laws[0]) if len(laws) == 1 else None


def cell_limits(release: Release) -> Limits | None:
    """The smallest and the largest true count of every cell, negative where none is told; None where no cell has any."""
    try:
        return every_interval(release, LEVEL)
    except BadRequest:  # numbers that were made to add up, or a law too wide for inference
        return None


def share_limits(release: Release) -> Shares | None:
    """The smallest and the largest true percentage of every cell, outwards to one decimal; None without percentages."""
    try:
        low, high = (
            percent_limits(release, every_interval(release, bonferroni_level(LEVEL)))
            if release.view.percent
            else (None, None)
        )
    except BadRequest:  # as above
        return None
    return None if low is None or high is None else (np.floor(10 * low) / 10, np.ceil(10 * high) / 10)


def _by_number(release: Release, law: CellDistribution) -> Uncertainty | None:
    """Where the noise depends on the count, each number shown has an interval of its own."""
    shown = np.unique(release.noisy[release.status == 0])
    try:
        low, high = cell_intervals(shown, law, LEVEL)
    except BadRequest:  # a law too wide for inference, or no number at all
        return None
    lines = [*zip(shown.tolist(), low.tolist(), high.tolist(), strict=True)]
    small, below, above = _split(lines, law)
    within = max(max(number - first, last - number) for number, first, last in lines)
    return Uncertainty(within, round(100 * LEVEL), small, below, above)


def _has_own_noise(release: Release) -> bool:
    """Whether every count has noise of its own: totals and parts alike."""
    protection = release.dataset.protection
    additivity = release.request.additivity or protection.additivity
    sums = isinstance(release.law, DistributionWithSums)  # sums of the areas shown
    return release.measure.is_count and additivity == "independent" and not sums


def _widest(laws: Sequence[CellDistribution]) -> Uncertainty | None:
    """Where the noise does not depend on the count, the reach of the widest law is said of all."""
    if not 0 < len(laws) <= MOST_LAWS:
        return None
    within = max(law.laws[0].half_width(LEVEL) for law in laws)
    return Uncertainty(within, round(100 * LEVEL), (), None, None)


def _split(
    lines: list[tuple[int, int, int]], noise: CellDistribution
) -> tuple[tuple[tuple[int, int, int], ...], int | None, int | None]:
    """The small numbers one by one, and how far the interval of all larger ones reaches."""
    if not isinstance(noise, NoiseTable) or noise.repeats > 1:
        return tuple(lines[:MOST_LINES]), None, None
    reach = len(noise.rows) + noise.largest
    low, high = (int(limit[0]) for limit in cell_intervals([reach + noise.largest], noise, LEVEL))
    below, above = reach + noise.largest - low, high - reach - noise.largest
    small = [(n, first, last) for n, first, last in lines if (n - first, last - n) != (below, above)]
    return tuple(small[:MOST_LINES]), below, above
