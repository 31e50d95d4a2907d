"""Distributions on consecutive integers, and the exact distribution of a sum of many independent values.

A sum is a convolution, computed with one Fourier transform for any number of terms: the inverse transform of the product of
(transform of each distribution) ^ (how often it occurs). The window of the transform leaves out less than 1e-12, by
Bernstein's inequality; that and the rounding stay far below the slack of every interval.

The noise channel as readers see it: the true counts n that are possible for a released count x, and P(x | n).

    P(x | n) = P(noise = x - n | row of n),   n = x - largest noise, ..., x - smallest noise

Rows of a noise table differ from count to count, so P(x | n) is looked up for each n. Under `dp` the distribution depends
on the cell instead, because a cell can add up one released cell or a thousand (`NoiseByCell`).
Source: Rinott et al. (2018), section 6, eq. 6.2, for any row instead of the Laplace distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, log, sqrt
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import irfft, next_fast_len, rfft

from discreet.errors import BadRequest
from discreet.model.messages.text import message, one_line
from discreet.model.noise_distribution import (
    CellDistribution,
    IntegerDistribution,
    NoiseDistribution,
    depends_on_count,
)
from discreet.model.release import NOT_APPLICABLE, WITHHELD, Release
from discreet.noise.table import NO_NOISE, NoiseTable

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


#: The widest supported noise: of tables with a row for each count, and of tables with one row for all counts.
WIDEST, WIDEST_ROW = 5_000, 200_000


@dataclass(frozen=True, slots=True)
class Evidence:
    """The likelihood P(released | count) of each released count.

    Args:
        released: The released counts, in any shape.
        first: The smallest count considered for each; it may be below zero, with probability 0.
        chance: P(released | first + k) along a last axis.
        kind: The index of each cell's distribution, where it depends on the cell.
    """

    released: NDArray[np.int64]
    first: NDArray[np.int64]
    chance: NDArray[np.float64]
    kind: NDArray[np.int64] | None = None

    @property
    def counts(self) -> NDArray[np.int64]:
        """The considered counts, in the shape of `chance`."""
        return self.first[..., None] + np.arange(self.chance.shape[-1])

    def take(self, index: NDArray[np.int64]) -> Self:
        """Some of the tables, along the first axis."""
        kind = None if self.kind is None else self.kind[index]
        return type(self)(self.released[index], self.first[index], self.chance[index], kind)

    def sure_zero(self) -> NDArray[np.bool_]:
        """Where zero is the only possible true count."""
        return np.asarray(~((self.chance > 0) & (self.counts != 0)).any(axis=-1))

    def allows_zero(self) -> NDArray[np.bool_]:
        """Where a true count of zero is possible."""
        return np.asarray(((self.chance > 0) & (self.counts == 0)).any(axis=-1))


class Channel:
    """A noise table as an array of floating-point probabilities.

    Args:
        noise: The noise table, or any other distribution of a cell. One that applies to every count loses tails of at most
            `CUT`.
    """

    def __init__(self, noise: CellDistribution) -> None:
        self._noise = noise
        if depends_on_count(noise):
            lowest, highest = zip(*(law.reach for law in noise.laws), strict=True)
            _refuse_wide(min(lowest), max(highest), WIDEST)
            laws = [Distribution(*law.law()) for law in noise.laws]
        else:
            laws = [Distribution(*noise.laws[0].law()).trim(CUT)]
            _refuse_wide(laws[0].first, laws[0].last, WIDEST_ROW)
        self.lowest, self.highest = min(law.first for law in laws), max(law.last for law in laws)
        #: One row per distribution: the probability of each noise value from `lowest` to `highest`.
        self.laws = np.zeros((len(laws), self.highest - self.lowest + 1))
        for line, law in zip(self.laws, laws, strict=True):
            line[law.first - self.lowest : law.last - self.lowest + 1] = law.chances

    def distribution_index(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The row of `laws` for each count; negative counts have that of zero."""
        return self._noise.distribution_index(counts)

    def evidence(self, released: ArrayLike) -> Evidence:
        """The likelihood of each released count.

        Raises:
            BadRequest: A value that this noise table cannot release.

        >>> from discreet.noise import maxent
        >>> found = channel_of(maxent(D=5, V=3, js=2)).evidence([0])
        >>> found.counts[found.chance > 0].tolist()
        [0, 1, 2, 3, 4, 5]
        """
        cells = whole_numbers(released)
        values, place = np.unique(cells, return_inverse=True)
        first = values - self.highest
        counts = first[:, None] + np.arange(self.laws.shape[1])
        chance = np.where(
            counts >= 0, self.laws[self.distribution_index(counts), np.arange(counts.shape[1])[::-1]], 0
        )
        impossible = ~chance.any(axis=1)
        if impossible.any():
            raise BadRequest(
                f"The count {values[impossible][0]} cannot be released with this noise table.",
                "Give the table and the noise table that belong together, and the counts as released: "
                "not rounded, not clipped, without totals.",
            )
        place = place.reshape(cells.shape)
        return Evidence(cells, first[place], chance[place])


def _refuse_wide(lowest: int, highest: int, widest: int) -> None:
    if highest - lowest > widest:
        raise BadRequest(
            f"The noise table reaches from {lowest} to {highest}.",
            f"Inference takes noise that spans at most {widest:,}: use a truncated table.",
        )


@lru_cache(maxsize=32)
def channel_of(noise: CellDistribution) -> Channel:
    """The channel of a noise table or of a sum of noise, cached."""
    return Channel(noise)


def whole_numbers(values: ArrayLike) -> NDArray[np.int64]:
    """Released counts as integers.

    Raises:
        BadRequest: A value is not a whole number, or there is none.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and not (
        array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.round(array)).all()
    ):
        raise BadRequest("Released counts are whole numbers.", "Give them as they were released.")
    if array.size == 0:
        raise BadRequest("There is no released count.", "Give at least one.")
    return array.astype(np.int64)


def with_sure_zeros(evidence: Evidence, impossible: NDArray[np.bool_]) -> Evidence:
    """The evidence, with impossible cells known to be empty."""
    if not impossible.any():
        return evidence
    first, chance = evidence.first.copy(), evidence.chance.copy()
    first[impossible] = 0
    chance[impossible] = 0
    chance[impossible, 0] = 1
    return Evidence(evidence.released, first, chance, evidence.kind)


#: Noise tables that span more than this are treated as noise by cell: a test evaluates only a window of it.
NARROW = 600
#: The same for tables of more keys than this, as under `dp`: their tails are long.
LARGE_MODULUS = 2**32


@dataclass(frozen=True, slots=True, eq=False)
class TruncatedDistribution:
    """The distribution of a cell's noise without tails of total probability `CUT`.

    Args:
        law: Probabilities of the values that remain; they add up to 1 minus the truncated part.
        mean: The mean of the noise before truncation.
        variance: Its variance before truncation.
        error: A bound on the total variation between this and the true distribution.
    """

    law: Distribution
    mean: float
    variance: float
    error: float

    @classmethod
    def of(cls, noise: IntegerDistribution) -> Self:
        """Truncate a distribution.

        >>> from discreet.noise import laplace
        >>> from discreet.noise.cell_distribution import SumDistribution
        >>> wide = SumDistribution(laplace(epsilon=0.5, modulus=2**64).rows[0], 1)
        >>> (wide.row.values[-1], TruncatedDistribution.of(wide).law.last)
        (85, 55)
        """
        law = Distribution(*noise.law()).trim(CUT)
        return cls(law, float(noise.mean), float(noise.variance), CUT + noise.error)


@dataclass(frozen=True, slots=True, eq=False)
class NoiseByCell:
    """The noise distributions of a table's cells; they do not depend on the count.

    Args:
        laws: The distinct distributions.
        kind: The index of each cell's distribution.
    """

    laws: tuple[TruncatedDistribution, ...]
    kind: NDArray[np.int64]

    @classmethod
    def of(cls, noise: Sequence[CellDistribution], kind: NDArray[np.int64]) -> Self:
        """From distributions that do not depend on the count, and the index of each cell's."""
        if kind.size and not (kind.min() >= 0 and kind.max() < len(noise)):
            raise BadRequest("A cell has a law that is not there.", f"Number the {len(noise)} laws from 0.")
        return cls(tuple(map(_truncate, noise)), kind.astype(np.int64))

    def without(self, cells: NDArray[np.bool_]) -> Self:
        """The same noise, with none in some cells."""
        if not cells.any():
            return self
        return type(self)((*self.laws, _truncate(NO_NOISE)), np.where(cells, len(self.laws), self.kind))

    @property
    def spread(self) -> float:
        """The largest standard deviation of the noise of a cell."""
        return sqrt(max(self.laws[kind].variance for kind in np.unique(self.kind)))

    @property
    def width(self) -> int:
        """The number of values of the widest distribution."""
        return max(len(self.laws[kind].law.chances) for kind in np.unique(self.kind))

    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The mean and the variance of each cell's noise."""
        means, variances = (
            np.array(column) for column in zip(*((k.mean, k.variance) for k in self.laws), strict=True)
        )
        return means[self.kind], variances[self.kind]

    def draw(self, tables: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Noise with fresh random keys for a number of tables."""
        noise = np.zeros((tables, *self.kind.shape), dtype=np.int64)
        for place, kept in enumerate(self.laws):
            here = self.kind == place
            below = np.cumsum(kept.law.chances)
            chosen = rng.random((tables, int(here.sum()))) * below[-1]
            noise[:, here] = kept.law.first + np.searchsorted(below, chosen, "right")
        return noise

    def evidence(self, released: NDArray[np.int64]) -> Evidence:
        """The likelihood of released tables, for every possible count."""
        cells = whole_numbers(released)
        kind = np.broadcast_to(self.kind, cells.shape)
        first = np.maximum(cells - np.array([kept.law.last for kept in self.laws])[kind], 0)
        chance = np.zeros((*cells.shape, self.width))
        for place, kept in enumerate(self.laws):
            here = kind == place
            noise = cells[here][:, None] - first[here][:, None] - np.arange(self.width) - kept.law.first
            inside = (noise >= 0) & (noise < len(kept.law.chances))
            chance[here] = np.where(inside, kept.law.chances[np.where(inside, noise, 0)], 0.0)
        refuse_impossible(cells, np.asarray(chance.any(axis=-1)))
        return Evidence(cells, first, chance, kind)

    def __repr__(self) -> str:
        return one_line(self, f"of {self.kind.size:,} cells with {len(self.laws)} laws")


def refuse_impossible(cells: NDArray[np.int64], possible: NDArray[np.bool_]) -> None:
    """Refuse released counts that have no possible true count."""
    if not possible.all():
        raise BadRequest(
            f"The count {cells[~possible][0]} is released with a probability below {CUT:g}.",
            "Give the counts as released, and the laws that belong to their cells.",
        )


def noise_of_cells(law: NoiseDistribution, inner: tuple[NDArray[np.intp], ...]) -> NoiseTable | NoiseByCell:
    """The noise of some cells of a release: their one noise table, or the distribution of each."""
    found, kind = np.unique(law.kind[inner], return_inverse=True)
    laws = [law.laws[each] for each in found.tolist()]
    shape = law.kind[inner].shape
    return by_cell(laws[0], shape) if len(laws) == 1 else NoiseByCell.of(laws, kind.reshape(shape))


def by_cell(noise: CellDistribution | NoiseByCell, shape: tuple[int, ...]) -> NoiseTable | NoiseByCell:
    """Noise in the form that tests use: a narrow table, or one with several rows, unchanged; any other by cell."""
    if isinstance(noise, NoiseByCell):
        return noise
    if isinstance(noise, NoiseTable):
        values = noise.rows[0].values
        narrow = values[-1] - values[0] <= NARROW and noise.modulus <= LARGE_MODULUS
        if len(noise.rows) > 1 or narrow:
            return noise
    return NoiseByCell.of([noise], np.zeros(shape, dtype=np.int64))


@lru_cache(maxsize=256)
def _truncate(noise: CellDistribution) -> TruncatedDistribution:
    if depends_on_count(noise):
        raise BadRequest(
            "The cells have several noises that depend on the count.", "Test cells of one noise table."
        )
    return TruncatedDistribution.of(noise.laws[0])


#: The maximum number of cells of a tested table.
MOST_CELLS = 50_000


@dataclass(frozen=True, slots=True)
class ObservedTable:
    """Released counts of the inner cells, their noise, and which of them can occur.

    Rounded, clipped or fitted values never enter. Totals and coarser levels are left out because they repeat the cells.
    """

    counts: NDArray[np.int64]
    noise: NoiseTable | NoiseByCell
    possible: NDArray[np.bool_]

    @property
    def batch(self) -> NDArray[np.int64]:
        """The counts as a batch of one table; impossible cells hold 0."""
        return np.where(self.possible, self.counts, 0)[None]


def observe(table: Release | ArrayLike, noise: CellDistribution | NoiseByCell | None = None) -> ObservedTable:
    """The released counts of a table and their noise.

    Args:
        table: A release, or an array of released counts without totals.
        noise: The noise table of an array, or the noise of its cells; a release has its own.

    >>> from discreet.noise import laplace
    >>> observe([[3, 4], [5, -1]], laplace(epsilon=1.0, m=5)).counts.shape
    (2, 2)
    """
    if isinstance(table, Release):
        return _observe_release(table)
    if noise is None:
        raise BadRequest(
            message("A plain array has no noise table."), message("Give `noise`, the law of its noise.")
        )
    counts = whole_numbers(table)
    if isinstance(noise, NoiseByCell) and noise.kind.shape != counts.shape:
        raise BadRequest(
            message("The laws do not fit the table."), message("Give the law of each of its cells.")
        )
    return _check_table(
        ObservedTable(counts, by_cell(noise, counts.shape), np.ones(counts.shape, dtype=np.bool_))
    )


def _observe_release(release: Release) -> ObservedTable:
    if release.request.measure != "count":
        raise BadRequest(
            message("The noise of weighted counts has no table to be tested by."),
            message("Ask for the measure count."),
        )
    inner = np.ix_(*(dimension.leaves for dimension in release.dimensions))
    status = release.status[inner]
    if (status == WITHHELD).any():
        raise BadRequest(
            message("Some cells of the table are withheld."),
            message("Choose categories of which every cell is released."),
        )
    possible = status != NOT_APPLICABLE
    possible &= ~release.law.impossible[inner]
    return _check_table(
        ObservedTable(release.noisy[inner], noise_of_cells(release.law.for_tests(), inner), possible)
    )


def _check_table(found: ObservedTable) -> ObservedTable:
    if found.counts.size > MOST_CELLS:
        raise BadRequest(
            message("The table has {size:,} cells.", size=found.counts.size),
            message("A test takes at most {most_cells:,}: group some.", most_cells=MOST_CELLS),
        )
    if not found.possible.any():
        raise BadRequest(message("No cell of this table can occur."), message("Choose other categories."))
    return found
