"""Design by privacy guarantee: from (ε, δ) to a support, a variance and a distribution.

The ABS guide (`families/abs.py`) raises D until Proposition 3 reaches δ, and looks at the end value only. The numerical
optimum here uses the whole divergence of eq. 21. For the same D it finds the γ of least δ (58 % of the guide's in the
paper's Example 1), or for the same (ε, δ) and D the least variance.

    δ_γ,D(ε) = C e^(-γ D²) + C Σ_{-D < z ≤ ⌊1/2 - ε/2γ⌋} (e^(-γ z²) - e^ε e^(-γ (z-1)²)).        (21)

Source: Sadeghi & Chien (2022), Propositions 2 and 3, section III-D.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from discreet.errors import InfeasibleDesign
from discreet.noise.ideal_distribution import IdealTable, symmetric_row

#: The widest noise that a table may hold.
LARGEST_M = 100_000


def require_epsilon(epsilon: float) -> None:
    """Refuse an ε that is not positive and finite."""
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise InfeasibleDesign(f"epsilon = {epsilon}: it must be above 0 and finite.")


def require_delta(delta: float) -> None:
    """Refuse a δ outside (0, 1)."""
    if not 0 < delta < 1:
        raise InfeasibleDesign(f"delta = {delta}: it must lie between 0 and 1.")


def require_width(name: str, width: int) -> None:
    """Refuse a largest change that no table can hold."""
    if not 1 <= width <= LARGEST_M:
        raise InfeasibleDesign(f"{name} = {width}: the largest change must lie between 1 and {LARGEST_M}.")


def smallest_width(keeps: Callable[[int], bool], *, limit: int, wish: str) -> int:
    """The smallest width from 1 that satisfies `keeps`, by doubling and bisection; every wider one must satisfy it too.

    >>> smallest_width(lambda width: width * width >= 50, limit=1000, wish="a square of 50")
    8
    """
    high = 1
    while not keeps(high):
        if high >= limit:
            raise InfeasibleDesign(
                f"{wish} needs changes beyond ±{limit}.", "Take a larger epsilon or delta."
            )
        high = min(2 * high, limit)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


_GRID = 400
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True)
class SymmetricDesign:
    """One distribution p(z) ∝ e^(-γ z²) on [-D, D]: its goal, its variance V, and δ at an ε by eq. 21."""

    goal: str
    epsilon: float
    delta: float
    D: int
    gamma: float
    V: float

    def ideal(self) -> IdealTable:
        """The design as a table, ready to be quantised."""
        parameters = {"epsilon": self.epsilon, "D": self.D, "gamma": self.gamma, "V": self.V}
        return IdealTable((symmetric_row(self.D, self.gamma),), 1, "abs", parameters)


def symmetric_delta(D: int, gamma: float, epsilon: float) -> float:
    """δ_γ,D(ε) of eq. 21, the hockey-stick divergence between neighbouring counts.

    >>> round(symmetric_delta(25, 0.5 / 49 - 1 / 24990, 0.5), 9)
    9.913e-05
    """
    z = np.arange(-D, D + 1, dtype=np.float64)
    p = np.exp(-gamma * z * z)
    p /= p.sum()
    if epsilon > 700:  # e^ε overflows; only the end value has no counterpart
        return float(p[0])
    return float(p[0] + np.maximum(p[1:] - math.exp(epsilon) * p[:-1], 0).sum())


def symmetric_moment(D: int, gamma: float, power: int = 2) -> float:
    """The variance, or another even moment, of p(z) ∝ exp(-γ z²) on [-D, D] (eq. 24)."""
    weights = [math.exp(-gamma * z * z) for z in range(1, D + 1)]
    return 2 * math.fsum(z**power * w for z, w in enumerate(weights, 1)) / (2 * math.fsum(weights) + 1)


def least_delta(epsilon: float, D: int) -> SymmetricDesign:
    """The γ of least δ for a support: a grid, then a golden-section search around its minimum."""
    require_epsilon(epsilon)
    require_width("D", D)
    grid = np.geomspace(epsilon / (2 * D + 1) / 4, 8 * epsilon / max(2 * D - 1, 1), _GRID)
    deltas = [symmetric_delta(D, float(gamma), epsilon) for gamma in grid]
    best = int(np.argmin(deltas))
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, _GRID - 1)])
    for _ in range(80):
        step = _GOLDEN * (high - low)
        left, right = high - step, low + step
        falls = symmetric_delta(D, left, epsilon) > symmetric_delta(D, right, epsilon)
        low, high = (left, high) if falls else (low, right)
    gamma = (low + high) / 2
    delta = symmetric_delta(D, gamma, epsilon)
    return SymmetricDesign("least delta for this D", epsilon, delta, D, gamma, symmetric_moment(D, gamma))


def least_variance(epsilon: float, delta: float, D: int) -> SymmetricDesign:
    """The least variance on [-D, D] that keeps (ε, δ): the largest γ whose δ is at most the given one."""
    require_delta(delta)
    start = least_delta(epsilon, D)
    if start.delta > delta:
        raise InfeasibleDesign(
            f"D = {D} cannot keep delta = {delta:g} at epsilon = {epsilon:g}; its least: {start.delta:.6g}.",
            "Take a larger D, epsilon or delta.",
        )
    low, high = start.gamma, 2 * start.gamma
    while symmetric_delta(D, high, epsilon) <= delta:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if symmetric_delta(D, middle, epsilon) <= delta else (low, middle)
    reached = symmetric_delta(D, low, epsilon)
    goal = "least variance for this D, epsilon and delta"
    return SymmetricDesign(goal, epsilon, reached, D, low, symmetric_moment(D, low))
