"""What a cell's part of the statistic is expected to be under wide noise: the moments of `centring`, by convolution.

With the noise spread over hundreds, e(mu) and v(mu) change until the mean is as large as the noise. The law of a
released count is a convolution, and its largest chance over all means is taken over a grid that is even in

    t(mu) = 2 sqrt(mu + s^2),   s^2 the variance of the noise,

in which the likelihood has about the curvature 1: a step h of it misses d(x, mu) by at most h^2 / 4. Far from
zero another mean only moves the law of x, and the largest chance is that of its peak.

Comes from: a kept law. Goes to: `centring`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.signal import fftconvolve
from scipy.special import gammaln

from discreet.inference.poisson_likelihood import TINY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.inference.noise_by_cell import KeptLaw

    Floats = NDArray[np.float64]

_STEP = 0.02
_POINTS = 200
#: Means go up to so many times the variance of the noise: beyond, it is a thousandth of the whole.
_FAR = 30.0
_ROOM = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class WideMoments:
    """Mean and variance of a cell's part of the statistic at the roots of some means.

    Args:
        roots: Square roots of means; beyond the last one nothing changes.
        expected: The mean of the part at each.
        variance: Its variance.
    """

    roots: Floats
    expected: Floats
    variance: Floats

    def at(self, means: Floats) -> tuple[Floats, Floats]:
        """The two at any means."""
        roots = np.sqrt(np.minimum(means, self.roots[-1] ** 2))
        return np.interp(roots, self.roots, self.expected), np.interp(roots, self.roots, self.variance)


def wide_moments(kept: KeptLaw) -> WideMoments:
    """The moments under one law, from no people up to means at which the noise no longer matters."""
    spread = np.sqrt(kept.variance)
    largest = 150.0 + 8 * spread
    roots = np.linspace(0.0, np.sqrt(largest), _POINTS)
    values = int(_reach(largest) + len(kept.law.chances))
    top = _largest(kept, values)
    expected, variance = np.zeros(_POINTS), np.zeros(_POINTS)
    for at, chance in _laws(kept, roots**2, values):
        part = np.where(chance > TINY, 2 * (top - np.log(np.maximum(chance, TINY))), 0.0)
        part = np.maximum(part, 0.0)
        expected[at] = (chance * part).sum(axis=1)
        variance[at] = np.maximum((chance * part**2).sum(axis=1) - expected[at] ** 2, 0.0)
    far = np.geomspace(largest, largest + _FAR * (1 + kept.variance), _POINTS // 5)[1:]
    beyond = np.array([_far_moments(kept, mean) for mean in far])
    return WideMoments(
        np.append(roots, np.sqrt(far)), np.append(expected, beyond[:, 0]), np.append(variance, beyond[:, 1])
    )


def _far_moments(kept: KeptLaw, mean: float) -> tuple[float, float]:
    """The two at a mean far from zero, where another mean moves the law of the released count and no more."""
    reach = 9 * np.sqrt(mean) + 30
    counts = np.arange(int(max(0.0, mean - reach)), int(mean + reach) + 1)
    poisson = np.exp(counts * np.log(mean) - mean - gammaln(counts + 1.0))
    chance = np.maximum(fftconvolve(poisson, kept.law.chances), TINY)
    part = 2 * (np.log(chance.max()) - np.log(chance))
    expected = float(chance @ part)
    return expected, float(chance @ part**2) - expected**2


def _reach(mean: float) -> float:
    """No count of this mean is larger, but for a chance below 1e-15."""
    return float(mean + 9 * np.sqrt(mean) + 30)


def _largest(kept: KeptLaw, values: int) -> Floats:
    """The largest log-chance of each released value over all means."""
    ends = 2 * np.sqrt(kept.variance + np.array([0.0, float(values)]))
    grid = np.linspace(ends[0], ends[1], 2 + int((ends[1] - ends[0]) / _STEP))
    means = np.maximum(grid**2 / 4 - kept.variance, 0.0)
    means[0] = 0.0
    top = np.full(values, TINY)
    for _, chance in _laws(kept, means, values):
        np.maximum(top, chance.max(axis=0), out=top)
    return np.asarray(np.log(top))


def _laws(kept: KeptLaw, means: Floats, values: int) -> Iterator[tuple[slice, Floats]]:
    """The chances of the released values from the smallest on, for each mean, some means at a time."""
    step = max(1, _ROOM // values)
    for at in range(0, len(means), step):
        yield slice(at, at + step), _convolved(kept, means[at : at + step], values)


def _convolved(kept: KeptLaw, means: Floats, values: int) -> Floats:
    counts = np.arange(int(_reach(float(means.max()))) + 1)
    mu = np.maximum(means, TINY)[:, None]
    poisson = np.exp(counts * np.log(mu) - mu - gammaln(counts + 1.0))
    size = next_fast_len(len(counts) + len(kept.law.chances) - 1, real=True)
    found = irfft(rfft(poisson, size, axis=1) * rfft(kept.law.chances, size), size, axis=1)[:, :values]
    padded = np.zeros((len(means), values))
    padded[:, : found.shape[1]] = np.maximum(found, 0.0)
    return padded
