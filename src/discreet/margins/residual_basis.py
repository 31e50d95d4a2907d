"""The Gaussian optimum: noise on each margin's own part, as much as makes the wanted errors least.

Every S of the closure is measured as its centred table r_S = ⊗(I - J/k_j) f_S with noise of covariance
σ_S² ⊗(I - J/k_j). A person moves r_S by a vector of squared length Π_{j∈S}(1 - 1/k_j), so all together cost
μ² = Σ_S C_S / σ_S² with C_S = Π(1 - 1/k_j), exactly. For weights A_S = Σ_α weight_α · (share of S in α),

    minimise Σ A_S σ_S²  subject to  Σ C_S/σ_S² = μ²:    σ_S² = √(C_S/A_S) · Σ_S' √(A_S' C_S') / μ².

That minimises weighted variances. The mean absolute error is Σ weight_α · √(variance_α), convex in 1/σ²;
putting weight_α/(2 sd_α) in place of weight_α and solving again descends to its optimum.

Integers: the counts of S times a grid g get integer noise, and only the centred result is kept: integers first
lose what centring removes, and floats come after. The integers
could still tell something about what centring removes; that is bounded by `lattice_loss`, and g is chosen
so that it stays below 1e-12 in ε for everything together.

Source: the residual basis and its optimality: Xiao, He, Zhang & Kifer (2023, ResidualPlanner); derived here
from the Efron-Stein decomposition. Micciancio & Regev (2007) for the smoothing of lattices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from discreet.margins.closure import Axes, MarginSet, closure_tables
from discreet.margins.covariance import Covariance, kept_share, variance_shares
from discreet.margins.efron_stein import centred, sum_of_parts
from discreet.margins.importance import margin_weights
from discreet.margins.integer_noise import gaussian_noise
from discreet.margins.reserve import LATTICE_LOSS, fine_grid, gaussian_reserve
from discreet.margins.sensitivity import changes_by_difference, require_neighbours
from discreet.privacy.gaussian import gaussian_mu, require_budget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from discreet.margins.integer_noise import NoiseSource

_ROUNDS = 60
_ADVERSARY_ROUNDS = 200
_ALL_REPLACEMENTS = 10


@dataclass(frozen=True, eq=False)
class GaussianOptimum:
    """A plan: the noise of every centred part.

    Args:
        wanted: The margins that are released.
        epsilon: With `delta`, what the plan promises.
        delta: See `epsilon`.
        neighbours: The relation for which it promises it.
        mu: The Gaussian trade-off that all measurements together have.
        sigma: The standard deviation σ_S of every part; zero is a public total (replace-one only).
    """

    wanted: MarginSet
    epsilon: float
    delta: float
    neighbours: str
    mu: float
    sigma: Mapping[Axes, float]

    @property
    def coefficients(self) -> int:
        """How many cells get noise."""
        return sum(self.wanted.cells(part) for part, sigma in self.sigma.items() if sigma > 0)

    @property
    def sensitivity(self) -> float:
        """How far one person moves all centred parts, in L2."""
        if self.neighbours == "add-remove":
            return math.sqrt(sum(kept_share(self.wanted, part) for part in self.wanted.closure))
        return math.sqrt(float(_replacement_costs(self.wanted).sum(axis=1).max()))

    @property
    def cut_delta(self) -> float:
        """What the cut of the noise tables adds to δ: nothing, it was set aside before μ was computed."""
        return 0.0

    @property
    def scales(self) -> dict[Axes, float]:
        """The standard deviation σ_S of each part."""
        return dict(self.sigma)

    def release(
        self, exact: Mapping[Axes, NDArray[np.int64]], source: NoiseSource
    ) -> dict[Axes, NDArray[np.float64]]:
        """The wanted margins, consistent and unbiased: integer noise on every part, then floats."""
        parts = {}
        for part, table in closure_tables(exact, self.wanted).items():
            sigma = self.sigma[part]
            noisy = table.astype(np.float64)
            if sigma > 0:
                noise = gaussian_noise(sigma, self.grid(part))
                drawn = noise.draw(source, "part " + self.wanted.label(part), table.size)
                noisy = _from_the_first(noise.grid * table + drawn.reshape(table.shape)) / noise.grid
            parts[part] = centred(noisy)
        return {margin: sum_of_parts(parts, self.wanted, margin) for margin in self.wanted.margins}

    def grid(self, part: Axes) -> int:
        """How many integer steps a count of a part is worth."""
        sigma, shape = self.sigma[part], self.wanted.margin_shape(part)
        grid = fine_grid(sigma, self.epsilon, self.mu)
        while lattice_loss(shape, grid * sigma) > LATTICE_LOSS / len(self.wanted.closure):
            grid += 1
        return grid

    def covariance(self) -> Covariance:
        """The second moments of everything that is released."""
        return Covariance(self.wanted, {part: sigma**2 for part, sigma in self.sigma.items()})

    def variance(self, margin: Axes) -> float:
        """The variance of any cell of a wanted margin."""
        return self.covariance().of_cell(margin)

    def expected_error(self, margin: Axes) -> float:
        """E|released - true| of any cell of a wanted margin: √(2/π) sd."""
        return math.sqrt(2 / math.pi * self.variance(margin))

    def half_width(self, margin: Axes, level: float = 0.95) -> float:
        """Half the width of an interval that holds the true count with probability `level`."""
        return float(ndtri((1 + level) / 2)) * math.sqrt(self.variance(margin))


def _from_the_first(whole: NDArray[np.int64]) -> NDArray[np.int64]:
    """Whole numbers as differences from the first along every axis: what centring removes is gone before any float.

    Centring them gives the same as centring the whole. Without this the last digits of floats, which depend on all
    of their argument, would tell something of what was not accounted for.

    >>> _from_the_first(np.array([[5, 7], [6, 9]])).tolist()
    [[0, 0], [0, 1]]
    """
    for axis in range(whole.ndim):
        whole = whole - whole.take([0], axis=axis)
    return whole


def gaussian_optimum(
    wanted: MarginSet,
    epsilon: float,
    delta: float,
    *,
    neighbours: str = "add-remove",
    weights: str | Mapping[Axes, float] = "cells",
) -> GaussianOptimum:
    """The plan with the least weighted mean absolute error at (ε, δ).

    >>> wanted = MarginSet(("A", "B", "C"), (3, 4, 5), ((0, 1), (0, 2), (1, 2)))
    >>> plan = gaussian_optimum(wanted, 1.0, 1e-6)
    >>> round(plan.expected_error((0, 1)), 2)
    5.5
    """
    require_budget(epsilon, delta)
    require_neighbours(neighbours)
    noises = sum(wanted.cells(part) for part in wanted.closure)
    mu = gaussian_mu(epsilon, gaussian_reserve(epsilon, delta, noises))
    shares, weight = variance_shares(wanted), margin_weights(wanted, weights)
    solve = _add_remove_solver(wanted) if neighbours == "add-remove" else _replace_one_solver(wanted)
    variances = _least_absolute_error(solve, shares, weight) / mu**2
    sigma = dict(zip(wanted.closure, np.sqrt(variances).tolist(), strict=True))
    return GaussianOptimum(wanted, epsilon, delta, neighbours, mu, sigma)


def _least_absolute_error(
    solve: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    shares: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """σ² at μ = 1 by iterated weights: √ is concave, so each step lowers Σ weight·sd."""
    current, before = weight, math.inf
    variances = solve(current @ shares)
    for _ in range(_ROUNDS):
        sd = np.sqrt(shares @ variances)
        now = float(weight @ sd)
        if now > before * (1 - 1e-9):
            break
        before, current = now, weight / (2 * sd)
        variances = solve(current @ shares)
    return variances


def _add_remove_solver(wanted: MarginSet) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    cost = np.array([kept_share(wanted, part) for part in wanted.closure])
    return lambda gain: np.sqrt(cost / gain) * np.sqrt(cost * gain).sum()


def _replace_one_solver(wanted: MarginSet) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """The same against every replacement: weights on the sets D of differing variables find the worst mix.

    The total never changes when one person replaces another, so it gets no noise: σ² = 0.
    """
    costs = _replacement_costs(wanted)
    rows = costs if len(wanted.shape) <= _ALL_REPLACEMENTS else costs[_likely_worst(len(wanted.shape))]

    def solve(gain: NDArray[np.float64]) -> NDArray[np.float64]:
        adversary = np.full(len(rows), 1 / len(rows))
        variances = np.zeros(len(gain))
        for _ in range(_ADVERSARY_ROUNDS):
            cost = adversary @ rows
            variances[1:] = np.sqrt(cost[1:] / gain[1:])
            adversary = adversary * (rows[:, 1:] @ (1 / variances[1:]))
            adversary /= adversary.sum()
        return variances * float((costs[:, 1:] @ (1 / variances[1:])).max())

    return solve


def _likely_worst(variables: int) -> list[int]:
    """Rows of `_replacement_costs` to weigh among too many: one variable differs, all but one, or all."""
    everything = 2**variables - 1
    return [d - 1 for j in range(variables) for d in (1 << j, everything ^ (1 << j))] + [everything - 1]


def _replacement_costs(wanted: MarginSet) -> NDArray[np.float64]:
    """Row D (a non-empty set of differing variables), column S: ‖r_S(x) - r_S(y)‖².

    It is 2 [Π_S (1 - 1/k_j) - Π_{S∖D} (1 - 1/k_j) Π_{S∩D} (-1/k_j)].
    """
    columns = [changes_by_difference(wanted, part, _change(wanted, part)) for part in wanted.closure]
    return np.stack(columns, axis=1)[1:]


def _change(wanted: MarginSet, part: Axes) -> NDArray[np.float64]:
    """‖r_S(x) - r_S(y)‖² for each pattern of differing variables within S."""
    shape = wanted.margin_shape(part)
    same = math.prod(1 - 1 / k for k in shape)
    inner = [
        math.prod(-1 / k if pattern >> i & 1 else 1 - 1 / k for i, k in enumerate(shape))
        for pattern in range(2 ** len(part))
    ]
    return 2 * (same - np.array(inner))


def lattice_loss(shape: tuple[int, ...], spread: float) -> float:
    """What integer noise of standard deviation `spread` may add to ε when only the centred table is kept.

    Centring along an axis of length k forgets multiples of the all-ones line, a lattice of spacing √k; seen
    through noise of spread s its cosets weigh the same up to a factor (1 ± e), where for N such lines

        e ≤ (1 + 2 Σ_{i≥1} e^(-2π² s² i²/k))^N - 1.

    Each axis adds log((1+e)/(1-e)).

    >>> lattice_loss((21, 12), 15.0) < 1e-80, lattice_loss((1000,), 15.0) > 0.04
    (True, True)
    """
    loss = 0.0
    for k in shape:
        fall = math.exp(-2 * (math.pi * spread) ** 2 / k)
        lines = math.prod(shape) // k
        uneven = math.expm1(min(lines * math.log1p(2 * fall / (1 - fall)), 1.0)) if fall < 1 else 1.0
        if uneven >= 1:
            return math.inf
        loss += 2 * math.atanh(uneven)
    return loss
