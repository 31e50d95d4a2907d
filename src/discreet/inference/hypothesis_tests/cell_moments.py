"""Moments of one cell's part of the likelihood-ratio statistic under the hypothesis, as functions of the cell's mean.

With x released from a cell of mean mu, the part at the true mean and its score are

    d(x, mu) = 2 (max over m of log P(x | m) - log P(x | mu)),    s(x, mu) = d/dmu log P(x | mu).

The chi-square approximation takes d as the square of a normal variable, which holds for large means only. Here the moments
are sums over every x, with P' and P'' the derivatives of P(x | mu) in mu:

    e = E d,  v = Var d,  e' = sum of P' d,  e'' = sum of P'' d - 2 I,  I = E s^2,  w = Cov(d, s^2/I),  k = Var(s^2/I).

They are tabulated over sqrt(mu) and interpolated; I, e' and e'' are multiplied by the variance mu + s2 of x (or its root),
so that each column has a limit.
Source: McCullagh (1986) and Osius & Rojek (1992) for sparse tables without noise.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import gammaln

from discreet.inference.channel import Channel, Distribution, Floats, channel_of
from discreet.inference.hypothesis_tests.likelihood import TINY, PoissonLikelihood
from discreet.noise.table import NoiseTable

#: Released values with a smaller probability are left out, because transforms do not compute it exactly.
FAINT = 1e-15
#: The smallest mean of a table of moments, and its number of means.
LEAST_MEAN, POINTS = 1e-6, 200
#: Upper limit of the variance of the squared score, which is not useful at tiny means.
_MOST_KURTOSIS = 30.0
#: The largest mean of tables with a row for each count.
_LARGEST_MEAN = 1500.0


@dataclass(frozen=True, slots=True, eq=False)
class CellParts:
    """Moments of cells' parts of the statistic, one number per cell.

    Args:
        expected: e, the mean of the part.
        variance: v, its variance.
        slope: e', the derivative of the mean in the cell's mean.
        bend: e'', its second derivative.
        information: I, the Fisher information on the cell's mean.
        overlap: w, the covariance of the part and the squared standardised score.
        kurtosis: k, the variance of the squared standardised score.
    """

    expected: Floats
    variance: Floats
    slope: Floats
    bend: Floats
    information: Floats
    overlap: Floats
    kurtosis: Floats

    @classmethod
    def sum_over(cls, chance: Floats, first: Floats, second: Floats, top: Floats) -> Self:
        """Exact sums over the released values, for each of some means.

        Args:
            chance: P(x | mu), one row per mean, one column per released value.
            first: Its derivative in mu.
            second: Its second derivative.
            top: The largest log-probability of each released value over all means.
        """
        seen = chance > FAINT
        safe = np.where(seen, chance, 1.0)
        part = np.where(seen, np.maximum(2 * (top - np.log(safe)), 0.0), 0.0)
        squared = np.where(seen, first / safe, 0.0) ** 2
        expected, information = (np.sum(chance * f, axis=1) for f in (part, squared))
        away = part - expected[:, None]
        excess = squared / information[:, None] - 1
        return cls(
            expected,
            np.sum(chance * away**2, axis=1),
            np.sum(first * part, axis=1),
            np.sum(second * part, axis=1) - 2 * information,
            information,
            np.sum(chance * away * excess, axis=1),
            np.minimum(np.sum(chance * excess**2, axis=1), _MOST_KURTOSIS),
        )

    def times(self, spread: Floats) -> Self:
        """The same with means in another unit: slope, bend and information times its power."""
        return replace(
            self,
            slope=self.slope * np.sqrt(spread),
            bend=self.bend * spread,
            information=self.information * spread,
        )

    def within(self, cells: NDArray[np.bool_]) -> Self:
        return type(self)(*(np.where(cells, column, 0.0) for column in columns(self)))


def columns(parts: CellParts) -> list[Floats]:
    """The moments in the order of the fields of `CellParts`."""
    return [getattr(parts, each.name) for each in fields(parts)]


@dataclass(frozen=True, slots=True, eq=False)
class CellMoments:
    """The moments under one noise distribution, tabulated.

    Args:
        means: The means of the table, ascending; beyond the last only the units change.
        parts: The moments at each mean, without units.
    """

    means: Floats
    noise: float
    parts: CellParts

    @classmethod
    def of(cls, means: Floats, noise: float, parts: CellParts) -> Self:
        return cls(means, noise, parts.times(means + noise))

    def at(self, means: Floats) -> CellParts:
        """The moments at any means, in units of counts."""
        means = np.maximum(means, LEAST_MEAN)
        roots, known = np.sqrt(means), np.sqrt(self.means)
        found = CellParts(*(np.interp(roots, known, column) for column in columns(self.parts)))
        return found.times(1 / (means + self.noise))

    def extend(self, more: Self) -> Self:
        """This table followed by one of larger means and the same noise."""
        means = np.append(self.means, more.means)
        return type(self)(means, self.noise, concatenate_parts([self.parts, more.parts]))


def concatenate_parts(pieces: list[CellParts]) -> CellParts:
    """Moments of several tables, one after the other."""
    return CellParts(*(np.concatenate(column) for column in zip(*map(columns, pieces), strict=True)))


def even_means(largest: float) -> Floats:
    """Means up to the largest, equally spaced in their roots."""
    return np.linspace(np.sqrt(LEAST_MEAN), np.sqrt(largest), POINTS) ** 2


def table_moments(noise: NoiseTable) -> CellMoments:
    """The moments under a noise table with any rows: sums over every count and every released value."""
    channel = channel_of(noise)
    largest = min(150.0 + 8 * float(noise.variance) ** 0.5 + 2 * len(noise.rows), _LARGEST_MEAN)
    means = even_means(largest)
    most = int(largest + 10 * np.sqrt(largest)) + 5
    values = releasable(channel, most)
    top = PoissonLikelihood.of(channel.evidence(values[:, None])).free_maximum()[0]
    counts = np.arange(most + 1)
    noise_values = values[None, :] - counts[:, None] - channel.lowest
    inside = (noise_values >= 0) & (noise_values < channel.distributions.shape[1])
    index = channel.distribution_index(counts)[:, None]
    distribution = np.where(inside, channel.distributions[index, np.where(inside, noise_values, 0)], 0.0)
    poisson = np.exp(counts * np.log(means)[:, None] - means[:, None] - gammaln(counts + 1.0))
    slope = _before(poisson) - poisson
    parts = CellParts.sum_over(
        poisson @ distribution, slope @ distribution, (_before(slope) - slope) @ distribution, top
    )
    return CellMoments.of(means, float(noise.variance), parts)


def _before(columns: Floats) -> Floats:
    """Each column shifted by one: with the noise, the distribution for one person more."""
    moved = np.zeros_like(columns)
    moved[:, 1:] = columns[:, :-1]
    return moved


def releasable(channel: Channel, largest: int) -> NDArray[np.int64]:
    """Every value that can be released for true counts up to `largest`."""
    counts = np.arange(largest + 1)
    distributions = channel.distributions[channel.distribution_index(counts)]
    places = np.flatnonzero(distributions.ravel() > 0)
    rows, columns = np.divmod(places, distributions.shape[1])
    return np.unique(counts[rows] + channel.lowest + columns)


_STEP = 0.02
#: The largest mean as a multiple of the variance of the noise: beyond, the noise is a thousandth of the whole.
_FAR = 30.0
_ROOM = 2_000_000


def wide_moments(distribution: Distribution, variance: float) -> CellMoments:
    """The moments under one distribution for every count, from mean zero to means at which the noise no longer matters.

    The distribution of a released count is a convolution, one person more shifts it by one, and its derivatives are
    differences: P'(x | mu) = P(x - 1 | mu) - P(x | mu). Its largest value over all means is taken over a grid that is even
    in t(mu) = 2 sqrt(mu + s2), in which the likelihood has a curvature of about 1: a step h misses d(x, mu) by at most h^2
    / 4.
    """
    largest = 150.0 + 8 * np.sqrt(variance)
    means = even_means(largest)
    values = int(_reach(largest) + len(distribution.chances))
    top = _largest(distribution, variance, values)
    pieces = [_sum_parts(chance, top) for chance in _batches(distribution, means, values)]
    near = CellMoments.of(means, variance, concatenate_parts(pieces))
    return near.extend(far_moments(distribution, variance, largest))


def far_moments(distribution: Distribution, variance: float, largest: float) -> CellMoments:
    """The moments at larger means, where another mean only shifts the distribution of the released count."""
    means = np.geomspace(largest, largest + _FAR * (1 + variance), POINTS // 5)[1:]
    return CellMoments.of(means, variance, concatenate_parts([_far(distribution, mean) for mean in means]))


def _sum_parts(chance: Floats, top: Floats) -> CellParts:
    first = np.diff(chance, axis=1, prepend=0.0)
    return CellParts.sum_over(chance, -first, np.diff(first, axis=1, prepend=0.0), top)


def _far(distribution: Distribution, mean: float) -> CellParts:
    reach = 9 * np.sqrt(mean) + 30
    counts = np.arange(int(max(0.0, mean - reach)), int(mean + reach) + 1)
    poisson = np.exp(counts * np.log(mean) - mean - gammaln(counts + 1.0))
    # As `scipy.signal.fftconvolve`, whose import takes 30 MB.
    size = poisson.size + distribution.chances.size - 1
    length = next_fast_len(size, real=True)
    chance = np.maximum(
        irfft(rfft(poisson, length) * rfft(distribution.chances, length), length)[:size], TINY
    )
    parts = _sum_parts(chance[None], np.log(chance.max()))
    # The maximum changes slowly with x, which is ignored; its part of the slopes would not be negligible.
    return replace(parts, slope=np.zeros(1), bend=np.zeros(1))


def _reach(mean: float) -> float:
    """An upper bound of a count with this mean, except with a probability below 1e-15."""
    return float(mean + 9 * np.sqrt(mean) + 30)


def _largest(distribution: Distribution, variance: float, values: int) -> Floats:
    """The largest log-probability of each released value over all means."""
    ends = 2 * np.sqrt(variance + np.array([0.0, float(values)]))
    grid = np.linspace(ends[0], ends[1], 2 + int((ends[1] - ends[0]) / _STEP))
    means = np.maximum(grid**2 / 4 - variance, 0.0)
    means[0] = 0.0
    top = np.full(values, TINY)
    for chance in _batches(distribution, means, values):
        np.maximum(top, chance.max(axis=0), out=top)
    return np.asarray(np.log(top))


def _batches(distribution: Distribution, means: Floats, values: int) -> Iterator[Floats]:
    """The probabilities of the released values for each mean, in batches of means."""
    step = max(1, _ROOM // values)
    for at in range(0, len(means), step):
        mu = np.maximum(means[at : at + step], TINY)[:, None]
        counts = np.arange(int(_reach(float(mu.max()))) + 1)
        poisson = np.exp(counts * np.log(mu) - mu - gammaln(counts + 1.0))
        size = next_fast_len(len(counts) + len(distribution.chances) - 1, real=True)
        found = irfft(rfft(poisson, size, axis=1) * rfft(distribution.chances, size), size, axis=1)[
            :, :values
        ]
        padded = np.zeros((len(mu), values))
        padded[:, : found.shape[1]] = np.maximum(found, 0.0)
        yield padded
