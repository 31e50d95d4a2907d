"""What a released weighted count tells of the true one, form by form, for each count that the cell may have.

With ñ the released count, R the released weighted count (rounded to whole people) and w̄ the average weight:

    cell-average                R = ñ W/n            W = n R/ñ: the quotient is the exact mean weight
    overall-average             R = W + (ñ - n) w̄    W = R - (ñ - n) w̄
    largest-weight-with-counts  R = g (t + ñ - n)    W = R - (ñ - n) g, to half a step g either side
    any other form              a function of noisy counts and public weights: 0 < W < n times the largest weight

`largest-weight` as it is served tells steps with noise of their own and no count. Then the count is what the steps
allow: P(R | n) is that of the noise on round(W/g) steps, W being between n times the least and the largest weight.

Source: docs/methods/survey-weights.md; Shlomo, Krenzke & Li (2019), eqs 3-5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.attacks.lines import Unknown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.attacks.lines import Fits
    from discreet.model.survey import Survey
    from discreet.noise.table import NoiseTable

CELL_AVERAGE, OVERALL_AVERAGE, SHARED_STEPS, STEPS = (
    "cell-average",
    "overall-average",
    "largest-weight-with-counts",
    "largest-weight",
)
#: Rounding to whole people, and to the last decimal of a weight before it.
HALF = 0.501


@dataclass(frozen=True, eq=False)
class Reader:
    """What the attacker knows of a form: its name, the survey's public constants and the law of the noise."""

    form: str
    survey: Survey
    law: NoiseTable

    @property
    def average(self) -> float:
        """The average weight, N/n."""
        return float(self.survey.population_size / self.survey.sample_size)

    @property
    def step(self) -> float:
        """The largest weight: the step of `largest-weight`."""
        return float(self.survey.largest_weight)

    def by_counts(self, shown: int) -> Unknown:
        """A cell of which the released count is known, and nothing else."""
        counts, likelihood = possible_counts(self.law, shown)
        return Unknown(counts, likelihood, np.zeros(counts.size), counts.astype(np.float64) * self.step)

    def read(self, shown: int, weighted: int) -> Unknown:
        """A cell of which the released count and the released weighted count are known."""
        cell = self.by_counts(shown)
        interval = self._interval(cell.counts, shown, weighted)
        if interval is not None:
            cell.low, cell.high = interval
            cell.strike((cell.high >= 0) & (cell.low <= cell.counts * self.step + HALF))
            cell.fits = _meets(self, shown, weighted)
        return cell

    def read_steps(self, weighted: int, least: float, most: float) -> Unknown:
        """A cell of which the weighted count with noise of its own is known; weights lie between two values."""
        shown = round(weighted / self.step)
        steps, likelihood = possible_counts(self.law, shown)
        top = int(np.ceil((steps[-1] + 1) * self.step / least))
        first = int(max(0, (steps[0] - 1) * self.step / most))
        counts = np.arange(first, top + 1)
        low, high = (counts.astype(np.float64) * weight for weight in (least, most))
        mean = _mean_between(likelihood, int(steps[0]), low / self.step, high / self.step)
        return Unknown(counts, mean, low, high, _stepped(self, shown))

    def _interval(
        self, counts: NDArray[np.int64], shown: int, weighted: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """The least and the largest weighted count for each count; None where nothing is told."""
        if shown <= 0 or weighted <= 0:
            return None
        people = counts.astype(np.float64)
        if self.form == CELL_AVERAGE:
            return people * ((weighted - HALF) / shown), people * ((weighted + HALF) / shown)
        if self.form == OVERALL_AVERAGE:
            middle = weighted - (shown - people) * self.average
            return middle - HALF, middle + HALF
        if self.form == SHARED_STEPS:
            middle = weighted - (shown - people) * self.step
            return middle - self.step / 2 - HALF, middle + self.step / 2 + HALF
        return None


def _meets(reader: Reader, shown: int, weighted: int) -> Fits:
    """As a total: whether the weight of the parts lies where the reading puts it."""

    def fits(
        counts: NDArray[np.int64], low: NDArray[np.float64], high: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        interval = reader._interval(counts, shown, weighted)  # noqa: SLF001 - of this module
        assert interval is not None  # noqa: S101 - readings without one have no fits
        return ((low <= interval[1]) & (high >= interval[0])).astype(float)

    return fits


def _stepped(reader: Reader, shown: int) -> Fits:
    """As a total: how likely the released steps are, for the weight of the parts."""
    steps, likelihood = possible_counts(reader.law, shown)

    def fits(
        _counts: NDArray[np.int64], low: NDArray[np.float64], high: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return _mean_between(likelihood, int(steps[0]), low / reader.step, high / reader.step)

    return fits


def _mean_between(
    likelihood: NDArray[np.float64], start: int, low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The mean likelihood of the whole steps between two numbers of steps, rounded; `likelihood` begins at `start`."""
    below = np.concatenate([[0.0], np.cumsum(likelihood)])
    first, last = (np.floor(each + 0.5).astype(np.int64) - start for each in (low, high))
    at = [np.clip(each, 0, likelihood.size) for each in (first, last + 1)]
    return np.asarray((below[at[1]] - below[at[0]]) / (last - first + 1))


@lru_cache(maxsize=4096)
def possible_counts(law: NoiseTable, shown: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The counts that may have become a released one, as a range, and the probability of each to do so.

    Negative numbers are shown as zero.
    """
    counts = np.arange(max(0, shown - law.largest), shown + law.largest + 1)
    likelihood = np.array([_chance(law, int(count), shown) for count in counts])
    used = np.flatnonzero(likelihood)
    inside = slice(int(used[0]), int(used[-1]) + 1)
    return counts[inside], likelihood[inside]


def _chance(law: NoiseTable, count: int, shown: int) -> float:
    laws = law.row(count).probabilities()
    return float(sum(chance for noise, chance in laws.items() if max(0, count + noise) == shown))
