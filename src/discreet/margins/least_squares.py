"""Margins measured with independent noise, and combined by least squares in closed form.

Noise of variance v_T on every cell of T is for the centred part r_S, S ⊆ T, like noise of variance v_T Π_{j∈T∖S} k_j;
different parts are uncorrelated. So least squares is one weighted mean per part:

    r̂_S = Σ_{T ⊇ S} g_ST · centred(S-margin of noisy T),   g_ST ∝ 1 / (v_T Π_{j∈T∖S} k_j),
    σ_S² = 1 / Σ_{T ⊇ S} 1 / (v_T Π_{j∈T∖S} k_j).

A consistent set of margins is a sum of independent centred parts with covariance σ_S² ⊗_{j∈S}(I - J/k_j). Hence for cells
x of α and y of β

    Cov = Σ_{S ⊆ α∩β} σ_S² Π_{j∈S} (1[x_j = y_j] - 1/k_j) / (Π_{j∈α∖S} k_j · Π_{j∈β∖S} k_j),

and every cell of a margin has the same variance.

Equal splits: a person is in one cell of each of d margins. Laplace: each margin gets ε/d (replace-one: ε/2d). Gaussian: each
gets μ/√d (replace-one: μ/√(2d)).

Source: generalised least squares in the residual basis of Xiao, He, Zhang & Kifer (2023), Theorems 4 and 5; Dwork et al.
(2006) for independent noise.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet.margins.bases import centre, sum_of_parts
from discreet.margins.integer_noise import (
    PUBLIC,
    IntegerNoise,
    LaplaceSum,
    NoiseSource,
    fine_grid,
    gaussian_noise,
    gaussian_reserve,
    laplace_noise,
)
from discreet.margins.margin_set import Axes, MarginSet, closure_tables, margin_table, overall_error, subsets
from discreet.margins.sensitivity import require_neighbours
from discreet.privacy.composition import gaussian_mu, require_budget


def residual_norm(wanted: MarginSet, part: Axes) -> float:
    """Π_{j∈S} (1 - 1/k_j): the squared length of a centred unit vector."""
    return math.prod(1 - 1 / k for k in wanted.margin_shape(part))


def variance_shares(wanted: MarginSet) -> NDArray[np.float64]:
    """Row α, column S of the closure: the share of σ_S² in the variance of a cell of α."""
    shares = np.zeros((len(wanted.margins), len(wanted.closure)))
    place = {part: i for i, part in enumerate(wanted.closure)}
    for row, margin in enumerate(wanted.margins):
        for part in subsets(margin):
            shares[row, place[part]] = residual_norm(wanted, part) / wanted.rest(margin, part) ** 2
    return shares


@dataclass(frozen=True, slots=True)
class Covariance:
    """The second moments of a consistent set of noisy margins.

    Args:
        residual_variance: σ_S² of every S of the closure.

    >>> wanted = MarginSet(("A", "B"), (2, 2), ((0, 1),))
    >>> plain = Covariance(wanted, {(): 4.0, (0,): 2.0, (1,): 2.0, (0, 1): 1.0})  # variance 1 a cell
    >>> plain.of_cell((0, 1)), plain.between((0, 1), (0, 0), (0, 1), (0, 1))
    (1.0, 0.0)
    """

    wanted: MarginSet
    residual_variance: Mapping[Axes, float]

    def of_cell(self, margin: Axes) -> float:
        return sum(
            self.residual_variance[part]
            * residual_norm(self.wanted, part)
            / self.wanted.rest(margin, part) ** 2
            for part in subsets(margin)
        )

    def between(self, margin: Axes, cell: Sequence[int], other: Axes, other_cell: Sequence[int]) -> float:
        """The covariance of a cell of one margin with a cell of the same or another margin."""
        here, there = dict(zip(margin, cell, strict=True)), dict(zip(other, other_cell, strict=True))
        total = 0.0
        for part in subsets(tuple(j for j in margin if j in there)):
            agreement = math.prod((here[j] == there[j]) - 1 / self.wanted.shape[j] for j in part)
            joined = self.wanted.rest(margin, part) * self.wanted.rest(other, part)
            total += self.residual_variance[part] * agreement / joined
        return total


Law = Literal["laplace", "gaussian"]


@dataclass(frozen=True, eq=False)
class MeasuredMargins:
    """A plan: the integer noise of each measured margin, and whether the answers are made consistent.

    Args:
        noise: The noise of each measured margin of the closure; `PUBLIC` for a public total.
        epsilon: With `delta`, the guarantee of the plan.
        delta: Zero for Laplace noise.
        consistent: Whether least squares combines the measurements; otherwise the measured margins are released.
    """

    wanted: MarginSet
    noise: Mapping[Axes, IntegerNoise]
    distribution: Law
    epsilon: float
    delta: float
    neighbours: str
    consistent: bool = True

    @property
    def coefficients(self) -> int:
        """The number of cells with noise."""
        return sum(self.wanted.cells(margin) for margin, noise in self.noise.items() if noise != PUBLIC)

    @property
    def sensitivity(self) -> float:
        """The sensitivity of all measured cells: in L1 for Laplace, in L2 for Gaussian noise."""
        measured = sum(noise != PUBLIC for noise in self.noise.values())
        changed = measured * (1 if self.neighbours == "add-remove" else 2)
        return float(changed) if self.distribution == "laplace" else math.sqrt(changed)

    @property
    def cut_delta(self) -> float:
        """The addition to δ by the cut of the noise tables, at most; Gaussian noise has reserved it already."""
        if self.distribution == "gaussian":
            return 0.0
        each = (noise.cut * self.wanted.cells(margin) for margin, noise in self.noise.items())
        return (1 + math.exp(self.epsilon)) * sum(each)

    @property
    def scales(self) -> dict[Axes, float]:
        """The scale (Laplace) or standard deviation (Gaussian) of each measured margin's noise."""
        return {margin: noise.scale for margin, noise in self.noise.items()}

    def release(
        self, exact: Mapping[Axes, NDArray[np.int64]], source: NoiseSource
    ) -> dict[Axes, NDArray[np.float64]]:
        """The wanted margins with noise: integers first, then floats."""
        tables = closure_tables(exact, self.wanted)
        noisy = {
            margin: noise.add_to(tables[margin], source, "margin " + self.wanted.label(margin))
            for margin, noise in self.noise.items()
        }
        if not self.consistent:
            return {margin: noisy[margin] for margin in self.wanted.margins}
        parts = {part: self._part(part, noisy) for part in self.wanted.closure}
        return {margin: sum_of_parts(parts, self.wanted, margin) for margin in self.wanted.margins}

    def _part(self, part: Axes, noisy: Mapping[Axes, NDArray[np.float64]]) -> NDArray[np.float64]:
        total = np.zeros(self.wanted.margin_shape(part))
        for margin, share in self.shares(part).items():
            total += share * margin_table(noisy[margin], tuple(margin.index(j) for j in part))
        return centre(total)

    def shares(self, part: Axes) -> dict[Axes, float]:
        """g_ST: the weight of each measured margin in the estimate of a centred part."""
        known = [margin for margin in self.noise if set(part) <= set(margin)]
        exact = [margin for margin in known if self.noise[margin] == PUBLIC]
        if exact:
            return {exact[0]: 1.0}
        precision = {margin: self._precision(part, margin) for margin in known}
        return {margin: value / sum(precision.values()) for margin, value in precision.items()}

    def _precision(self, part: Axes, margin: Axes) -> float:
        variance = self.noise[margin].variance
        return 1 / (variance * self.wanted.rest(margin, part)) if variance else math.inf

    def covariance(self) -> Covariance:
        """The second moments of the consistent margins."""
        known = {
            part: [self._precision(part, margin) for margin in self.noise if set(part) <= set(margin)]
            for part in self.wanted.closure
        }
        return Covariance(self.wanted, {part: 1 / sum(values) for part, values in known.items()})

    def variance(self, margin: Axes) -> float:
        """The variance of any cell of a wanted margin."""
        return self.covariance().of_cell(margin) if self.consistent else self.noise[margin].variance

    def expected_error(self, margin: Axes) -> float:
        """E|released - true| of any cell of a wanted margin."""
        if not self.consistent:
            return self.noise[margin].mean_absolute
        if self.distribution == "gaussian":
            return math.sqrt(2 / math.pi * self.variance(margin))
        return self.error_distribution(margin).mean_absolute()

    def half_width(self, margin: Axes, level: float = 0.95) -> float:
        """Half the width of an interval that contains the true count with probability `level`."""
        if self.distribution == "gaussian":
            return float(ndtri((1 + level) / 2)) * math.sqrt(self.variance(margin))
        return self.error_distribution(margin).half_width(level)

    def error_distribution(self, margin: Axes) -> LaplaceSum:
        """The error distribution of a cell as a sum of Laplace noises, by which coordinates agree."""
        if not self.consistent:
            return LaplaceSum.of([(1.0, 1, self.noise[margin].scale)])
        shares = {part: self.shares(part) for part in subsets(margin)}
        terms = []
        for measured, noise in self.noise.items():
            common = tuple(j for j in margin if j in measured)
            for pattern in product((True, False), repeat=len(common)):
                agree = dict(zip(common, pattern, strict=True))
                others = math.prod(self.wanted.shape[j] - 1 for j in common if not agree[j])
                times = others * self.wanted.rest(measured, common)
                terms.append((self._weight(margin, measured, agree, shares), times, noise.scale))
        return LaplaceSum.of(terms)

    def _weight(
        self,
        margin: Axes,
        measured: Axes,
        agree: Mapping[int, bool],
        shares: Mapping[Axes, Mapping[Axes, float]],
    ) -> float:
        """The weight of a measured cell's noise in a released cell with which it agrees in some coordinates."""
        return sum(
            shares[part].get(measured, 0.0)
            * math.prod(agree[j] - 1 / self.wanted.shape[j] for j in part)
            / self.wanted.rest(margin, part)
            for part in subsets(tuple(agree))
        )


def independent(
    wanted: MarginSet,
    epsilon: float,
    delta: float = 0.0,
    *,
    neighbours: str = "add-remove",
    consistent: bool = False,
    distribution: Law | None = None,
) -> MeasuredMargins:
    """Equal noise on every wanted margin.

    With a δ the noise with the smaller error is taken: Laplace for few margins, Gaussian for many.

    >>> from discreet.margins.margin_set import MarginSet
    >>> wanted = MarginSet(("A", "B", "C"), (3, 4, 5), ((0, 1), (0, 2), (1, 2)))
    >>> round(independent(wanted, 1.0).expected_error((0, 1)), 3)
    2.945
    """
    require_budget(epsilon, delta)
    require_neighbours(neighbours)
    changes = len(wanted.margins) * (1 if neighbours == "add-remove" else 2)

    def plan(family: Law, noise: IntegerNoise, spent: float) -> MeasuredMargins:
        each = dict.fromkeys(wanted.margins, noise)
        return MeasuredMargins(wanted, each, family, epsilon, spent, neighbours, consistent)

    plans = []
    if distribution != "gaussian":
        plans.append(plan("laplace", laplace_noise(changes / epsilon), 0.0))
    if distribution == "gaussian" or (distribution is None and delta > 0):
        cells = sum(wanted.cells(margin) for margin in wanted.margins)
        mu = gaussian_mu(epsilon, gaussian_reserve(epsilon, delta, cells))
        sigma = math.sqrt(changes) / mu
        plans.append(plan("gaussian", gaussian_noise(sigma, fine_grid(sigma, epsilon, mu)), delta))
    return min(plans, key=overall_error)
