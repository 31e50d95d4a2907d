"""Discrete Gaussian: the normal distribution on the integers.

    p(z) ∝ e^(-z² / 2σ²),   truncated at ±m; by default at the last value with a whole key.

From (ε, δ) it finds the least σ² whose exact divergence between neighbouring counts, truncation included, is within δ; V is
used as given. The truncated table has no finite zCDP: its ε(δ) comes from the audit, and ρ is a claim about the ideal
distribution.

Source: Canonne, Kamath & Steinke (2020); the δ is eq. 21 of Sadeghi & Chien (2022) with γ = 1/2σ².
"""

import math
from decimal import Decimal
from fractions import Fraction

from discreet.errors import InfeasibleDesign
from discreet.noise.design import require_delta, require_epsilon, symmetric_delta
from discreet.noise.family import DELTA, Family, Parameter
from discreet.noise.ideal_distribution import (
    DIGITS,
    DISTRIBUTION_DIGITS,
    IdealDistribution,
    IdealTable,
    missing_mass,
    reach,
    symmetric_row,
)
from discreet.noise.quantise import table_maker
from discreet.noise.table import NoiseTable

_WIDEST = 20_000


def ideal_gaussian(
    epsilon: float | None = None,
    delta: float | None = None,
    *,
    V: float | None = None,
    m: int | None = None,
    modulus: int = 2**32,
) -> IdealTable:
    """Discrete Gaussian noise for every count, zero included.

    Args:
        epsilon: Privacy loss of one cell; with V, only the ε at which the table is audited.
        delta: The largest δ at that ε, truncation included.
        V: In place of both: σ².
        m: The truncation; by default the last value with a whole key.
        modulus: The number of keys, for the truncation.
    """
    if V is not None and delta is not None:
        raise InfeasibleDesign("Gaussian noise needs epsilon and delta, or V: with V, delta follows.")
    if V is None:
        if epsilon is None or delta is None:
            raise InfeasibleDesign("Gaussian noise needs epsilon and delta, or V.")
        V = least_sigma2(epsilon, delta, m=m, modulus=modulus)
    if not (V > 0 and math.isfinite(V)):
        raise InfeasibleDesign(f"V = {V}: σ² must be above 0 and finite.")
    cut = last_key_m(V, modulus) if m is None else m
    if not 1 <= cut <= _WIDEST:
        raise InfeasibleDesign(
            f"Gaussian noise with V = {V:g} is cut at ±{cut}; the cut must lie in 1..{_WIDEST}."
        )
    row = symmetric_row(cut, DIGITS.divide(Decimal(1), 2 * Decimal(V)))
    given = {name: each for name, each in (("epsilon", epsilon), ("delta", delta)) if each is not None}
    note = f"Discrete Gaussian cut at ±{cut}; the table's delta counts the cut."
    return IdealTable((row,), 1, "gaussian", given | {"V": V, "m": cut}, (note,))


def last_key_m(V: float, modulus: int) -> int:
    """The last z with p(z)·modulus ≥ 1, about √(2V·log(modulus/√(2πV)))."""
    # Poisson summation: Σ e^(-z²/2V) equals √(2πV) to 1e-34 above V = 4.
    total = math.sqrt(2 * math.pi * V)
    if V <= 4:
        total = 1 + 2 * math.fsum(math.exp(-z * z / (2 * V)) for z in range(1, 60))
    room = 2 * V * math.log(modulus / total) if modulus > total else 0.0
    return max(1, math.floor(math.sqrt(room)))


def least_sigma2(epsilon: float, delta: float, *, m: int | None = None, modulus: int = 2**32) -> float:
    """The least σ² whose truncated distribution has δ(ε) within the given δ: bisection on σ, from the safe side."""
    require_epsilon(epsilon)
    require_delta(delta)

    def delta_of(sigma: float) -> float:
        cut = last_key_m(sigma * sigma, modulus) if m is None else m
        return symmetric_delta(cut, 0.5 / sigma**2, epsilon)

    high = 0.5
    while delta_of(high) > delta:
        high *= 1.1
        if high > _WIDEST / 6:
            raise InfeasibleDesign(
                f"No discrete Gaussian of this support keeps delta = {delta:g} at epsilon = {epsilon:g}.",
                "Take a larger epsilon, delta, m or modulus: the cut alone costs about 1/modulus.",
            )
    low = high / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(middle) <= delta else (middle, high)
    return high * high


def rho(V: Fraction) -> Fraction:
    """The zCDP of a count that changes by one: 1 / (2 sigma^2)."""
    return 1 / (2 * V)


def _distribution(V: float, last: int) -> list[Decimal]:
    """p(z) ~ e^(-z^2 / 2V) for z = 0..last; the sum runs until nothing is added."""
    step = DISTRIBUTION_DIGITS.exp(DISTRIBUTION_DIGITS.divide(Decimal(-1), 2 * Decimal(V)))
    square = DISTRIBUTION_DIGITS.multiply(step, step)
    weights, weight, factor = [Decimal(1)], Decimal(1), step
    while len(weights) <= last or weight > Decimal("1e-55"):
        weight = DISTRIBUTION_DIGITS.multiply(weight, factor)
        factor = DISTRIBUTION_DIGITS.multiply(factor, square)
        weights.append(weight)
    total = 2 * sum(weights, Decimal(0)) - 1
    return [DISTRIBUTION_DIGITS.divide(weight, total) for weight in weights[: last + 1]]


def _at_epsilon(epsilon: float, delta: float) -> tuple[NoiseTable, str]:
    table = gaussian(epsilon=epsilon, delta=delta)
    return table, f"The least variance that keeps delta: {float(table.rows[-1].variance()):.4g}."


gaussian = table_maker("gaussian", ideal_gaussian)

FAMILY = Family(
    "gaussian",
    "Discrete Gaussian, calibrated exactly to (epsilon, delta), or of a given variance.",
    (
        Parameter("epsilon", "privacy loss of one cell"),
        DELTA,
        Parameter("V", "in place of both: the parameter σ²"),
        Parameter("m", "where the law is cut", int),
    ),
    ideal_gaussian,
    page="methods/gaussian.md",
    make=gaussian,
    place=80,
    cut_by_keys=True,
    currency="rho",
    distribution=IdealDistribution("V", rho, lambda row, V: missing_mass(row, _distribution(V, reach(row)))),
    at_epsilon=_at_epsilon,
    sides=lambda epsilon, delta, _match: {"gaussian": ideal_gaussian(epsilon, delta, modulus=2**64)},
    colour="#CC79A7",
)
