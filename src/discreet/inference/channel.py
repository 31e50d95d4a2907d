"""The noise channel as readers see it, sums of independent noise, and posteriors of true counts.

For a released count x, P(x | n) of each possible true count n:

    P(x | n) = P(noise = x - n | row of n),   n = x - largest noise, ..., x - smallest noise

Rows of a noise table differ from count to count, so P(x | n) is looked up for each n. Under `dp` the distribution depends
on the cell instead, because a cell can add up one released cell or a thousand (`NoiseByCell`).

A sum is a convolution, computed with one Fourier transform for any number of terms: the inverse transform of the product of
(transform of each distribution) ^ (how often it occurs). The window of the transform leaves out less than 1e-12, by
Bernstein's inequality; that and the rounding stay far below the slack of every interval.

    P(n | x) = prior(n) P(x | n) / sum over m of prior(m) P(x | m)

Noise is bounded, so the sum is finite and the posterior is exact for any prior, the flat one included.
Source: Rinott et al. (2018), section 6, eq. 6.2, for any row instead of the Laplace distribution; Charest (2010).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, log, sqrt
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import gammaln, xlogy

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

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

#: Slack of every interval: more than a computed distribution leaves out or rounds away.
SLACK = 1e-9
#: Probability truncated from wide noise of a cell. One key of 2^32 is more, so such tables are not truncated.
CUT = 1e-12
_OUTSIDE = 1e-12


@dataclass(frozen=True, slots=True)
class Distribution:
    """Probabilities of the integers first, first + 1, ..."""

    first: int
    chances: Floats

    @property
    def last(self) -> int:
        return self.first + len(self.chances) - 1

    @property
    def values(self) -> Counts:
        return np.arange(self.first, self.last + 1)

    @property
    def mean(self) -> float:
        return float(self.chances @ self.values)

    @property
    def variance(self) -> float:
        return float(self.chances @ (self.values - self.mean) ** 2)

    def mirror(self) -> Self:
        return type(self)(-self.last, self.chances[::-1])

    def shift(self, by: int) -> Self:
        return type(self)(self.first + by, self.chances)

    def trim(self, cut: float) -> Self:
        """The distribution without tails of total probability at most `cut`, half of it at each end.

        >>> Distribution(0, np.array([0.01, 0.2, 0.7, 0.08, 0.01])).trim(0.04).values.tolist()
        [1, 2, 3]
        """
        low = int(np.flatnonzero(np.cumsum(self.chances) > cut / 2)[0])
        behind = int(np.flatnonzero(np.cumsum(self.chances[::-1]) > cut / 2)[0])
        return type(self)(self.first + low, self.chances[low : len(self.chances) - behind])

    def at_least(self) -> Floats:
        """P(value >= v) for each value v."""
        return np.cumsum(self.chances[::-1])[::-1]

    def upper_quantile(self, alpha: float) -> int:
        """The largest v with P(value >= v) > alpha.

        >>> Distribution(-1, np.array([0.25, 0.5, 0.25])).upper_quantile(0.3)
        0
        """
        reached = np.flatnonzero(self.at_least() > alpha - SLACK)
        return self.first + int(reached[-1]) if len(reached) else self.first


def sum_distribution(distributions: Sequence[Distribution], times: Sequence[int]) -> Distribution:
    """The distribution of a sum of independent values, `times` of each distribution.

    >>> coin = Distribution(0, np.array([0.5, 0.5]))
    >>> sum_distribution([coin], [2]).chances.round(6).tolist()
    [0.25, 0.5, 0.25]
    """
    low, high = _window(distributions, times)
    size = next_fast_len(high - low + 1, real=True)
    product = np.ones(size // 2 + 1, dtype=np.complex128)
    for distribution, often in zip(distributions, times, strict=True):
        folded = np.zeros(size)
        np.add.at(folded, np.arange(len(distribution.chances)) % size, distribution.chances)
        product *= rfft(folded) ** often
    wrapped = irfft(product, size)
    start = sum(distribution.first * often for distribution, often in zip(distributions, times, strict=True))
    chances = wrapped[(np.arange(low, high + 1) - start) % size]
    return Distribution(low, np.maximum(chances, 0.0))


def _window(distributions: Sequence[Distribution], times: Sequence[int]) -> tuple[int, int]:
    """The range that the sum leaves with a probability below 1e-12."""
    pairs = list(zip(distributions, times, strict=True))
    lowest = sum(distribution.first * often for distribution, often in pairs)
    highest = sum(distribution.last * often for distribution, often in pairs)
    mean = sum(distribution.mean * often for distribution, often in pairs)
    variance = sum(distribution.variance * often for distribution, often in pairs)
    reach = max(max(each.last - each.mean, each.mean - each.first) for each in distributions)
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
        first: The smallest count considered for each; it may be below zero, with probability 0.
        chance: P(released | first + k) along a last axis.
        kind: The index of each cell's distribution, where it depends on the cell.
    """

    released: Counts
    first: Counts
    chance: Floats
    kind: Counts | None = None

    @property
    def counts(self) -> Counts:
        """The considered counts, in the shape of `chance`."""
        return self.first[..., None] + np.arange(self.chance.shape[-1])

    def take(self, index: Counts) -> Self:
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
            lowest, highest = zip(*(distribution.reach for distribution in noise.distributions), strict=True)
            _refuse_wide(min(lowest), max(highest), WIDEST)
            distributions = [Distribution(*each.distribution()) for each in noise.distributions]
        else:
            distributions = [Distribution(*noise.distributions[0].distribution()).trim(CUT)]
            _refuse_wide(distributions[0].first, distributions[0].last, WIDEST_ROW)
        self.lowest = min(distribution.first for distribution in distributions)
        self.highest = max(distribution.last for distribution in distributions)
        #: One row per distribution: the probability of each noise value from `lowest` to `highest`.
        self.distributions = np.zeros((len(distributions), self.highest - self.lowest + 1))
        for line, each in zip(self.distributions, distributions, strict=True):
            line[each.first - self.lowest : each.last - self.lowest + 1] = each.chances

    def distribution_index(self, counts: Counts) -> Counts:
        """The row of `distributions` for each count; negative counts have that of zero."""
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
        counts = first[:, None] + np.arange(self.distributions.shape[1])
        at = np.arange(counts.shape[1])[::-1]
        chance = np.where(counts >= 0, self.distributions[self.distribution_index(counts), at], 0)
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


def whole_numbers(values: ArrayLike) -> Counts:
    """Released counts as integers."""
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
        distribution: Probabilities of the values that remain; they add up to 1 minus the truncated part.
        error: A bound on the total variation between this and the true distribution.
    """

    distribution: Distribution
    mean: float
    variance: float
    error: float

    @classmethod
    def of(cls, noise: IntegerDistribution) -> Self:
        """Truncate a distribution.

        >>> from discreet.noise import laplace
        >>> from discreet.noise.cell_distribution import SumDistribution
        >>> wide = SumDistribution(laplace(epsilon=0.5, modulus=2**64).rows[0], 1)
        >>> (wide.row.values[-1], TruncatedDistribution.of(wide).distribution.last)
        (85, 55)
        """
        distribution = Distribution(*noise.distribution()).trim(CUT)
        return cls(distribution, float(noise.mean), float(noise.variance), CUT + noise.error)


@dataclass(frozen=True, slots=True, eq=False)
class NoiseByCell:
    """The noise distributions of a table's cells; they do not depend on the count."""

    distributions: tuple[TruncatedDistribution, ...]
    kind: Counts

    @classmethod
    def of(cls, noise: Sequence[CellDistribution], kind: Counts) -> Self:
        """From distributions that do not depend on the count, and the index of each cell's."""
        if kind.size and not (kind.min() >= 0 and kind.max() < len(noise)):
            raise BadRequest("A cell has a law that is not there.", f"Number the {len(noise)} laws from 0.")
        return cls(tuple(map(_truncate, noise)), kind.astype(np.int64))

    def without(self, cells: NDArray[np.bool_]) -> Self:
        if not cells.any():
            return self
        kind = np.where(cells, len(self.distributions), self.kind)
        return type(self)((*self.distributions, _truncate(NO_NOISE)), kind)

    @property
    def spread(self) -> float:
        """The largest standard deviation of the noise of a cell."""
        return sqrt(max(self.distributions[kind].variance for kind in np.unique(self.kind)))

    @property
    def width(self) -> int:
        """The number of values of the widest distribution."""
        return max(len(self.distributions[kind].distribution.chances) for kind in np.unique(self.kind))

    def moments(self) -> tuple[Floats, Floats]:
        """The mean and the variance of each cell's noise."""
        means, variances = np.array([(kept.mean, kept.variance) for kept in self.distributions]).T
        return means[self.kind], variances[self.kind]

    def draw(self, tables: int, rng: np.random.Generator) -> Counts:
        """Noise with fresh random keys for a number of tables."""
        noise = np.zeros((tables, *self.kind.shape), dtype=np.int64)
        for place, kept in enumerate(self.distributions):
            here = self.kind == place
            below = np.cumsum(kept.distribution.chances)
            chosen = rng.random((tables, int(here.sum()))) * below[-1]
            noise[:, here] = kept.distribution.first + np.searchsorted(below, chosen, "right")
        return noise

    def evidence(self, released: Counts) -> Evidence:
        """The likelihood of released tables, for every possible count."""
        cells = whole_numbers(released)
        kind = np.broadcast_to(self.kind, cells.shape)
        first = np.maximum(cells - np.array([kept.distribution.last for kept in self.distributions])[kind], 0)
        chance = np.zeros((*cells.shape, self.width))
        for place, kept in enumerate(self.distributions):
            here = kind == place
            noise = (cells - first)[here][:, None] - np.arange(self.width) - kept.distribution.first
            inside = (noise >= 0) & (noise < len(kept.distribution.chances))
            chance[here] = np.where(inside, kept.distribution.chances[np.where(inside, noise, 0)], 0.0)
        refuse_impossible(cells, np.asarray(chance.any(axis=-1)))
        return Evidence(cells, first, chance, kind)

    def __repr__(self) -> str:
        return one_line(self, f"of {self.kind.size:,} cells with {len(self.distributions)} laws")


def refuse_impossible(cells: Counts, possible: NDArray[np.bool_]) -> None:
    """Refuse released counts that have no possible true count."""
    if not possible.all():
        raise BadRequest(
            f"The count {cells[~possible][0]} is released with a probability below {CUT:g}.",
            "Give the counts as released, and the laws that belong to their cells.",
        )


def noise_of_cells(
    distribution: NoiseDistribution, inner: tuple[NDArray[np.intp], ...]
) -> NoiseTable | NoiseByCell:
    """The noise of some cells of a release: their one noise table, or the distribution of each."""
    found, kind = np.unique(distribution.kind[inner], return_inverse=True)
    distributions = [distribution.distributions[each] for each in found.tolist()]
    shape = distribution.kind[inner].shape
    if len(distributions) == 1:
        return by_cell(distributions[0], shape)
    return NoiseByCell.of(distributions, kind.reshape(shape))


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
    return TruncatedDistribution.of(noise.distributions[0])


#: The maximum number of cells of a tested table.
MOST_CELLS = 50_000
#: Why counts of a sample with clusters or unequal chances are not tested, and what is.
COUNTS_OF_A_DESIGN = (
    message(
        "Records of this survey are not drawn one by one with equal chances, so its counts have no test."
    ),
    message("Ask for the measure weighted (--measure weighted): its test allows for the design."),
)


@dataclass(frozen=True, slots=True)
class ObservedTable:
    """Released counts of the inner cells, their noise, and which of them can occur.

    Rounded, clipped or fitted values never enter. Totals and coarser levels are left out because they repeat the cells.
    """

    counts: Counts
    noise: NoiseTable | NoiseByCell
    possible: NDArray[np.bool_]

    @property
    def batch(self) -> Counts:
        """The counts as a batch of one table; impossible cells hold 0."""
        return np.where(self.possible, self.counts, 0)[None]


def observe(table: Release | ArrayLike, noise: CellDistribution | NoiseByCell | None = None) -> ObservedTable:
    """The released counts of a table and their noise.

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
            message("Ask for the measure count.")
            if not release.measure.has_errors
            else message("Test the weighted table for independence: the result has its Cramér's V."),
        )
    survey = release.dataset.survey
    if survey is not None and not survey.simple:
        raise BadRequest(*COUNTS_OF_A_DESIGN)
    inner = np.ix_(*(dimension.leaves for dimension in release.dimensions))
    status = release.status[inner]
    if (status == WITHHELD).any():
        raise BadRequest(
            message("Some cells of the table are withheld."),
            message("Choose categories of which every cell is released."),
        )
    possible = status != NOT_APPLICABLE
    possible &= ~release.distribution.impossible[inner]
    return _check_table(
        ObservedTable(release.noisy[inner], noise_of_cells(release.distribution.for_tests(), inner), possible)
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


@dataclass(frozen=True, slots=True)
class Prior:
    """A prior of a count: its name, and log weights up to a constant."""

    name: str
    log_weight: Callable[[Floats], Floats]


def flat() -> Prior:
    """Every count from 0 on is equally likely."""
    return Prior("flat on 0, 1, 2, ...", lambda n: np.zeros(n.shape))


def poisson_prior(mean: float) -> Prior:
    """A Poisson count of known mean."""
    if not mean > 0:
        raise BadRequest(f"The mean of the prior is {mean}.", "It must be above 0.")
    return Prior(f"Poisson with mean {mean:g}", lambda n: np.asarray(xlogy(n, mean) - gammaln(n + 1)))


def negative_binomial_prior(mean: float, shape: float) -> Prior:
    """A Poisson count whose mean is itself uncertain: gamma with this mean and shape."""
    if not (mean > 0 and shape > 0):
        raise BadRequest(f"The mean is {mean} and the shape {shape}.", "Both must be above 0.")
    share = mean / (mean + shape)
    return Prior(
        f"negative binomial with mean {mean:g} and shape {shape:g}",
        lambda n: np.asarray(gammaln(n + shape) - gammaln(n + 1) + n * np.log(share)),
    )


@dataclass(frozen=True, slots=True)
class Posterior:
    """Posterior probabilities of the true counts."""

    counts: Counts
    chances: Floats
    prior: str

    @property
    def mean(self) -> float:
        return float(self.chances @ self.counts)

    @property
    def variance(self) -> float:
        return float(self.chances @ (self.counts - self.mean) ** 2)

    @property
    def mode(self) -> int:
        return int(self.counts[self.chances.argmax()])

    def chance_of(self, low: int, high: int | None = None) -> float:
        """The probability that the true count is from `low` to `high`, or is `low`."""
        top = low if high is None else high
        return float(self.chances[(self.counts >= low) & (self.counts <= top)].sum())

    def interval(self, level: float = 0.95) -> tuple[int, int]:
        """The shortest range of counts with at least this probability."""
        if not 0 < level < 1:
            raise BadRequest(f"The level is {level}.", "It lies between 0 and 1, as in 0.95.")
        below = np.append(0.0, np.cumsum(self.chances))
        ends = np.searchsorted(below, below[:-1] + level - 1e-12)
        starts = np.flatnonzero(ends <= len(self.counts))
        reach = self.counts[ends[starts] - 1] - self.counts[starts]
        best = starts[reach.argmin()]
        return int(self.counts[best]), int(self.counts[ends[best] - 1])

    def __repr__(self) -> str:
        return one_line(self, f"of {self.counts.size:,} counts, prior {self.prior}")


def posterior(released: int, noise: CellDistribution, prior: Prior | None = None) -> Posterior:
    """The posterior of the true count for one released count.

    The noise is a noise table, or `release.distribution.at(...)`. The prior is flat by default.

    Raises:
        BadRequest: The prior rules out every possible count.

    >>> from discreet.noise import maxent
    >>> found = posterior(0, maxent(D=2, V=1, js=0))
    >>> found.counts.tolist(), found.mode
    ([0, 1, 2], 0)
    """
    chosen = prior or flat()
    if depends_on_count(noise):
        evidence = channel_of(noise).evidence([released])
        counts, chances = evidence.counts[0], evidence.chance[0]
    else:  # without truncation
        first, chances = noise.distributions[0].distribution()
        counts = released - first - np.arange(len(chances))
        counts, chances = counts[::-1], chances[::-1]
    kept = (counts >= 0) & (chances > 0)
    if not kept.any():
        raise BadRequest(
            f"The count {released} cannot be released with this noise.", "Give the law that belongs to it."
        )
    counts, chances = counts[kept], chances[kept]
    logs = np.log(chances) + chosen.log_weight(counts.astype(np.float64))
    top = logs.max()
    if not np.isfinite(top):
        raise BadRequest(
            f"The prior ({chosen.name}) rules out every count behind {released}.", "Choose a wider one."
        )
    weights = np.exp(logs - top)
    return Posterior(counts, weights / weights.sum(), chosen.name)
