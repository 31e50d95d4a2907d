"""Exact accounting of Gaussian noise: one number μ for everything that is released.

Independent Gaussian measurements whose answers shift by Δ_i in units of their standard deviation are as hard
to tell apart as N(0,1) and N(μ,1) with μ² = Σ Δ_i². That pair's trade-off is known in closed form:

    δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ).

Nothing is lost in composition: no zCDP bound, no advanced composition. The claim is about the Gaussian law;
the integers that ship differ from it by their grid and by the cut of the tables (see `residual_basis`).

Comes from: (ε, δ). Goes to: `residual_basis`, `independent`.
Source: Balle & Wang (2018), Theorem 8; Dong, Roth & Su (2022), Corollary 1.
"""

from __future__ import annotations

import math

from scipy.optimize import brentq
from scipy.special import log_ndtr

from discreet.errors import InfeasibleDesign


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The least δ of μ-Gaussian noise at an ε.

    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    """
    if mu <= 0:
        return 0.0
    upper = float(log_ndtr(mu / 2 - epsilon / mu))
    lower = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return math.exp(upper) * -math.expm1(min(0.0, lower - upper))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest μ that is (ε, δ): found from below, so that the δ asked for is never exceeded.

    >>> round(gaussian_mu(1.0, 1e-6), 6)
    0.236704
    """
    require_budget(epsilon, delta)
    if delta <= 0:
        raise InfeasibleDesign("Gaussian noise needs a delta above 0.", "Give a delta, or use Laplace noise.")
    high = 1.0
    while gaussian_delta(high, epsilon) < delta:
        high *= 2
    low = high / 2
    while gaussian_delta(low, epsilon) > delta:
        low /= 2
    mu = float(brentq(lambda m: gaussian_delta(m, epsilon) - delta, low, high, xtol=1e-14, rtol=1e-14))
    while gaussian_delta(mu, epsilon) > delta:
        mu *= 1 - 1e-14
    return mu


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The least ε of μ-Gaussian noise at a δ.

    >>> round(gaussian_epsilon(0.236704, 1e-6), 4)
    1.0
    """
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(mu, high) > delta:
        high *= 2
    return float(brentq(lambda e: gaussian_delta(mu, e) - delta, 0.0, high, xtol=1e-12))


def require_budget(epsilon: float, delta: float) -> None:
    """Refuse an ε or a δ that means nothing."""
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise InfeasibleDesign(f"epsilon = {epsilon}: it must be above 0 and finite.")
    if not 0 <= delta < 1:
        raise InfeasibleDesign(f"delta = {delta}: it must be at least 0 and below 1.")
