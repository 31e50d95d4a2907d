"""The Gaussian trade-off: independent normal noise on many cells is exactly one normal test.

    mu = sqrt(sum over changed cells of change^2 / sigma^2)
    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)

It is exact for normal noise and for whatever is made of it, rounding included; so it holds for the family
`rounded-normal`, with the shipped table's distance added to delta. It is not claimed for the discrete Gaussian,
whose divergence may lie a little above this curve between its steps.

Comes from: `plan`. Goes to: `tightest`.
Source: Balle & Wang (2018), Theorem 8; Dong, Roth & Su (2022), Gaussian differential privacy.
"""

from __future__ import annotations

import math

from scipy.special import log_ndtr

from discreet.errors import BadRequest


def gaussian_mu(variances: list[float], changes: int = 1) -> float:
    """The mu of cells with normal noise of some variances, each table changed in so many cells by one.

    >>> gaussian_mu([4.0, 4.0])
    0.7071067811865476
    """
    return math.sqrt(changes * math.fsum(1 / variance for variance in variances))


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Delta at an epsilon, exact but for double precision, rounded up.

    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    """
    if mu < 0 or epsilon < 0:
        raise BadRequest(f"mu = {mu} and epsilon = {epsilon}: both must be 0 or more.")
    if mu == 0:
        return 0.0
    above = float(log_ndtr(mu / 2 - epsilon / mu))
    below = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    return min(1.0, math.exp(above) * -math.expm1(min(0.0, below - above)) * (1 + 1e-9))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon with gaussian_delta(mu, epsilon) <= delta, rounded up."""
    if not 0 < delta < 1:
        raise BadRequest(f"Delta is {delta}.", "Give a number between 0 and 1.")
    high = 1.0
    while gaussian_delta(mu, high) > delta:
        high *= 2
    low = 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if gaussian_delta(mu, middle) <= delta else (middle, high)
    return high
