"""The posterior distribution of a true count, from a released count and a stated prior.

    P(n | x) = prior(n) P(x | n) / sum over m of prior(m) P(x | m)

Noise is bounded, so the sum is finite and the posterior is exact for any prior, the flat one included.
Source: Bayes' theorem; Charest (2010) for noise of this kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from discreet.errors import BadRequest
from discreet.inference.channel import channel_of
from discreet.model.messages.text import one_line
from discreet.model.noise_distribution import CellDistribution, depends_on_count


@dataclass(frozen=True, slots=True)
class Prior:
    """A prior of a count: its name, and log weights up to a constant."""

    name: str
    log_weight: Callable[[NDArray[np.float64]], NDArray[np.float64]]


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
    """Posterior probabilities of the true counts.

    Args:
        counts: The possible counts.
        chances: Their probabilities, which add up to 1.
        prior: The name of the prior.
    """

    counts: NDArray[np.int64]
    chances: NDArray[np.float64]
    prior: str

    @property
    def mean(self) -> float:
        """The mean of the true count."""
        return float(self.chances @ self.counts)

    @property
    def variance(self) -> float:
        """Its variance."""
        return float(self.chances @ (self.counts - self.mean) ** 2)

    @property
    def mode(self) -> int:
        """The most likely count."""
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

    Args:
        released: The released count.
        noise: The distribution of the cell's noise: a noise table, or `release.law.at(...)`.
        prior: The prior; flat by default.

    Raises:
        BadRequest: The prior rules out every possible count.

    >>> from discreet.noise import maxent
    >>> found = posterior(0, maxent(D=2, V=1, js=0))
    >>> found.counts.tolist(), found.mode
    ([0, 1, 2], 0)
    """
    chosen = prior or flat()
    counts, chances = _behind(released, noise)
    logs = np.log(chances) + chosen.log_weight(counts.astype(np.float64))
    top = logs.max()
    if not np.isfinite(top):
        raise BadRequest(
            f"The prior ({chosen.name}) rules out every count behind {released}.", "Choose a wider one."
        )
    weights = np.exp(logs - top)
    return Posterior(counts, weights / weights.sum(), chosen.name)


def _behind(released: int, noise: CellDistribution) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The possible counts and P(released | count) of each, without truncation."""
    if depends_on_count(noise):
        evidence = channel_of(noise).evidence([released])
        possible = evidence.chance[0] > 0
        return evidence.counts[0][possible], evidence.chance[0][possible]
    first, chances = noise.laws[0].law()
    counts = released - first - np.arange(len(chances))
    kept = np.flatnonzero((counts >= 0) & (chances > 0))[::-1]
    if not len(kept):
        raise BadRequest(
            f"The count {released} cannot be released with this noise.", "Give the law that belongs to it."
        )
    return counts[kept], chances[kept]
