"""Zero-concentrated differential privacy of ideal laws: how it adds up, and what it says about (epsilon, delta).

    discrete or rounded Gaussian, one cell changed by 1:  rho = 1 / (2 sigma^2);  by k: k^2 rho
    discrete Laplace (pure epsilon-DP):                   rho = epsilon^2 / 2
    together:                                             rho = sum of rho
    delta(epsilon) = min over alpha > 1 of exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) (1 - 1/alpha)^alpha

A shipped table is cut, so its own rho is infinite; the claim is about the ideal law, and the shipped table's distance
to it is added to delta (`distance`). Charges may be chosen adaptively as long as their rho add up to at most a
cap fixed beforehand: the ledger sees to that.

Source: Bun & Steinke (2016); Canonne, Kamath & Steinke (2020) for delta; Feldman & Zrnic (2021) and Whitehouse et al.
(2023) for adaptive charges.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import BadRequest
from discreet.model.amount import LOSS_UNIT
from discreet.noise.families import ideal_law
from discreet.privacy.claim import float_down

if TYPE_CHECKING:
    from discreet.noise.table import NoiseTable

_WIDEST_LOG = 12.0


def ideal_rho(table: NoiseTable) -> Fraction | None:
    """The exact rho of one cell that changes by one, under the table's ideal law; None where it is not known."""
    law = ideal_law(table)
    return None if law is None else law.rho(Fraction(law.scale_of(table)))


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


def rho_at(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The rho that a budget in rho has at (epsilon, delta), in whole units: half of delta is kept for the distance.

    The cap of such a budget and what a version spends of it are the same function of their epsilon and delta, so
    that a version may spend all of it.
    """
    found = Fraction(rho_for(float_down(epsilon), float_down(delta / 2)))
    return found // LOSS_UNIT * LOSS_UNIT


def with_distance(delta: float, epsilon: float, cells: int, distance: Fraction) -> float:
    """A delta of the ideal law as one of the shipped table: each of the cells may be off by the distance."""
    moved = (1 + math.exp(min(epsilon, 700.0))) * cells * float(distance)
    return min(1.0, (delta + moved) * (1 + 1e-12))
