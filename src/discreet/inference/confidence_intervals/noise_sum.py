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
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import BadRequest
from discreet.inference.channel import CUT, SLACK, Distribution, sum_distribution, whole_numbers
from discreet.inference.confidence_intervals.picked_cells import PickedCells
from discreet.inference.confidence_intervals.tail_bounds import (
    PossibleRows,
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


class Tails(Protocol):
    """Bounds of P(noise >= t), given the sum of the true counts."""

    @property
    def first(self) -> int:
        """The smallest noise value that matters; below it the tail is 1."""

    @property
    def last(self) -> int:
        """The largest."""

    @property
    def by_sum(self) -> bool:
        """Whether the bound depends on the sum."""

    def at(self, sums: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.float64]:
        """The bound for each pair of a sum and a value of the noise."""


@dataclass(frozen=True, slots=True, eq=False)
class ExactTails:
    """The largest tail over all possible true counts, for each sum.

    Args:
        first: The smallest value of the noise.
        tails: One row per sum, or one for all sums: P(noise >= t) of first, first + 1, ...
        least: The sum of the first row.
    """

    first: int
    tails: NDArray[np.float64]
    least: int

    @property
    def last(self) -> int:
        """The largest value of the noise."""
        return self.first + int(self.tails.shape[1]) - 1

    @property
    def by_sum(self) -> bool:
        """Whether there is a row for each sum."""
        return len(self.tails) > 1

    def at(self, sums: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.float64]:
        """The largest tail for each pair of a sum and a value."""
        line = np.clip(sums - self.least, 0, len(self.tails) - 1)
        found = self.tails[line, np.clip(values - self.first, 0, self.tails.shape[1] - 1)]
        return np.where(values < self.first, 1.0, np.where(values > self.last, 0.0, found))


@dataclass(frozen=True, slots=True, eq=False)
class CompositionTails:
    """As `ExactTails`, but looked up on demand, where a table of all sums would be too large.

    Args:
        first: The smallest value of the noise.
        tails: One row per composition: P(noise >= t) of first, first + 1, ...
        least: The smallest sum of true counts of each composition.
        most: The largest.
    """

    first: int
    tails: NDArray[np.float64]
    least: NDArray[np.int64]
    most: NDArray[np.int64]

    @property
    def last(self) -> int:
        """The largest value of the noise."""
        return self.first + int(self.tails.shape[1]) - 1

    @property
    def by_sum(self) -> bool:
        """Always true: the compositions depend on the sum."""
        return True

    def at(self, sums: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.float64]:
        """The largest tail for each pair of a sum and a value."""
        sums, values = np.broadcast_arrays(sums, values)
        place = np.clip(values - self.first, 0, self.tails.shape[1] - 1)
        largest = np.zeros(place.shape)
        for tail, least, most in zip(self.tails, self.least, self.most, strict=True):
            here = (least <= sums) & (sums <= most)
            largest[here] = np.maximum(largest[here], tail[place[here]])
        return np.where(values < self.first, 1.0, np.where(values > self.last, 0.0, largest))


@dataclass(frozen=True, slots=True, eq=False)
class NoiseSum:
    """The noise of a sum of cells.

    Args:
        released: The sum of the released counts.
        least: The smallest possible true sum.
        most: The largest.
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
    def sums(self) -> NDArray[np.int64]:
        """All possible true sums."""
        return np.arange(self.least, self.most + 1)

    def confidence_set(self, alpha: float) -> NDArray[np.int64]:
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

    Args:
        cells: Released counts, or cells picked from a release, which have their noise.
        noise: The noise table of counts.
        minus: Cells that are subtracted.

    >>> from discreet.noise import laplace
    >>> found = noise_sum([4, 9, 2], laplace(epsilon=1.0, m=5))
    >>> found.released, found.least, found.most, found.up.last
    (15, 4, 30, 15)
    """
    parts = [_Parts.of(cells, noise)]
    if minus is not None:
        parts.append(_Parts.of(minus, noise).negative())
    return _combine(parts)


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
        by_count = np.array([depends_on_count(law) for law in cells.laws])
        tables = dict.fromkeys(law for law, depends in zip(cells.laws, by_count, strict=True) if depends)
        rows = [
            found
            for table in tables
            for found in possible_rows(cells.counts[[law == table for law in cells.laws]], table)
        ]
        return cls._by_rows(int(cells.counts[by_count].sum()), rows).with_laws(cells, ~by_count)

    @classmethod
    def _by_rows(cls, released: int, rows: Sequence[PossibleRows]) -> _Parts:
        known = [found for found in rows if found.unique]
        return cls(
            released,
            tuple(found for found in rows if not found.unique),
            tuple(found.law for found in known),
            tuple(found.times for found in known),
            sum(int(found.least[0]) * found.times for found in known),
            sum(int(found.most[0]) * found.times for found in known),
        )

    def with_laws(self, cells: PickedCells, chosen: NDArray[np.bool_]) -> _Parts:
        """Add cells whose noise does not depend on the count; terms of one row are combined."""
        if not chosen.any():
            return self
        noisy = (cells.laws[at] for at in np.flatnonzero(chosen) if cells.laws[at] != NO_NOISE)
        sums = combine_terms(law.laws[0] for law in noisy)
        laws = tuple(Distribution(*law.law()).trim(CUT) for law in sums)
        released = int(cells.counts[chosen].sum())
        least, most = released - sum(law.last for law in laws), released - sum(law.first for law in laws)
        return _Parts(
            self.released + released,
            self.open,
            self.known + laws,
            self.times + (1,) * len(laws),
            self.least + max(0, least),
            self.most + max(0, most),
            self.error + sum(law.error for law in sums) + CUT * len(sums),
        )

    def negative(self) -> _Parts:
        """The same cells, subtracted from a sum."""
        return _Parts(
            -self.released,
            tuple(rows.negative() for rows in self.open),
            tuple(law.mirror() for law in self.known),
            self.times,
            -self.most,
            -self.least,
            self.error,
        )


def _combine(parts: Sequence[_Parts]) -> NoiseSum:
    """The noise of independent groups of cells together."""
    cells = [rows for part in parts for rows in part.open]
    laws = [law for part in parts for law in part.known]
    times = [often for part in parts for often in part.times]
    known = Distribution(0, np.ones(1))
    if laws:
        known = laws[0] if times == [1] else sum_distribution(laws, times)
    ranges = sum(part.least for part in parts), sum(part.most for part in parts)
    least = ranges[0] + sum(int(rows.least.min()) * rows.times for rows in cells)
    most = ranges[1] + sum(int(rows.most.max()) * rows.times for rows in cells)
    released = sum(part.released for part in parts)
    up, down = _tails(cells, known, ranges, released)
    error = sum(part.error for part in parts)
    return NoiseSum(released, least, most, up, down, error)


def _tails(
    cells: Sequence[PossibleRows], known: Distribution, ranges: tuple[int, int], released: int
) -> tuple[Tails, Tails]:
    """The largest tails of the noise and of its negative: exact where that is feasible, else bounds."""
    if not cells:
        return _exact_tails(known), _exact_tails(known.mirror())
    width = len(known.chances) + sum(rows.times * (rows.laws.shape[1] - 1) for rows in cells)
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


def _exact_tails(law: Distribution) -> ExactTails:
    return ExactTails(law.first, law.at_least()[None, :], 0)


def _bound(
    cells: Sequence[PossibleRows],
    known: Distribution,
    ranges: tuple[int, int],
    tested: Callable[[NDArray[np.int64]], NDArray[np.int64]],
) -> Tails:
    found = worst_case_tails(cells, known, ranges, tested)
    return _exact_tails(sum_distribution([chernoff_bound(cells), known], [1, 1])) if found is None else found


def _tails_by_sum(
    cells: Sequence[PossibleRows], known: Distribution, ranges: tuple[int, int]
) -> tuple[Tails, Tails]:
    """The largest tails of each sum over all compositions."""
    up, down = _tails_by_composition(cells, known, ranges)
    start = int(up.least.min())
    return (
        ExactTails(up.first, _largest(up.tails, up.least, up.most), start),
        ExactTails(down.first, _largest(down.tails, down.least, down.most), start),
    )


def _tails_by_composition(
    cells: Sequence[PossibleRows], known: Distribution, ranges: tuple[int, int]
) -> tuple[CompositionTails, CompositionTails]:
    """The tails of every composition, of the noise and of its negative."""
    found = compositions(cells)
    laws = np.array([np.convolve(law, known.chances) for law in found.laws])
    least, most = found.least + ranges[0], found.most + ranges[1]
    first = found.first + known.first
    up, down = np.cumsum(laws[:, ::-1], axis=1)[:, ::-1], np.cumsum(laws, axis=1)[:, ::-1]
    return (
        CompositionTails(first, up, least, most),
        CompositionTails(1 - first - laws.shape[1], down, least, most),
    )


def _largest(
    tails: NDArray[np.float64], least: NDArray[np.int64], most: NDArray[np.int64]
) -> NDArray[np.float64]:
    """For each sum the largest tail over the compositions that can have it."""
    largest = np.zeros((int(most.max() - least.min()) + 1, tails.shape[1]))
    for tail, low, high in zip(tails, least - least.min(), most - least.min(), strict=True):
        np.maximum(largest[low : high + 1], tail, out=largest[low : high + 1])
    return largest
