"""The optimum at a budget: the best of the Laplace and Gaussian optimum, never worse than equal splits.

Pure ε (δ = 0) allows Laplace noise only. With a δ Gaussian noise wins once a person is in several margins; for one or two
margins Laplace noise is often better. If the noise is below one count, integers that need not agree beat least squares,
whose answers are fractions; then independent noise is the optimum.

Gaussian: every S of the closure is measured as its centred table r_S = ⊗(I - J/k_j) f_S with noise of covariance
σ_S² ⊗(I - J/k_j). A person moves r_S by a vector of squared length C_S = Π_{j∈S}(1 - 1/k_j), so all together cost
μ² = Σ_S C_S / σ_S², exactly. For weights A_S = Σ_α weight_α · (share of S in α),

    minimise Σ A_S σ_S²  subject to  Σ C_S/σ_S² = μ²:    σ_S² = √(C_S/A_S) · Σ_S' √(A_S' C_S') / μ².

That minimises weighted variances. The mean absolute error is Σ weight_α · √(variance_α), convex in 1/σ²; solving again
with weight_α/(2 sd_α) descends to its optimum. Counts of S times a grid g get integer noise, and only the centred
result is released; g keeps the loss by the integer lattice (`centring_loss`) below 1e-12 in ε for everything together.

Laplace: measuring centred parts would be worse than independent noise, since a person changes every cell of a centred
table and L1 counts them all. So whole margins T of the closure are measured, each with ε_T, Σ ε_T = ε (replace-one:
2 Σ ε_T = ε, and the total is public), and Σ_α weight_α · √(variance of α after least squares) is minimised over the ε_T
by gradients; margins below `LEAST_SHARE` are not measured.

Source: the residual basis and its optimality: Xiao, He, Zhang & Kifer (2023, ResidualPlanner); Li, Hay, Rastogi, Miklau &
McGregor (2010) for the idea of a strategy.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import ndtri

from discreet.margins import integer_noise, least_squares
from discreet.margins.bases import centre, sum_of_parts
from discreet.margins.margin_set import Axes, MarginSet, closure_tables, margin_weights, overall_error
from discreet.margins.sensitivity import changes_by_difference, require_neighbours
from discreet.privacy.composition import gaussian_mu, require_budget

#: Margins with a smaller optimal share of ε are not measured.
LEAST_SHARE = 1e-3
_START = (-4.0, -1.5)  # initial log-shares of the margins that are not wanted


def laplace_optimum(
    wanted: MarginSet,
    epsilon: float,
    *,
    neighbours: str = "add-remove",
    weights: str | Mapping[Axes, float] = "cells",
) -> least_squares.MeasuredMargins:
    """The plan with the least weighted error at pure ε.

    >>> from discreet.margins.margin_set import MarginSet
    >>> wanted = MarginSet(("A", "B", "C"), (3, 4, 20), ((0, 1), (0, 2), (1, 2)))
    >>> plan = laplace_optimum(wanted, 1.0)
    >>> round(plan.expected_error((1, 2)), 2) < round(plan.expected_error((0, 1)), 2)
    True
    """
    require_budget(epsilon, 0.0)
    require_neighbours(neighbours)
    weight = margin_weights(wanted, weights)
    public_total = neighbours == "replace-one"
    spent = epsilon / 2 if public_total else epsilon
    objective = _Objective(wanted, weight, spent, public_total=public_total)
    noise = {
        margin: integer_noise.laplace_noise(1 / (share * spent)) for margin, share in objective.best().items()
    }
    if public_total:
        noise = {(): integer_noise.PUBLIC} | noise
    return least_squares.MeasuredMargins(wanted, noise, "laplace", epsilon, 0.0, neighbours)


class _Objective:
    """Σ weight·sd as a function of log-shares of ε, with its gradient."""

    def __init__(
        self, wanted: MarginSet, weight: NDArray[np.float64], epsilon: float, *, public_total: bool
    ) -> None:
        self.wanted, self.weight, self.epsilon = wanted, weight, epsilon
        first = 1 if public_total else 0
        self.parts = wanted.closure[first:]
        self.shares = least_squares.variance_shares(wanted)[:, first:]
        pairs = product(self.parts, repeat=2)
        reach = [1 / wanted.rest(margin, part) if set(part) <= set(margin) else 0.0 for part, margin in pairs]
        self.reach = np.array(reach).reshape(len(self.parts), -1)

    def __call__(self, logs: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        share = _shares(logs)
        each = self.epsilon * share
        precision = self.reach @ (2 * np.sinh(each / 2) ** 2)
        sd = np.sqrt(self.shares @ (1 / precision))
        slope = -((self.weight / (2 * sd)) @ self.shares) / precision**2
        by_share = self.epsilon * np.sinh(each) * (slope @ self.reach)
        return float(self.weight @ sd), share * (by_share - by_share @ share)

    def best(self) -> dict[Axes, float]:
        """The best shares from each start, small ones dropped; the equal split is always a candidate."""
        asked = np.array([bool(part) and part in self.wanted.margins for part in self.parts])
        found = [np.where(asked, 0.0, -np.inf)]
        for start in _START:
            solved = minimize(self, np.where(asked, 0.0, start), jac=True, method="TNC")
            part = _shares(solved.x)
            measured = part >= LEAST_SHARE
            contains = (self.reach > 0) & ~np.eye(len(self.parts), dtype=bool)
            needless = (contains & measured).any(axis=1)  # a larger measured margin contains them
            found.append(np.where(measured | (asked & ~needless), solved.x, -np.inf))
        share = _shares(min(found, key=lambda logs: self(logs)[0]))
        return {part: float(s) for part, s in zip(self.parts, share, strict=True) if s > 0}


def _shares(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    share = np.exp(logs - logs.max())
    return np.asarray(share / share.sum())


_ROUNDS = 60
_ADVERSARY_ROUNDS = 200
_ALL_REPLACEMENTS = 10


@dataclass(frozen=True, eq=False)
class GaussianOptimum:
    """A plan: the noise of every centred part.

    Args:
        epsilon: With `delta`, the guarantee of the plan.
        mu: The Gaussian trade-off of all measurements together.
        sigma: The standard deviation σ_S of every part; zero is a public total (replace-one only).
    """

    wanted: MarginSet
    epsilon: float
    delta: float
    neighbours: str
    mu: float
    sigma: Mapping[Axes, float]
    #: The cut of the noise tables is reserved in δ before μ is computed.
    cut_delta: ClassVar[float] = 0.0

    @property
    def coefficients(self) -> int:
        return sum(self.wanted.cells(part) for part, sigma in self.sigma.items() if sigma > 0)

    @property
    def sensitivity(self) -> float:
        """The L2 sensitivity of all centred parts together."""
        if self.neighbours == "add-remove":
            return math.sqrt(
                sum(least_squares.residual_norm(self.wanted, part) for part in self.wanted.closure)
            )
        return math.sqrt(float(_replacement_costs(self.wanted).sum(axis=1).max()))

    @property
    def scales(self) -> dict[Axes, float]:
        return dict(self.sigma)

    def release(
        self, exact: Mapping[Axes, NDArray[np.int64]], source: integer_noise.NoiseSource
    ) -> dict[Axes, NDArray[np.float64]]:
        """The wanted margins, consistent and unbiased: integer noise on every part, then floats."""
        parts = {}
        for part, table in closure_tables(exact, self.wanted).items():
            noisy = table.astype(np.float64)
            if self.sigma[part] > 0:
                noise = integer_noise.gaussian_noise(self.sigma[part], self.grid(part))
                drawn = noise.draw(source, "part " + self.wanted.label(part), table.size)
                noisy = _from_the_first(noise.grid * table + drawn.reshape(table.shape)) / noise.grid
            parts[part] = centre(noisy)
        return {margin: sum_of_parts(parts, self.wanted, margin) for margin in self.wanted.margins}

    def grid(self, part: Axes) -> int:
        """The number of integer steps per count of a part."""
        sigma = self.sigma[part]
        grid = integer_noise.fine_grid(sigma, self.epsilon, self.mu)
        blocks = [(k, self.wanted.cells(part) // k) for k in self.wanted.margin_shape(part)]
        while integer_noise.centring_loss(grid * sigma, blocks) > integer_noise.LATTICE_LOSS / len(
            self.wanted.closure
        ):
            grid += 1
        return grid

    def covariance(self) -> least_squares.Covariance:
        return least_squares.Covariance(self.wanted, {part: sigma**2 for part, sigma in self.sigma.items()})

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
    """Integers as differences from the first along every axis: this removes what centring removes, before any float.

    Without it the last digits of floats, which depend on their whole argument, could reveal more than was accounted for.

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
    mu = gaussian_mu(epsilon, integer_noise.gaussian_reserve(epsilon, delta, noises))
    shares, weight = least_squares.variance_shares(wanted), margin_weights(wanted, weights)
    cost = np.array([least_squares.residual_norm(wanted, part) for part in wanted.closure])

    def solve_add_remove(gain: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.sqrt(cost / gain) * np.sqrt(cost * gain).sum())

    solve = solve_add_remove if neighbours == "add-remove" else _replace_one_solver(wanted)
    variances = _least_absolute_error(solve, shares, weight) / mu**2
    sigma = dict(zip(wanted.closure, np.sqrt(variances).tolist(), strict=True))
    return GaussianOptimum(wanted, epsilon, delta, neighbours, mu, sigma)


def _least_absolute_error(
    solve: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    shares: NDArray[np.float64],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """σ² at μ = 1 by iterated weights: √ is concave, so each step lowers Σ weight·sd."""
    variances, before = solve(weight @ shares), math.inf
    for _ in range(_ROUNDS):
        sd = np.sqrt(shares @ variances)
        now = float(weight @ sd)
        if now > before * (1 - 1e-9):
            break
        before, variances = now, solve(weight / (2 * sd) @ shares)
    return variances


def _replace_one_solver(wanted: MarginSet) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """The same against every replacement: weights on the sets D of differing variables find the worst mix.

    The total never changes when one person replaces another, so it gets no noise: σ² = 0.
    """
    costs, variables = _replacement_costs(wanted), len(wanted.shape)
    rows, everything = costs, 2**variables - 1
    if variables > _ALL_REPLACEMENTS:  # those where one variable differs, all but one, or all
        ones = [1 << j for j in range(variables)]
        rows = costs[[d - 1 for one in ones for d in (one, everything ^ one)] + [everything - 1]]

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


def _replacement_costs(wanted: MarginSet) -> NDArray[np.float64]:
    """Row D (a non-empty set of differing variables), column S: ‖r_S(x) - r_S(y)‖².

    It is 2 [Π_S (1 - 1/k_j) - Π_{S∖D} (1 - 1/k_j) Π_{S∩D} (-1/k_j)].
    """
    columns = [changes_by_difference(wanted, part, _change(wanted, part)) for part in wanted.closure]
    return np.stack(columns, axis=1)[1:]


def _change(wanted: MarginSet, part: Axes) -> NDArray[np.float64]:
    """‖r_S(x) - r_S(y)‖² for each pattern of differing variables within S."""
    shape = wanted.margin_shape(part)
    inner = [
        math.prod(-1 / k if pattern >> i & 1 else 1 - 1 / k for i, k in enumerate(shape))
        for pattern in range(2 ** len(part))
    ]
    return 2 * (inner[0] - np.array(inner))


def optimum(
    wanted: MarginSet,
    epsilon: float,
    delta: float = 0.0,
    *,
    neighbours: str = "add-remove",
    weights: str | Mapping[Axes, float] = "cells",
) -> least_squares.MeasuredMargins | GaussianOptimum:
    """The plan with the least weighted mean absolute error at (ε, δ).

    >>> from discreet.margins.margin_set import MarginSet
    >>> wanted = MarginSet(("A", "B", "C"), (3, 4, 5), ((0, 1), (0, 2), (1, 2)))
    >>> round(overall_error(optimum(wanted, 1.0)), 2) < 2.95  # independent noise: 2.95
    True
    """
    plans: list[least_squares.MeasuredMargins | GaussianOptimum] = [
        laplace_optimum(wanted, epsilon, neighbours=neighbours, weights=weights),
        least_squares.independent(wanted, epsilon, neighbours=neighbours, consistent=True),
        least_squares.independent(wanted, epsilon, delta, neighbours=neighbours),
    ]
    if delta > 0:
        plans.append(gaussian_optimum(wanted, epsilon, delta, neighbours=neighbours, weights=weights))
    return min(plans, key=lambda plan: overall_error(plan, weights))
