"""The largest tail that the noise of many cells may have, whichever rows serve them.

The true rows are fixed, but unknown. Let an opponent choose them block by block, and let him see the noise of the blocks
before: he can do no less than the truth, so his tail is a bound. It is found backwards, one block at a time:

    V(t) <- max over the compositions c of a block of  w_c  sum over z of P_c(z) V(t - z),

from V(t) = P(noise of the known cells >= t). The weight w_c = exp(h (sum of counts of c)) ties the rows to the sum s
that is tested. For every true table with that sum, and every tilt h,

    P(noise >= t) <= exp(-h s) V_h(t),

and the smallest over a few tilts counts. h = 0 is the bound that holds for every sum.

Source: dynamic programming against an adaptive opponent; the weight is a Lagrange multiplier. Both Chernoff's bound
and the sum of the largest tails of single cells are functions that such a step cannot lower, so neither is below V.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, comb, floor, sqrt
from typing import TYPE_CHECKING

import numpy as np

from discreet.inference.compositions import Compositions, compositions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from discreet.inference.law import Law
    from discreet.inference.possible_rows import PossibleRows

#: Tilts of all sizes, and tilts in units of one standard deviation of the noise; the first count most.
_TILTS = (0.0, -0.4, -8.0, -1.5, 0.4, 8.0, 1.5)
_SMALL_TILTS = (-0.15, 0.15, -0.4, 0.4, -0.05, 0.05, -0.8, 0.8)
#: Tails between these are of interest: a tilt that is never the best there is not used.
_OF_INTEREST = 2e-4, 0.3
#: What a bound may cost, in multiplications; more where only one tilt is affordable.
WORK, MOST_WORK = 3e8, 3e9
_MOST_POWER, _TINY = 600.0, 1e-300
_BLOCKS = (6, 5, 4, 3, 2, 1)
#: Windows are cut so many standard deviations away; what lies beyond gets the value at the edge, which is no smaller.
_DEVIATIONS = 8.0


@dataclass(frozen=True, slots=True, eq=False)
class TiltedTails:
    """Bounds of P(noise >= t) for every sum of true counts.

    Args:
        first: The smallest t; below it the bound is 1.
        tails: One line a tilt: V of first, first + 1, ...; above it the last one counts.
        tilts: The tilts.
        least: The smallest sum of the open cells, and the largest: weights are relative to one of them.
        most: The largest.
        known: The smallest and the largest sum of the known cells.
    """

    first: int
    tails: NDArray[np.float64]
    tilts: NDArray[np.float64]
    least: int
    most: int
    known: tuple[int, int]

    @property
    def last(self) -> int:
        """The largest t."""
        return self.first + int(self.tails.shape[1]) - 1

    @property
    def by_sum(self) -> bool:
        """Whether the bound is another for another sum."""
        return len(self.tilts) > 1

    def at(self, sums: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.float64]:
        """The bound of P(noise >= value) where the true counts have this sum."""
        return np.where(values < self.first, 1.0, np.minimum(self.each(sums, values).min(axis=0), 1.0))

    def each(self, sums: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.float64]:
        """The same by each tilt."""
        place = np.clip(values - self.first, 0, self.tails.shape[1] - 1)
        return np.stack(
            [
                np.maximum(tail[place], _TINY) * self._weight(tilt, sums)
                for tilt, tail in zip(self.tilts, self.tails, strict=True)
            ]
        )

    def _weight(self, tilt: float, sums: NDArray[np.int64]) -> NDArray[np.float64]:
        """exp(-h s) for the open cells' part s of a sum; the known cells may have any sum of theirs."""
        if tilt <= 0:
            beyond = np.minimum(sums - self.known[0], self.most) - self.least
        else:
            beyond = np.maximum(sums - self.known[1], self.least) - self.most
        power = -tilt * beyond
        # Beyond, the weights of such sums underflow in V, and this tilt says nothing of them.
        return np.where(power > _MOST_POWER, np.inf, np.exp(np.minimum(power, _MOST_POWER)))


def worst_rows(
    cells: Sequence[PossibleRows],
    noise: Law,
    known: tuple[int, int],
    tested: Callable[[NDArray[np.int64]], NDArray[np.int64]],
) -> TiltedTails | None:
    """The bound for open cells beside known noise; None where it would cost too much.

    Tilts are tried with blocks of one cell. Those that help are used with the largest blocks that time allows.

    Args:
        cells: The cells with several possible rows.
        noise: The law of the sum of the known noise.
        known: The smallest and the largest sum of the known cells' true counts.
        tested: The noise that each sum of true counts would mean.
    """
    window, deviation = _window(cells, noise)
    width = window[1] - window[0] + 1
    tilts = np.array([*_TILTS, *(tilt / deviation for tilt in _SMALL_TILTS)])
    cost = width * _cost(cells, 1)
    if cost > MOST_WORK:
        return None
    tilts = tilts[: max(1, int(WORK / cost))]
    found = _backwards(_blocks(cells, 1), noise, window, tilts, known)
    best = _best_tilts(found, tested)
    block = next(size for size in _BLOCKS if size == 1 or len(best) * width * _cost(cells, size) <= WORK)
    return found if block == 1 else _backwards(_blocks(cells, block), noise, window, best, known)


def _best_tilts(
    found: TiltedTails, tested: Callable[[NDArray[np.int64]], NDArray[np.int64]]
) -> NDArray[np.float64]:
    """The tilts that give the smallest bound of a tail of interest."""
    sums = np.arange(found.least + found.known[0], found.most + found.known[1] + 1)
    each = found.each(sums, tested(sums))
    smallest = each.min(axis=0)
    of_interest = (smallest > _OF_INTEREST[0]) & (smallest < _OF_INTEREST[1])
    chosen = np.unique(each[:, of_interest].argmin(axis=0))
    return found.tilts[np.union1d(chosen, [0]).astype(np.int64)]


def _cost(cells: Sequence[PossibleRows], block: int) -> float:
    """What the blocks cost for each value, in multiplications, or a little more."""
    number = sum(rows.times for rows in cells)
    laws, width = (max(rows.laws.shape[axis] for rows in cells) for axis in (0, 1))
    return float(ceil(number / block) * comb(laws + block - 1, block) * (block * (width - 1) + 1))


def _window(cells: Sequence[PossibleRows], noise: Law) -> tuple[tuple[int, int], float]:
    """The values of the noise that matter, and its standard deviation at most."""
    low, high, variance, reach = noise.mean, noise.mean, noise.variance, 0
    for rows in cells:
        mean, spread = rows.moments()
        low, high = low + rows.times * mean.min(), high + rows.times * mean.max()
        variance += rows.times * spread.max()
        reach = max(reach, rows.laws.shape[1])
    far = _DEVIATIONS * sqrt(variance) + reach
    lowest = noise.first + sum(rows.times * rows.first for rows in cells)
    highest = noise.last + sum(rows.times * rows.last for rows in cells)
    return (max(lowest, floor(low - far)), min(highest + 1, ceil(high + far))), sqrt(variance)


def _blocks(cells: Sequence[PossibleRows], size: int) -> list[tuple[Compositions, int]]:
    """The cells in blocks of at most this size, equal blocks together."""
    single = [place for place, rows in enumerate(cells) for _ in range(rows.times)]
    found: dict[tuple[int, ...], int] = {}
    for start in range(0, len(single), size):
        block = tuple(single[start : start + size])
        found[block] = found.get(block, 0) + 1
    return [
        (compositions([replace(cells[place], times=1) for place in block]), often)
        for block, often in found.items()
    ]


def _backwards(
    blocks: list[tuple[Compositions, int]],
    noise: Law,
    window: tuple[int, int],
    tilts: NDArray[np.float64],
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


def _step(
    tails: NDArray[np.float64], block: Compositions, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """One block: the largest of its compositions at each tilt and value."""
    size, width = tails.shape[1], block.laws.shape[1]
    last = block.first + width - 1
    # V(t - z) for z from `last` down to `first`: values below the window have V = 1, above it that of its edge.
    below, above = max(last, 0), max(-block.first, 0)
    padded = np.concatenate(
        [np.ones((len(tails), below)), tails, np.repeat(tails[:, -1:], above, axis=1)], axis=1
    )
    windows = np.lib.stride_tricks.sliding_window_view(padded, width, axis=1)[:, below - last :][:, :size]
    backwards = np.ascontiguousarray(block.laws[:, ::-1].T)
    return np.stack(
        [(window @ backwards * weight).max(axis=1) for window, weight in zip(windows, weights, strict=True)]
    )
