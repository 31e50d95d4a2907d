"""Tails of a sum of noise when the rows of the noise table that apply to its cells are unknown.

A released count x has several possible counts n, with P(x | n) > 0, and they can have different noise distributions
(`PossibleRows`). `compositions` enumerates how many cells each distribution applies to, which is exact; `worst_case_tails`
bounds the tail by dynamic programming, and `chernoff_bound` does so for very many cells.
Source: Chernoff (1952); dynamic programming against an adaptive adversary.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, comb, floor, prod, sqrt
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from discreet.inference.channel import Counts, Distribution, Floats, channel_of, whole_numbers
from discreet.model.noise_distribution import CellDistribution


@dataclass(frozen=True, slots=True, eq=False)
class PossibleRows:
    """The noise distributions that are possible for cells with the same released count.

    Args:
        distributions: One row per distribution: the probabilities of first, first + 1, ...
        least: The smallest possible count with each distribution.
        times: The number of cells.
    """

    first: int
    distributions: Floats
    least: Counts
    most: Counts
    times: int

    @property
    def unique(self) -> bool:
        return len(self.distributions) == 1

    @property
    def last(self) -> int:
        return self.first + int(self.distributions.shape[1]) - 1

    @property
    def distribution(self) -> Distribution:
        return Distribution(self.first, self.distributions[0])

    def negative(self) -> Self:
        return type(self)(-self.last, self.distributions[:, ::-1], -self.most, -self.least, self.times)

    def mirror_noise(self) -> Self:
        """The same counts with the negative of their noise."""
        return type(self)(-self.last, self.distributions[:, ::-1], self.least, self.most, self.times)

    def moments(self) -> tuple[Floats, Floats]:
        values = np.arange(self.first, self.last + 1)
        mean = self.distributions @ values
        return mean, self.distributions @ values**2 - mean**2


def possible_rows(cells: ArrayLike, noise: CellDistribution) -> Iterator[PossibleRows]:
    """The possible distributions of each distinct released count.

    >>> from discreet.noise import maxent
    >>> [(rows.times, len(rows.distributions)) for rows in possible_rows([0, 20, 0], maxent(D=5, V=3, js=2))]
    [(2, 6), (1, 1)]
    """
    channel = channel_of(noise)
    values, times = np.unique(whole_numbers(cells), return_counts=True)
    evidence = channel.evidence(values)
    index = channel.distribution_index(evidence.counts)
    for place, often in enumerate(times.tolist()):
        possible = evidence.chance[place] > 0
        counts, served = evidence.counts[place][possible], index[place][possible]
        rows = np.unique(served)
        least = np.array([counts[served == row].min() for row in rows])
        most = np.array([counts[served == row].max() for row in rows])
        yield PossibleRows(channel.lowest, channel.distributions[rows], least, most, often)


#: By multiplicity of each distribution: the smallest and the largest sum; first value and probabilities of the noise.
_Ways = dict[tuple[int, ...], tuple[int, int, int, Floats]]


@dataclass(frozen=True, slots=True, eq=False)
class Compositions:
    """The distribution of a sum of noise for each composition k = (k_1, k_2, ...): k_i cells have distribution i."""

    first: int
    distributions: Floats
    least: Counts
    most: Counts


def compositions(cells: Sequence[PossibleRows]) -> Compositions:
    """All compositions of some cells.

    Distributions are convolved directly, not by a transform: `worst_case_tails` multiplies small probabilities by large
    weights, so each must have a small relative error.

    >>> from discreet.noise import maxent
    >>> len(compositions([*possible_rows([0, 0], maxent(D=5, V=3, js=2))]).distributions)
    21
    """
    known: dict[tuple[int, bytes], int] = {}
    places = [
        [known.setdefault((rows.first, each.tobytes()), len(known)) for each in rows.distributions]
        for rows in cells
    ]
    ways: _Ways = {(0,) * (1 + max(map(max, places))): (0, 0, 0, np.ones(1))}
    for rows, own in zip(cells, places, strict=True):
        for _ in range(rows.times):
            ways = _add_cell(ways, rows, own)
    least, most, firsts, distributions = zip(*ways.values(), strict=True)
    first, last = (
        sum(end * rows.times for end, rows in zip(ends, cells, strict=True))
        for ends in ([rows.first for rows in cells], [rows.last for rows in cells])
    )
    padded = np.zeros((len(distributions), last - first + 1))
    for line, start, distribution in zip(padded, firsts, distributions, strict=True):
        line[start - first : start - first + len(distribution)] = distribution
    return Compositions(first, padded, np.array(least), np.array(most))


def number_of_compositions(cells: Sequence[PossibleRows]) -> int:
    """An upper bound on the number of compositions."""
    distinct = len({(rows.first, each.tobytes()) for rows in cells for each in rows.distributions})
    together = comb(distinct + sum(rows.times for rows in cells) - 1, distinct - 1)
    apart = prod(comb(len(rows.distributions) + rows.times - 1, rows.times) for rows in cells)
    return min(together, apart)


def _add_cell(ways: _Ways, rows: PossibleRows, own: list[int]) -> _Ways:
    """Extend each composition by each distribution of one more cell.

    Distributions of a single value come first. They only shift the others, which is quick: of 400 zeros that may be kept,
    one composition per step needs a convolution.
    """
    more: _Ways = {}
    trimmed = []
    for distribution in rows.distributions:
        inside = np.flatnonzero(distribution)
        trimmed.append((rows.first + int(inside[0]), distribution[inside[0] : inside[-1] + 1]))
    served = zip(own, rows.least.tolist(), rows.most.tolist(), trimmed, strict=True)
    for place, least, most, (start, row) in sorted(served, key=lambda each: len(each[3][1])):
        for powers, (low, high, first, distribution) in ways.items():
            longer = (*powers[:place], powers[place] + 1, *powers[place + 1 :])
            if longer in more:
                before = more[longer]
                more[longer] = min(before[0], low + least), max(before[1], high + most), *before[2:]
            else:
                sum_distribution = distribution * row if len(row) == 1 else np.convolve(distribution, row)
                more[longer] = low + least, high + most, first + start, sum_distribution
    return more


_DEPTH = np.log(1e12)
_CHERNOFF_TILTS = np.geomspace(1e-5, 20.0, 240)
_UNDERFLOW = -600.0


def chernoff_bound(cells: Sequence[PossibleRows]) -> Distribution:
    """A distribution whose upper tail is Chernoff's bound, for any rows of the noise table.

        P(sum >= t) <= exp(-h t + sum over cells of max over rows of log E exp(h noise)),   minimised over h.

    Its cost does not depend on the number of cells; it is about 1.4 times as wide as the truth at a level of 95 %.
    """
    total = np.zeros(len(_CHERNOFF_TILTS))
    for rows in cells:
        total += rows.times * log_generating(rows.distributions, rows.first).max(axis=0)
    start = int(np.floor((total / _CHERNOFF_TILTS).min()))
    points = np.arange(start, int(np.ceil(((total + _DEPTH) / _CHERNOFF_TILTS).min())) + 1)
    tail = np.ones(len(points))
    for tilt, log_mean in zip(_CHERNOFF_TILTS, total, strict=True):
        np.minimum(tail, np.exp(np.minimum(log_mean - tilt * points, 0.0)), out=tail)
    tail[0] = 1.0
    return Distribution(start, tail - np.append(tail[1:], 0.0))


def log_generating(distributions: Floats, lowest: int) -> Floats:
    """An upper bound of log E exp(h noise), for each distribution and each tilt h."""
    values = lowest + np.arange(distributions.shape[1])
    largest = values[distributions.shape[1] - 1 - (distributions[:, ::-1] > 0).argmax(axis=1)]
    with np.errstate(divide="ignore"):
        relative = np.log(distributions @ np.exp(np.outer(values - values[-1], _CHERNOFF_TILTS)))
    exact = relative + values[-1] * _CHERNOFF_TILTS
    # Where the sum underflows, exp(h largest value) is no less than the mean of exp(h noise).
    return np.asarray(np.where(relative > _UNDERFLOW, exact, largest[:, None] * _CHERNOFF_TILTS))


#: Tilts of all sizes, and tilts in units of one standard deviation of the noise; the first are the most important.
_TILTS = (0.0, -0.4, -8.0, -1.5, 0.4, 8.0, 1.5)
_SMALL_TILTS = (-0.15, 0.15, -0.4, 0.4, -0.05, 0.05, -0.8, 0.8)
#: A tilt that is never the best for a tail in this range is not used.
_OF_INTEREST = 2e-4, 0.3
#: Maximum cost of a bound in multiplications, and with one tilt only.
WORK, MOST_WORK = 3e8, 3e9
_MOST_POWER, _TINY = 600.0, 1e-300
_BLOCKS = (6, 5, 4, 3, 2, 1)
#: Windows end at this many standard deviations; values beyond get the bound at the edge, which is no smaller.
_DEVIATIONS = 8.0


@dataclass(frozen=True, slots=True, eq=False)
class TiltedTails:
    """Bounds of P(noise >= t) for every sum of true counts.

    Args:
        first: The smallest t; below it the bound is 1.
        tails: One row per tilt: V of first, first + 1, ...; beyond the end the last value applies.
        least: The smallest sum of the cells with several distributions; weights are relative to it or to `most`.
        known: The smallest and the largest sum of the other cells.
    """

    first: int
    tails: Floats
    tilts: Floats
    least: int
    most: int
    known: tuple[int, int]

    @property
    def last(self) -> int:
        return self.first + int(self.tails.shape[1]) - 1

    @property
    def by_sum(self) -> bool:
        return len(self.tilts) > 1

    def at(self, sums: Counts, values: Counts) -> Floats:
        return np.where(values < self.first, 1.0, np.minimum(self.each(sums, values).min(axis=0), 1.0))

    def each(self, sums: Counts, values: Counts) -> Floats:
        place = np.clip(values - self.first, 0, self.tails.shape[1] - 1)
        pairs = zip(self.tilts, self.tails, strict=True)
        return np.stack([np.maximum(tail[place], _TINY) * self._weight(tilt, sums) for tilt, tail in pairs])

    def _weight(self, tilt: float, sums: Counts) -> Floats:
        """exp(-h s) for the part s of the sum in these cells; the other cells can have any of their sums."""
        if tilt <= 0:
            beyond = np.minimum(sums - self.known[0], self.most) - self.least
        else:
            beyond = np.maximum(sums - self.known[1], self.least) - self.most
        power = -tilt * beyond
        # Beyond, the weights of such sums underflow in V, and this tilt says nothing of them.
        return np.where(power > _MOST_POWER, np.inf, np.exp(np.minimum(power, _MOST_POWER)))


def worst_case_tails(
    cells: Sequence[PossibleRows],
    noise: Distribution,
    known: tuple[int, int],
    tested: Callable[[Counts], Counts],
) -> TiltedTails | None:
    """A bound of the tails over all possible distributions of the cells; None where it would cost too much.

    An adversary chooses the distributions block by block and sees the noise of the blocks before, so its tail is an upper
    bound. It is computed backwards, one block at a time, from V(t) = P(noise of the other cells >= t):

        V(t) <- max over the compositions c of a block of  w_c  sum over z of P_c(z) V(t - z).

    The weight w_c = exp(h (sum of counts of c)), a Lagrange multiplier, ties the choice to the tested sum s. For every true
    table with that sum and every tilt h, P(noise >= t) <= exp(-h s) V_h(t); the smallest bound over a few tilts is taken.
    Neither Chernoff's bound nor the sum of the largest single tails is ever below V. Tilts are tried with blocks of one
    cell; those that help are used with the largest blocks that are affordable.

    Args:
        cells: The cells with several possible distributions.
        noise: The distribution of the sum of the other noise.
        known: The smallest and the largest sum of the other cells' true counts.
        tested: The noise that each sum of true counts implies.
    """
    window, deviation = _window(cells, noise)
    width = window[1] - window[0] + 1
    tilts = np.array([*_TILTS, *(tilt / deviation for tilt in _SMALL_TILTS)])
    cost = width * _cost(cells, 1)
    if cost > MOST_WORK:
        return None
    tilts = tilts[: max(1, int(WORK / cost))]
    found = _backwards(_blocks(cells, 1), noise, window, tilts, known)
    # The tilts that give the smallest bound of some tail of interest.
    sums = np.arange(found.least + found.known[0], found.most + found.known[1] + 1)
    each = found.each(sums, tested(sums))
    smallest = each.min(axis=0)
    of_interest = (smallest > _OF_INTEREST[0]) & (smallest < _OF_INTEREST[1])
    chosen = np.unique(each[:, of_interest].argmin(axis=0))
    best = found.tilts[np.union1d(chosen, [0]).astype(np.int64)]
    block = next(size for size in _BLOCKS if size == 1 or len(best) * width * _cost(cells, size) <= WORK)
    return found if block == 1 else _backwards(_blocks(cells, block), noise, window, best, known)


def _cost(cells: Sequence[PossibleRows], block: int) -> float:
    """An upper bound of the cost of the blocks per value, in multiplications."""
    number = sum(rows.times for rows in cells)
    distributions, width = (max(rows.distributions.shape[axis] for rows in cells) for axis in (0, 1))
    return float(ceil(number / block) * comb(distributions + block - 1, block) * (block * (width - 1) + 1))


def _window(cells: Sequence[PossibleRows], noise: Distribution) -> tuple[tuple[int, int], float]:
    """The relevant values of the noise, and an upper bound of its standard deviation."""
    low, high, variance, reach = noise.mean, noise.mean, noise.variance, 0
    for rows in cells:
        mean, spread = rows.moments()
        low, high = low + rows.times * mean.min(), high + rows.times * mean.max()
        variance += rows.times * spread.max()
        reach = max(reach, rows.distributions.shape[1])
    far = _DEVIATIONS * sqrt(variance) + reach
    lowest = noise.first + sum(rows.times * rows.first for rows in cells)
    highest = noise.last + sum(rows.times * rows.last for rows in cells)
    return (max(lowest, floor(low - far)), min(highest + 1, ceil(high + far))), sqrt(variance)


def _blocks(cells: Sequence[PossibleRows], size: int) -> list[tuple[Compositions, int]]:
    single = [place for place, rows in enumerate(cells) for _ in range(rows.times)]
    found: dict[tuple[int, ...], int] = {}
    for start in range(0, len(single), size):
        block = tuple(single[start : start + size])
        found[block] = found.get(block, 0) + 1
    one = [replace(rows, times=1) for rows in cells]
    return [(compositions([one[place] for place in block]), often) for block, often in found.items()]


def _backwards(
    blocks: list[tuple[Compositions, int]],
    noise: Distribution,
    window: tuple[int, int],
    tilts: Floats,
    known: tuple[int, int],
) -> TiltedTails:
    values = np.arange(window[0], window[1] + 1)
    behind = np.append(noise.at_least(), 0.0)
    start = behind[np.clip(values - noise.first, 0, len(behind) - 1)]
    tails = np.repeat(np.where(values <= noise.first, 1.0, start)[None, :], len(tilts), axis=0)
    least = most = 0
    for block, often in blocks:
        low, high = int(block.least.min()), int(block.most.max())
        least, most = least + often * low, most + often * high
        near = np.where(tilts[:, None] <= 0, block.least - low, block.most - high)
        weights = np.exp(tilts[:, None] * near)
        for _ in range(often):
            tails = _step(tails, block, weights)
    return TiltedTails(window[0], tails, tilts, least, most, known)


def _step(tails: Floats, block: Compositions, weights: Floats) -> Floats:
    """The largest value over the compositions of one block, for each tilt and value."""
    size, width = tails.shape[1], block.distributions.shape[1]
    last = block.first + width - 1
    # V(t - z) for z from `last` down to `first`: values below the window have V = 1, above it that of its edge.
    below, above = max(last, 0), max(-block.first, 0)
    padded = np.concatenate(
        [np.ones((len(tails), below)), tails, np.repeat(tails[:, -1:], above, axis=1)], axis=1
    )
    windows = np.lib.stride_tricks.sliding_window_view(padded, width, axis=1)[:, below - last :][:, :size]
    backwards = np.ascontiguousarray(block.distributions[:, ::-1].T)
    return np.stack(
        [(window @ backwards * weight).max(axis=1) for window, weight in zip(windows, weights, strict=True)]
    )
