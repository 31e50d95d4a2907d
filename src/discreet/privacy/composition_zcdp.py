"""Zero-concentrated differential privacy of ideal laws: how it adds up, and what it says about (epsilon, delta).

    discrete or rounded Gaussian, one cell changed by 1:  rho = 1 / (2 sigma^2);  by k: k^2 rho
    discrete Laplace (pure epsilon-DP):                   rho = epsilon^2 / 2
    together:                                             rho = sum of rho
    delta(epsilon) = min over alpha > 1 of exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) (1 - 1/alpha)^alpha

A shipped table is cut, so its own rho is infinite; the claim is about the ideal law, and the shipped table's distance
to it is added to delta (`distance`). Charges may be chosen adaptively as long as their rho add up to at most a
cap fixed beforehand: that is the filter.

Comes from: `plan`, `ledger`. Goes to: `tightest`.
Source: Bun & Steinke (2016); Canonne, Kamath & Steinke (2020) for delta; Feldman & Zrnic (2021) and Whitehouse et al.
(2023) for the filter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import BadRequest, BudgetSpent
from discreet.noise.families import ideal_law

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.noise.table import NoiseTable

_WIDEST_LOG = 12.0


def ideal_rho(table: NoiseTable) -> float | None:
    """The rho of one cell that changes by one, under the table's ideal law; None where it is not known."""
    law = ideal_law(table)
    return None if law is None else law.rho(law.scale_of(table))


def zcdp_delta(rho: float, epsilon: float) -> float:
    """The smallest delta that rho-zCDP is known to give at an epsilon; any alpha is valid, the best is taken.

    >>> zcdp_delta(0.5, 10.0) < math.exp(-(10.0 - 0.5) ** 2 / 2)
    True
    """
    if rho < 0 or epsilon < 0:
        raise BadRequest(f"rho = {rho} and epsilon = {epsilon}: both must be 0 or more.")
    if rho == 0:
        return 0.0

    from scipy.optimize import minimize_scalar  # noqa: PLC0415 - slow to import, and no table needs it

    def log_delta(log_order: float) -> float:
        above = math.exp(log_order)  # alpha - 1
        alpha = 1 + above
        return above * (alpha * rho - epsilon) - log_order + alpha * (log_order - math.log(alpha))

    guess = math.log(max(1e-3, (epsilon - rho) / (2 * rho))) if epsilon > rho else 0.0
    found = minimize_scalar(log_delta, bounds=(guess - _WIDEST_LOG, guess + _WIDEST_LOG), method="bounded")
    return min(1.0, math.exp(min(0.0, float(found.fun), log_delta(guess))) * (1 + 1e-12))


def zcdp_epsilon(rho: float, delta: float) -> float:
    """The smallest epsilon with zcdp_delta(rho, epsilon) <= delta, rounded up."""
    if not 0 < delta < 1:
        raise BadRequest(f"Delta is {delta}.", "Give a number between 0 and 1.")
    return _bisect(
        lambda epsilon: zcdp_delta(rho, epsilon) <= delta, rho + 2 * math.sqrt(rho * -math.log(delta))
    )


def rho_for(epsilon: float, delta: float) -> float:
    """The largest rho that keeps (epsilon, delta), rounded down.

    >>> round(rho_for(1.0, 1e-6), 4)
    0.0244
    """
    if not 0 < delta < 1 or epsilon <= 0:
        raise BadRequest(
            f"epsilon = {epsilon} and delta = {delta}.", "Epsilon above 0, delta between 0 and 1."
        )
    low, high = 0.0, epsilon
    while zcdp_delta(high, epsilon) <= delta:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_delta(middle, epsilon) <= delta else (low, middle)
    return low


def with_distance(delta: float, epsilon: float, cells: int, distance: Fraction) -> float:
    """A delta of the ideal law as one of the shipped table: each of the cells may be off by the distance."""
    moved = (1 + math.exp(min(epsilon, 700.0))) * cells * float(distance)
    return min(1.0, (delta + moved) * (1 + 1e-12))


@dataclass(frozen=True, slots=True)
class ZcdpFilter:
    """A cap on rho for charges that are chosen one after the other, each perhaps in view of earlier answers.

    Args:
        cap: The rho that is never exceeded, fixed beforehand.
        spent: The sum of the charges so far.

    >>> ZcdpFilter(Fraction(1)).charge(Fraction(1, 4)).left
    Fraction(3, 4)
    """

    cap: Fraction
    spent: Fraction = Fraction(0)

    @property
    def left(self) -> Fraction:
        """What may still be charged."""
        return self.cap - self.spent

    def charge(self, rho: Fraction) -> ZcdpFilter:
        """The filter after a charge; one that does not fit is refused before anything is answered."""
        if rho < 0:
            raise BadRequest(f"A charge of {rho} is below 0.")
        if rho > self.left:
            raise BudgetSpent(
                f"The charge of rho = {float(rho):.3g} is more than the {float(self.left):.3g} that is left.",
                "Ask for a coarser table, or one that was answered before.",
            )
        return ZcdpFilter(self.cap, self.spent + rho)

    def epsilon(self, delta: float) -> float:
        """What the whole cap promises at a delta, whatever was asked."""
        return zcdp_epsilon(float(self.cap), delta)


def _bisect(holds: Callable[[float], bool], high: float) -> float:
    """The smallest argument at which a condition holds, from above."""
    low = 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
