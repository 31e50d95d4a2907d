"""The moments of `cell_moments` under one law of noise for every count: by convolution, from no people to millions.

With the noise spread over hundreds, the moments change until the mean is as large as the noise. The law of a
released count is a convolution, one person more moves it by one, and its derivatives are differences:

    P'(x | mu) = P(x - 1 | mu) - P(x | mu).

Its largest chance over all means is taken over a grid that is even in

    t(mu) = 2 sqrt(mu + s2),   s2 the variance of the noise,

in which the likelihood has about the curvature 1: a step h of it misses d(x, mu) by at most h^2 / 4. Far from
zero another mean only moves the law of x, and the largest chance is that of its peak.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import gammaln

from discreet.inference.cell_moments import POINTS, CellMoments, Parts, even_means, joined
from discreet.inference.poisson_likelihood import TINY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.inference.law import Law

    Floats = NDArray[np.float64]

_STEP = 0.02
#: Means go up to so many times the variance of the noise: beyond, it is a thousandth of the whole.
_FAR = 30.0
_ROOM = 2_000_000


def wide_moments(law: Law, variance: float) -> CellMoments:
    """The moments under one law, from no people up to means at which the noise no longer matters.

    Args:
        law: The kept law of the noise.
        variance: The variance of the noise.
    """
    largest = 150.0 + 8 * np.sqrt(variance)
    means = even_means(largest)
    values = int(_reach(largest) + len(law.chances))
    top = _largest(law, variance, values)
    pieces = [_summed(chance, top) for _, chance in _laws(law, means, values)]
    near = CellMoments.of(means, variance, joined(pieces))
    return near.followed_by(far_moments(law, variance, largest))


def far_moments(law: Law, variance: float, largest: float) -> CellMoments:
    """The moments at larger means, where another mean moves the law of the released count and no more."""
    means = np.geomspace(largest, largest + _FAR * (1 + variance), POINTS // 5)[1:]
    return CellMoments.of(means, variance, joined([_far(law, mean) for mean in means]))


def _summed(chance: Floats, top: Floats) -> Parts:
    first = np.diff(chance, axis=1, prepend=0.0)
    return Parts.summed(chance, -first, np.diff(first, axis=1, prepend=0.0), top)


def _far(law: Law, mean: float) -> Parts:
    reach = 9 * np.sqrt(mean) + 30
    counts = np.arange(int(max(0.0, mean - reach)), int(mean + reach) + 1)
    poisson = np.exp(counts * np.log(mean) - mean - gammaln(counts + 1.0))
    chance = np.maximum(_of_sum(poisson, law.chances), TINY)
    parts = _summed(chance[None], np.log(chance.max()))
    # The largest chance changes slowly with x, which is left out: its part of the slopes would not be.
    return replace(parts, slope=np.zeros(1), bend=np.zeros(1))


def _of_sum(first: Floats, second: Floats) -> Floats:
    """The law of a sum; as `scipy.signal.fftconvolve`, whose import takes 30 MB."""
    size = first.size + second.size - 1
    length = next_fast_len(size, real=True)
    summed: Floats = irfft(rfft(first, length) * rfft(second, length), length)[:size]
    return summed


def _reach(mean: float) -> float:
    """No count of this mean is larger, but for a chance below 1e-15."""
    return float(mean + 9 * np.sqrt(mean) + 30)


def _largest(law: Law, variance: float, values: int) -> Floats:
    """The largest log-chance of each released value over all means."""
    ends = 2 * np.sqrt(variance + np.array([0.0, float(values)]))
    grid = np.linspace(ends[0], ends[1], 2 + int((ends[1] - ends[0]) / _STEP))
    means = np.maximum(grid**2 / 4 - variance, 0.0)
    means[0] = 0.0
    top = np.full(values, TINY)
    for _, chance in _laws(law, means, values):
        np.maximum(top, chance.max(axis=0), out=top)
    return np.asarray(np.log(top))


def _laws(law: Law, means: Floats, values: int) -> Iterator[tuple[slice, Floats]]:
    """The chances of the released values from the smallest on, for each mean, some means at a time."""
    step = max(1, _ROOM // values)
    for at in range(0, len(means), step):
        yield slice(at, at + step), _convolved(law, means[at : at + step], values)


def _convolved(law: Law, means: Floats, values: int) -> Floats:
    counts = np.arange(int(_reach(float(means.max()))) + 1)
    mu = np.maximum(means, TINY)[:, None]
    poisson = np.exp(counts * np.log(mu) - mu - gammaln(counts + 1.0))
    size = next_fast_len(len(counts) + len(law.chances) - 1, real=True)
    found = irfft(rfft(poisson, size, axis=1) * rfft(law.chances, size), size, axis=1)[:, :values]
    padded = np.zeros((len(means), values))
    padded[:, : found.shape[1]] = np.maximum(found, 0.0)
    return padded
