"""Distributions on consecutive integers, and the exact distribution of a sum of many independent values.

A sum is a convolution, computed with one Fourier transform for any number of terms: the inverse transform of the product of
(transform of each distribution) ^ (how often it occurs). The window of the transform leaves out less than 1e-12, by
Bernstein's inequality; that and the rounding stay far below the slack of every interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log, sqrt
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft

#: Slack of every interval: more than a computed distribution leaves out or rounds away.
SLACK = 1e-9
#: Probability truncated from wide noise of a cell. One key of 2^32 is more, so such tables are not truncated.
CUT = 1e-12
_OUTSIDE = 1e-12


@dataclass(frozen=True, slots=True)
class Distribution:
    """Probabilities of the integers first, first + 1, ..."""

    first: int
    chances: NDArray[np.float64]

    @property
    def last(self) -> int:
        """The largest value."""
        return self.first + len(self.chances) - 1

    @property
    def values(self) -> NDArray[np.int64]:
        """All values."""
        return np.arange(self.first, self.last + 1)

    @property
    def mean(self) -> float:
        """The mean."""
        return float(self.chances @ self.values)

    @property
    def variance(self) -> float:
        """The variance."""
        return float(self.chances @ (self.values - self.mean) ** 2)

    def mirror(self) -> Self:
        """The distribution of the negative."""
        return type(self)(-self.last, self.chances[::-1])

    def shift(self, by: int) -> Self:
        """The distribution of the value plus a constant."""
        return type(self)(self.first + by, self.chances)

    def trim(self, cut: float) -> Self:
        """The distribution without tails of total probability at most `cut`, half of it at each end.

        >>> Distribution(0, np.array([0.01, 0.2, 0.7, 0.08, 0.01])).trim(0.04).values.tolist()
        [1, 2, 3]
        """
        low = int(np.flatnonzero(np.cumsum(self.chances) > cut / 2)[0])
        behind = int(np.flatnonzero(np.cumsum(self.chances[::-1]) > cut / 2)[0])
        return type(self)(self.first + low, self.chances[low : len(self.chances) - behind])

    def at_least(self) -> NDArray[np.float64]:
        """P(value >= v) for each value v."""
        return np.cumsum(self.chances[::-1])[::-1]

    def upper_quantile(self, alpha: float) -> int:
        """The largest v with P(value >= v) > alpha.

        >>> Distribution(-1, np.array([0.25, 0.5, 0.25])).upper_quantile(0.3)
        0
        """
        reached = np.flatnonzero(self.at_least() > alpha - SLACK)
        return self.first + int(reached[-1]) if len(reached) else self.first


def sum_distribution(laws: Sequence[Distribution], times: Sequence[int]) -> Distribution:
    """The distribution of a sum of independent values, `times` of each distribution.

    >>> coin = Distribution(0, np.array([0.5, 0.5]))
    >>> sum_distribution([coin], [2]).chances.round(6).tolist()
    [0.25, 0.5, 0.25]
    """
    low, high = _window(laws, times)
    size = next_fast_len(high - low + 1, real=True)
    product = np.ones(size // 2 + 1, dtype=np.complex128)
    for law, often in zip(laws, times, strict=True):
        folded = np.zeros(size)
        np.add.at(folded, np.arange(len(law.chances)) % size, law.chances)
        product *= rfft(folded) ** often
    wrapped = irfft(product, size)
    start = sum(law.first * often for law, often in zip(laws, times, strict=True))
    chances = wrapped[(np.arange(low, high + 1) - start) % size]
    return Distribution(low, np.maximum(chances, 0.0))


def _window(laws: Sequence[Distribution], times: Sequence[int]) -> tuple[int, int]:
    """The range that the sum leaves with a probability below 1e-12."""
    pairs = list(zip(laws, times, strict=True))
    lowest = sum(law.first * often for law, often in pairs)
    highest = sum(law.last * often for law, often in pairs)
    mean = sum(law.mean * often for law, often in pairs)
    variance = sum(law.variance * often for law, often in pairs)
    reach = max(max(law.last - law.mean, law.mean - law.first) for law in laws)
    depth = log(2 / _OUTSIDE)
    third = reach * depth / 3
    half = third + sqrt(third**2 + 2 * variance * depth)
    return max(lowest, floor(mean - half)), min(highest, ceil(mean + half))
