"""Tails of the noise of a sum of released cells, for every possible true sum.

The released sum is X = s + T. The distribution of T depends on the rows of the noise table that apply to the true counts,
so a reader can bound

    tail(s, t) = max over the possible true counts with sum s of  P(T >= t).

It is exact where each cell has one possible row, and where few compositions of rows are possible; otherwise it is an upper
bound (`tail_bounds`). Under `dp` the noise does not depend on the count, and T is a convolution.
Source: Neyman (1937), with the true counts other than their sum as nuisance parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import BadRequest
from discreet.inference.channel import (
    CUT,
    SLACK,
    Counts,
    Distribution,
    Floats,
    sum_distribution,
    whole_numbers,
)
from discreet.inference.confidence_intervals.picked_cells import PickedCells
from discreet.inference.confidence_intervals.tail_bounds import (
    PossibleRows,
    TiltedTails,
    chernoff_bound,
    compositions,
    number_of_compositions,
    possible_rows,
    worst_case_tails,
)
from discreet.model.noise_distribution import CellDistribution, depends_on_count
from discreet.noise.cell_distribution import combine_terms
from discreet.noise.table import NO_NOISE

#: Limits of the exact tails: compositions; numbers compared for a table of all sums; numbers held to look up single sums.
_MOST_COMPOSITIONS, _MOST_NUMBERS, _MOST_HELD = 8_000, 3e8, 1e7


@dataclass(frozen=True, slots=True, eq=False)
class ExactTails:
    """The largest tail over all possible true counts, for each sum.

    Args:
        tails: One row per sum, or one for all sums: P(noise >= t) of first, first + 1, ...
        least: The sum of the first row.
    """

    first: int
    tails: Floats
    least: int

    @property
    def last(self) -> int:
        return self.first + int(self.tails.shape[1]) - 1

    @property
    def by_sum(self) -> bool:
        return len(self.tails) > 1

    def at(self, sums: Counts, values: Counts) -> Floats:
        line = np.clip(sums - self.least, 0, len(self.tails) - 1)
        found = self.tails[line, np.clip(values - self.first, 0, self.tails.shape[1] - 1)]
        return np.where(values < self.first, 1.0, np.where(values > self.last, 0.0, found))


@dataclass(frozen=True, slots=True, eq=False)
class CompositionTails:
    """As `ExactTails`, but looked up on demand, where a table of all sums would be too large.

    Args:
        tails: One row per composition: P(noise >= t) of first, first + 1, ...
    """

    first: int
    tails: Floats
    least: Counts
    most: Counts

    @property
    def last(self) -> int:
        return self.first + int(self.tails.shape[1]) - 1

    @property
    def by_sum(self) -> bool:
        return True

    def at(self, sums: Counts, values: Counts) -> Floats:
        sums, values = np.broadcast_arrays(sums, values)
        place = np.clip(values - self.first, 0, self.tails.shape[1] - 1)
        largest = np.zeros(place.shape)
        for tail, least, most in zip(self.tails, self.least, self.most, strict=True):
            here = (least <= sums) & (sums <= most)
            largest[here] = np.maximum(largest[here], tail[place[here]])
        return np.where(values < self.first, 1.0, np.where(values > self.last, 0.0, largest))


#: Bounds of P(noise >= t), given the sum of the true counts.
Tails = ExactTails | CompositionTails | TiltedTails


@dataclass(frozen=True, slots=True, eq=False)
class NoiseSum:
    """The noise of a sum of cells.

    Args:
        least: The smallest possible true sum.
        up: Bounds of P(noise >= t).
        down: Bounds of P(-noise >= t).
        error: A bound on the error of these distributions in total variation, beyond `SLACK`.
    """

    released: int
    least: int
    most: int
    up: Tails
    down: Tails
    error: float = 0.0

    @property
    def by_sum(self) -> bool:
        """Whether the noise may depend on the true sum."""
        return self.up.by_sum or self.down.by_sum

    @property
    def sums(self) -> Counts:
        return np.arange(self.least, self.most + 1)

    def confidence_set(self, alpha: float) -> Counts:
        """The true sums that are not rejected: both tails exceed alpha."""
        sums, noise = self.sums, self.released - self.sums
        alpha = alpha - self.error - SLACK
        kept = sums[(self.up.at(sums, noise) > alpha) & (self.down.at(sums, -noise) > alpha)]
        # Noise with gaps may leave no sum: then every possible one stays.
        return kept if len(kept) else sums


def noise_sum(
    cells: ArrayLike | PickedCells,
    noise: CellDistribution | None = None,
    minus: ArrayLike | PickedCells | None = None,
) -> NoiseSum:
    """The noise of the sum of released cells that share no people.

    >>> from discreet.noise import laplace
    >>> found = noise_sum([4, 9, 2], laplace(epsilon=1.0, m=5))
    >>> found.released, found.least, found.most, found.up.last
    (15, 4, 30, 15)
    """
    parts = [_Parts.of(cells, noise)]
    if minus is not None:
        parts.append(_Parts.of(minus, noise).negative())
    rows = [found for part in parts for found in part.open]
    distributions = [distribution for part in parts for distribution in part.known]
    times = [often for part in parts for often in part.times]
    known = Distribution(0, np.ones(1))
    if distributions:
        known = distributions[0] if times == [1] else sum_distribution(distributions, times)
    ranges = sum(part.least for part in parts), sum(part.most for part in parts)
    least = ranges[0] + sum(int(found.least.min()) * found.times for found in rows)
    most = ranges[1] + sum(int(found.most.max()) * found.times for found in rows)
    released = sum(part.released for part in parts)
    up, down = _tails(rows, known, ranges, released)
    return NoiseSum(released, least, most, up, down, sum(part.error for part in parts))


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """Cells with several possible distributions; all others as distributions with their range of true sums."""

    released: int
    open: tuple[PossibleRows, ...]
    known: tuple[Distribution, ...]
    times: tuple[int, ...]
    least: int
    most: int
    error: float = 0.0

    @classmethod
    def of(cls, cells: ArrayLike | PickedCells, noise: CellDistribution | None) -> _Parts:
        if not isinstance(cells, PickedCells):
            if noise is None:
                raise BadRequest("Plain counts have no noise table.", "Give `noise`, the law of their noise.")
            return cls._by_rows(int(whole_numbers(cells).sum()), [*possible_rows(cells, noise)])
        by_count = np.array([depends_on_count(each) for each in cells.distributions])
        rows = [
            found
            for table in dict.fromkeys(filter(depends_on_count, cells.distributions))
            for found in possible_rows(cells.counts[[each == table for each in cells.distributions]], table)
        ]
        return cls._by_rows(int(cells.counts[by_count].sum()), rows).with_distributions(cells, ~by_count)

    @classmethod
    def _by_rows(cls, released: int, rows: Sequence[PossibleRows]) -> _Parts:
        known = [found for found in rows if found.unique]
        return cls(
            released,
            tuple(found for found in rows if not found.unique),
            tuple(found.distribution for found in known),
            tuple(found.times for found in known),
            sum(int(found.least[0]) * found.times for found in known),
            sum(int(found.most[0]) * found.times for found in known),
        )

    def with_distributions(self, cells: PickedCells, chosen: NDArray[np.bool_]) -> _Parts:
        """Add cells whose noise does not depend on the count; terms of one row are combined."""
        if not chosen.any():
            return self
        noisy = (cells.distributions[at] for at in np.flatnonzero(chosen))
        sums = combine_terms(each.distributions[0] for each in noisy if each != NO_NOISE)
        distributions = tuple(Distribution(*each.distribution()).trim(CUT) for each in sums)
        released = int(cells.counts[chosen].sum())
        return _Parts(
            self.released + released,
            self.open,
            self.known + distributions,
            self.times + (1,) * len(distributions),
            self.least + max(0, released - sum(each.last for each in distributions)),
            self.most + max(0, released - sum(each.first for each in distributions)),
            self.error + sum(each.error for each in sums) + CUT * len(sums),
        )

    def negative(self) -> _Parts:
        return _Parts(
            -self.released,
            tuple(rows.negative() for rows in self.open),
            tuple(distribution.mirror() for distribution in self.known),
            self.times,
            -self.most,
            -self.least,
            self.error,
        )


def _tails(
    cells: Sequence[PossibleRows], known: Distribution, ranges: tuple[int, int], released: int
) -> tuple[Tails, Tails]:
    """The largest tails of the noise and of its negative: exact where that is feasible, else bounds."""
    if not cells:
        return _exact_tails(known), _exact_tails(known.mirror())
    width = len(known.chances) + sum(rows.times * (rows.distributions.shape[1] - 1) for rows in cells)
    spans = [rows.times * int(rows.most.max() - rows.least.min()) for rows in cells]
    ways, sums = number_of_compositions(cells), 1 + ranges[1] - ranges[0] + sum(spans)
    if ways <= _MOST_COMPOSITIONS and ways * sums * width <= _MOST_NUMBERS:
        return _tails_by_sum(cells, known, ranges)
    if ways <= _MOST_COMPOSITIONS and ways * width <= _MOST_HELD:
        return _tails_by_composition(cells, known, ranges)
    reflected = [rows.mirror_noise() for rows in cells]
    return (
        _bound(cells, known, ranges, lambda sums: released - sums),
        _bound(reflected, known.mirror(), ranges, lambda sums: sums - released),
    )


def _exact_tails(distribution: Distribution) -> ExactTails:
    return ExactTails(distribution.first, distribution.at_least()[None, :], 0)


def _bound(
    cells: Sequence[PossibleRows],
    known: Distribution,
    ranges: tuple[int, int],
    tested: Callable[[Counts], Counts],
) -> Tails:
    found = worst_case_tails(cells, known, ranges, tested)
    return _exact_tails(sum_distribution([chernoff_bound(cells), known], [1, 1])) if found is None else found


def _tails_by_sum(
    cells: Sequence[PossibleRows], known: Distribution, ranges: tuple[int, int]
) -> tuple[Tails, Tails]:
    """The largest tails of each sum over all compositions."""
    up, down = _tails_by_composition(cells, known, ranges)
    start = int(up.least.min())
    found = []
    for each in (up, down):
        largest = np.zeros((int(each.most.max()) - start + 1, each.tails.shape[1]))
        for tail, low, high in zip(each.tails, each.least - start, each.most - start, strict=True):
            np.maximum(largest[low : high + 1], tail, out=largest[low : high + 1])
        found.append(ExactTails(each.first, largest, start))
    return found[0], found[1]


def _tails_by_composition(
    cells: Sequence[PossibleRows], known: Distribution, ranges: tuple[int, int]
) -> tuple[CompositionTails, CompositionTails]:
    """The tails of every composition, of the noise and of its negative."""
    found = compositions(cells)
    distributions = np.array([np.convolve(each, known.chances) for each in found.distributions])
    least, most = found.least + ranges[0], found.most + ranges[1]
    first = found.first + known.first
    up, down = np.cumsum(distributions[:, ::-1], axis=1)[:, ::-1], np.cumsum(distributions, axis=1)[:, ::-1]
    return (
        CompositionTails(first, up, least, most),
        CompositionTails(1 - first - distributions.shape[1], down, least, most),
    )
