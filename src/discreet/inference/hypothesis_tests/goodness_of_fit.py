"""Goodness of fit on released counts: one proportion, exactly; and a given distribution over categories.

Of N people, N public, a have a property; x = a + noise is released:

    L(p) = sum over n of  Binomial(n; N, p) P(x | n),   T(x) = 2 log(max L / L(p0)).

T depends on x only, so enumerating every x gives the exact p-value, size and power. A given distribution over categories is
a log-linear model with the distribution as offset.
Source: Rinott et al. (2018), section 6.2 and Figure 4. The paper's critical values are from 500 draws; for N = 80,
epsilon 0.5, m = 5 the exact power at its c = 3.36 is .936.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, logsumexp, xlog1py, xlogy

from discreet.errors import BadRequest
from discreet.inference.channel import COUNTS_OF_A_DESIGN, Evidence, Floats, NoiseByCell, channel_of
from discreet.inference.confidence_intervals.picked_cells import cell_place
from discreet.inference.hypothesis_tests.independence import possible_cells, run_on_table
from discreet.inference.hypothesis_tests.likelihood import highest_point
from discreet.inference.hypothesis_tests.likelihood_ratio import (
    LikelihoodRatio,
    NaiveTest,
    chi_square,
    spread_of,
)
from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel
from discreet.inference.hypothesis_tests.p_value import REPLICATES, SEED
from discreet.model.noise_distribution import CellDistribution
from discreet.model.release import Release

#: Binomial counts farther than this many standard deviations are left out; their probability is below 1e-15.
_DEVIATIONS = 9.0
_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class ProportionTest:
    """The exact test of one proportion.

    Args:
        people: N, which is public.
        hypothesis: The proportion p0 of the hypothesis.
    """

    people: int
    noise: CellDistribution
    hypothesis: float

    def __post_init__(self) -> None:
        if self.people < 1:
            raise BadRequest(f"{self.people} people.", "Give the public number of people, at least 1.")
        if not 0 < self.hypothesis < 1:
            raise BadRequest(
                f"The proportion is {self.hypothesis}.", "It lies between 0 and 1, both left out."
            )

    def statistic(self, released: ArrayLike) -> Floats:
        """T(x) of released numbers."""
        evidence = channel_of(self.noise).evidence(np.atleast_1d(released))
        null = self._log_likelihood(evidence, np.full(len(evidence.released), self.hypothesis))
        zeros = np.zeros(len(null))
        _, top = highest_point(lambda p: self._log_likelihood(evidence, p), zeros, zeros + 1)
        return np.maximum(2 * (top - null), 0.0)

    def distribution(self, proportion: float) -> tuple[NDArray[np.int64], Floats]:
        """The relevant released numbers and their probabilities under this proportion."""
        middle = self.people * proportion
        reach = _DEVIATIONS * np.sqrt(self.people * proportion * (1 - proportion)) + 20
        low, high = max(0, int(middle - reach)), min(self.people, int(middle + reach) + 1)
        counts = np.arange(low, high + 1)
        chance = np.exp(_log_binomial(counts, self.people, np.array(proportion)))
        channel = channel_of(self.noise)
        released = np.zeros(high - low + channel.distributions.shape[1])
        index = channel.distribution_index(counts)
        for place in range(channel.distributions.shape[1]):
            released[place : place + len(counts)] += chance * channel.distributions[index, place]
        values = np.arange(low + channel.lowest, high + channel.highest + 1)
        return values[released > 0], released[released > 0]

    def rejection(self, critical: float, proportion: float | None = None) -> float:
        """P(T >= critical): the size, or the power at another proportion."""
        values, chance = self.distribution(self.hypothesis if proportion is None else proportion)
        return float(chance[self.statistic(values) >= critical - _TIE].sum())

    def critical_value(self, level: float = 0.05) -> float:
        """The smallest c that T exceeds with a probability of at most the level."""
        values, chance = self.distribution(self.hypothesis)
        atoms, place = np.unique(self.statistic(values).round(9), return_inverse=True)
        above = 1 - np.cumsum(np.bincount(place, weights=chance))
        return float(atoms[np.flatnonzero(above <= level + 1e-12)[0]])

    def p_value(self, released: int) -> float:
        """The probability under the hypothesis of a T at least as large as that of the released number."""
        return min(1.0, self.rejection(float(self.statistic([released])[0])))

    def _log_likelihood(self, evidence: Evidence, p: Floats) -> Floats:
        counts = evidence.counts
        inside = (counts >= 0) & (counts <= self.people) & (evidence.chance > 0)
        terms = _log_binomial(np.clip(counts, 0, self.people), self.people, p[:, None])
        with np.errstate(divide="ignore"):
            logs = np.log(np.where(inside, evidence.chance, 0.0)) + terms
        if (~np.isfinite(logs).any(axis=1) & (p > 0) & (p < 1)).any():
            raise BadRequest(
                f"A released number is impossible for {self.people} people.", "Check the number of people."
            )
        return np.asarray(logsumexp(logs, axis=1))


def _log_binomial(counts: NDArray[np.int64], people: int, p: Floats) -> Floats:
    ways = gammaln(people + 1) - gammaln(counts + 1.0) - gammaln(people - counts + 1.0)
    return np.asarray(ways + xlogy(counts, p) + xlog1py(people - counts, -p))


def proportion_test(
    released: int, people: int, hypothesis: float, noise: CellDistribution
) -> LikelihoodRatio:
    """Test whether a proportion of N people is p0, exactly.

    Args:
        released: The released number of people with the property.
        people: N, which is public.
        hypothesis: p0.
        noise: The noise table of the released number, or the distribution of its noise.

    >>> from discreet.noise import laplace
    >>> proportion_test(48, 80, 0.5, laplace(epsilon=0.5, m=5)).method
    'exact'
    """
    test = ProportionTest(people, noise, hypothesis)
    seen = np.clip(released, 0, people)
    yes, no = xlogy(seen, seen / (people * hypothesis)), people - seen
    naive = float(2 * (yes + xlogy(no, no / (people * (1 - hypothesis)))))
    return LikelihoodRatio(
        hypothesis=f"the proportion is {hypothesis:g}",
        statistic=float(test.statistic([released])[0]),
        df=1,
        p_value=test.p_value(released),
        naive=NaiveTest(naive, 1, float(chi_square(naive, 1))),
        model="binomial",
        method="exact",
        converged=True,
        spread=spread_of(noise),
    )


def cell_proportion_test(
    release: Release, codes: Sequence[str], people: int, hypothesis: float
) -> LikelihoodRatio:
    """Test whether the people of a released cell are a given share of a public number of people.

    Args:
        release: A table of counts.
        codes: The cell, by its codes in the order of the dimensions.
        people: N, which is public.
        hypothesis: The share p0.
    """
    if not release.measure.is_count:
        raise BadRequest("A proportion is tested on counts.", "Ask for the measure count.")
    survey = release.dataset.survey
    if survey is not None and not survey.simple:
        raise BadRequest(*COUNTS_OF_A_DESIGN)
    place = cell_place(release, codes)
    found = proportion_test(int(release.noisy[place]), people, hypothesis, release.distribution.at(*place))
    return replace(found, hypothesis=f"the proportion of ({', '.join(codes)}) is {hypothesis:g}")


def distribution_test(
    table: Release | ArrayLike,
    chances: ArrayLike,
    noise: CellDistribution | NoiseByCell | None = None,
    *,
    model: str = "poisson",
    total: int | None = None,
    method: str = "auto",
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> LikelihoodRatio:
    """Test whether the people of a table are distributed over its cells with given probabilities.

    The chances have the shape of the table, and are given up to a factor. The other arguments are those of
    `independence_test`.

    >>> from discreet.noise import laplace
    >>> distribution_test([105, 98, 99], [1, 1, 1], laplace(epsilon=1.0, m=8)).df
    2
    """
    possible = possible_cells(table, noise)
    offset = np.asarray(chances, dtype=np.float64)
    if offset.shape != possible.shape or not (offset >= 0).all() or not offset.sum() > 0:
        raise BadRequest("The chances do not fit the table.", "Give one for each cell, none below zero.")
    offset = np.where(possible, offset, 0.0) / offset.sum()
    return run_on_table(
        table, noise, HierarchicalModel.of([()], offset), "the cells have the given chances",
        model=model, total=total, method=method, replicates=replicates, seed=seed, given=True,
    )  # fmt: skip
