"""Cramer's V of a released two-way table, corrected for the noise.

V = sqrt(X2 / (n min(r-1, c-1))) with Pearson's X2. Noise of variance s2(k, l) in the cells adds to X2, on average,

    sum over i, j of  Var(d(i, j)) / m(i, j),
    d(i, j) = e(i, j) - q(j) e(i, .) - p(i) e(., j) + p(i) q(j) e(., .),   m(i, j) = n p(i) q(j),

with p and q the shares of rows and columns. The corrected V subtracts it, and the known bias of the noise from the counts;
it estimates the V of the exact table.
Source: Cramer (1946); the correction is the first-order expansion of X2 in the noise.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import BadRequest
from discreet.inference.channel import Floats, NoiseByCell, by_cell, channel_of, observe
from discreet.model.noise_distribution import CellDistribution
from discreet.model.release import Release


@dataclass(frozen=True, slots=True)
class CramersV:
    """Cramer's V.

    Args:
        estimate: Corrected for the noise; never below 0.
        naive: As if the released counts were exact.
        noise_part: The expected part of the naive X2 that is noise.
    """

    estimate: float
    naive: float
    noise_part: float

    def document(self) -> dict[str, float]:
        return {"corrected": self.estimate, "naive": self.naive, "noise_part": self.noise_part}

    @property
    def why(self) -> str:
        return (
            f"Noise makes any table look associated: here it is expected to add {self.noise_part:.1f} to the "
            f"chi-square statistic, which lifts V from {self.estimate:.3f} to {self.naive:.3f}."
        )


def cramers_v(table: Release | ArrayLike, noise: CellDistribution | NoiseByCell | None = None) -> CramersV:
    """Cramer's V of a two-way table, corrected for the noise.

    Args:
        table: A release of two variables, or a matrix of released counts without totals.
        noise: The noise table of a matrix, or the noise of its cells.

    Raises:
        BadRequest: The table is not a complete two-way table with people in it.

    >>> from discreet.noise import laplace
    >>> found = cramers_v([[60, 40], [45, 55]], laplace(epsilon=0.5, m=7))
    >>> round(found.naive, 3), found.estimate < found.naive
    (0.15, True)
    """
    seen = observe(table, noise)
    if seen.counts.ndim != 2 or min(seen.counts.shape) < 2 or not seen.possible.all():
        raise BadRequest(
            "Cramer's V needs two variables with at least two categories each, all of whose pairs can occur.",
            "Choose one variable for the rows and one for the columns.",
        )
    clipped = np.maximum(seen.counts, 0).astype(np.float64)
    naive_counts = np.asarray(clipped[clipped.sum(axis=1) > 0][:, clipped.sum(axis=0) > 0])
    mean, variance = _noise_moments(seen.counts, seen.noise)
    counts = seen.counts - mean
    rows, columns = _positive(counts)
    inner = np.ix_(rows, columns)
    if min(rows.sum(), columns.sum()) < 2 or min(naive_counts.shape) < 2:
        raise BadRequest(
            "Fewer than two rows or columns have released people in them.", "Group the categories."
        )
    part = _noise_part(counts[inner], variance[inner])
    clean = max(_pearson(counts[inner]) - part, 0.0)
    return CramersV(
        _v(clean, counts[inner].sum(), counts[inner].shape),
        _v(_pearson(naive_counts), naive_counts.sum(), naive_counts.shape),
        part,
    )


def _positive(counts: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The rows and columns with people, after leaving out the others: leaving out a row can empty a column."""
    rows, columns = (np.ones(length, dtype=np.bool_) for length in counts.shape)
    while True:
        left = np.where(rows[:, None] & columns, counts, 0.0)
        kept = rows & (left.sum(axis=1) > 0), columns & (left.sum(axis=0) > 0)
        if (kept[0] == rows).all() and (kept[1] == columns).all():
            return rows, columns
        rows, columns = kept


def strength(
    table: Release | ArrayLike, noise: CellDistribution | NoiseByCell | None = None
) -> CramersV | None:
    """Cramer's V, or None where it is undefined: impossible pairs, or fewer than two rows with people.

    >>> from discreet.noise import laplace
    >>> strength([[60, 40], [0, 0]], laplace(epsilon=0.5, m=1)) is None
    True
    """
    try:
        return cramers_v(table, noise)
    except BadRequest:
        return None


def _pearson(counts: Floats) -> float:
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    return float(((counts - expected) ** 2 / expected).sum())


def _v(statistic: float, people: float, shape: tuple[int, ...]) -> float:
    return min(1.0, sqrt(statistic / (people * (min(shape) - 1))))


def _noise_moments(counts: NDArray[np.int64], noise: CellDistribution | NoiseByCell) -> tuple[Floats, Floats]:
    """Mean and variance of each cell's noise, averaged over the possible rows (flat prior)."""
    noise = by_cell(noise, counts.shape)
    if isinstance(noise, NoiseByCell):
        return noise.moments()
    channel = channel_of(noise)
    values = channel.lowest + np.arange(channel.distributions.shape[1])
    means = channel.distributions @ values
    variances = channel.distributions @ values.astype(np.float64) ** 2 - means**2
    evidence = channel.evidence(counts)
    weights = evidence.chance / evidence.chance.sum(axis=-1, keepdims=True)
    index = channel.distribution_index(evidence.counts)
    return (weights * means[index]).sum(axis=-1), (weights * variances[index]).sum(axis=-1)


def _noise_part(counts: Floats, variance: Floats) -> float:
    """The expected contribution to X2 of noise of these variances."""
    total = counts.sum()
    p, q = counts.sum(axis=1, keepdims=True) / total, counts.sum(axis=0, keepdims=True) / total
    by_row, by_column = variance.sum(axis=1, keepdims=True), variance.sum(axis=0, keepdims=True)
    # Var of d(i, j): the coefficient of e(k, l) is ([k = i] - p(i)) ([l = j] - q(j)).
    spread = (
        (1 - 2 * p) * (1 - 2 * q) * variance
        + (1 - 2 * p) * q**2 * by_row
        + (1 - 2 * q) * p**2 * by_column
        + p**2 * q**2 * variance.sum()
    )
    return float((spread / (total * p * q)).sum())
