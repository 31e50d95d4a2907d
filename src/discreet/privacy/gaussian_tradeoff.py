"""The Gaussian trade-off: one number μ for all Gaussian noise of a release.

Independent Gaussian measurements whose answers shift by Δ_i in units of their standard deviation are as hard to
distinguish as N(0,1) and N(μ,1) with μ² = Σ Δ_i². The trade-off of that pair has a closed form:

    δ(ε) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ).

Composition is tight: no zCDP bound, no advanced composition. The claim covers the Gaussian distribution and all
post-processing, rounding included. The cost of the grid and the truncation of the shipped integers is added elsewhere
(`margins`, `protect`). It does not cover the discrete Gaussian, whose divergence may be a little above this curve between
its steps.

Source: Balle & Wang (2018), Theorem 8; Dong, Roth & Su (2022), Corollary 1.
"""

from __future__ import annotations

import math

from discreet.errors import BadRequest, InfeasibleDesign

#: The cancellation error of δ, a difference of nearly equal numbers, is at most this over μ, relatively.
_CANCELLED = 1e-12


def gaussian_delta(mu: float, epsilon: float) -> float:
    """The least δ of μ-Gaussian noise at an ε.

    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    """
    if mu <= 0:
        return 0.0
    from scipy.special import log_ndtr  # noqa: PLC0415 - slow to import, and no table needs it

    upper = float(log_ndtr(mu / 2 - epsilon / mu))
    lower = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return math.exp(upper) * -math.expm1(min(0.0, lower - upper))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest μ that is (ε, δ), found from below so that δ is never exceeded.

    >>> round(gaussian_mu(1.0, 1e-6), 6)
    0.236704
    """
    require_budget(epsilon, delta)
    if delta <= 0:
        raise InfeasibleDesign("Gaussian noise needs a delta above 0.", "Give a delta, or use Laplace noise.")
    from scipy.optimize import brentq  # noqa: PLC0415 - slow to import, and no table needs it

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


def gaussian_delta_above(mu: float, epsilon: float) -> float:
    """δ at an ε, rounded up by more than double precision loses, for claims.

    >>> gaussian_delta_above(1.0, 1.0) > gaussian_delta(1.0, 1.0)
    True
    """
    if mu < 0 or epsilon < 0:
        raise BadRequest(f"mu = {mu} and epsilon = {epsilon}: both must be 0 or more.")
    lost = max(1e-9, _CANCELLED / mu) if mu else 0.0
    return min(1.0, gaussian_delta(mu, epsilon) * (1 + lost))


def total_mu(variances: list[float], changes: int = 1) -> float:
    """The μ of tables with Gaussian noise of these variances, each with `changes` cells changed by one.

    >>> total_mu([4.0, 4.0])
    0.7071067811865476
    """
    return math.sqrt(changes * math.fsum(1 / variance for variance in variances))


def require_budget(epsilon: float, delta: float) -> None:
    """Refuse an ε or a δ that is out of range."""
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise InfeasibleDesign(f"epsilon = {epsilon}: it must be above 0 and finite.")
    if not 0 <= delta < 1:
        raise InfeasibleDesign(f"delta = {delta}: it must be at least 0 and below 1.")
