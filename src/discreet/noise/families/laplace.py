"""Discrete Laplace: the two-sided geometric distribution, truncated at ±m or at the last key.

    p(z) = e^(-ε|z|) / C_m,   |z| ≤ m,   C_m = 1 + 2 (e^-ε - e^(-(m+1)ε)) / (1 - e^-ε).

Truncated, one cell is (ε, δ)-DP with δ = p(m) exactly: every ratio within the support is e^±ε, and the end value has no
counterpart. Without m it is truncated at the last value with a whole key; that costs about 1/modulus, which the audit
counts. It is the default noise of `dp`.

Source: Rinott, O'Keefe, Shlomo & Skinner (2018), section 5.1; Ghosh, Roughgarden & Sundararajan (2012).
"""

import math
from decimal import Decimal
from itertools import accumulate

from discreet.errors import InfeasibleDesign
from discreet.noise.design import LARGEST_M, require_delta, require_epsilon, require_width, smallest_width
from discreet.noise.family import DELTA, EPSILON, Family, Parameter, at_smallest_width
from discreet.noise.ideal_distribution import (
    DIGITS,
    DISTRIBUTION_DIGITS,
    LEAST_BITS,
    WEIGHT_BITS,
    IdealDistribution,
    IdealTable,
    missing_mass,
    reach,
    row_from_weights,
)
from discreet.noise.quantise import table_maker

_GUARD_BITS = 64


def ideal_laplace(
    epsilon: float, m: int | None = None, *, delta: float | None = None, modulus: int = 2**32
) -> IdealTable:
    """Discrete Laplace noise for every count, zero included.

    `delta` gives the smallest m whose δ = p(m) does not exceed it; without both, m is the last value with a whole key.

    >>> round(ideal_laplace(1.0, 10).last.probabilities[0], 9)
    2.0981e-05
    """
    require_epsilon(epsilon)
    if m is not None and delta is not None:
        raise InfeasibleDesign("Give m or delta, not both: the one follows from the other.")
    notes: tuple[str, ...] = ()
    if delta is not None:
        require_delta(delta)
        wish = f"epsilon = {epsilon} and delta = {delta}"
        m = smallest_width(lambda m: end_probability(epsilon, m) <= delta, limit=LARGEST_M, wish=wish)
    elif m is None:
        m = last_key_m(epsilon, modulus)
        cut = 2 * math.exp(-epsilon * (m + 1)) / (1 + math.exp(-epsilon))
        notes = (
            f"Untruncated law cut at ±{m}, where the keys end: the ideal law has {cut:.3g} of its mass beyond, "
            "and the table's delta counts the cut.",
        )
    require_width("m", m)
    # e^(-ε k) for k = 0..m as integers, by repeated multiplication with guard bits.
    bits = WEIGHT_BITS + _GUARD_BITS
    ratio = int(DIGITS.multiply((-Decimal(epsilon)).exp(DIGITS), Decimal(2**bits)))
    powers = accumulate(range(m), lambda power, _: power * ratio >> bits, initial=1 << bits)
    half = [power >> _GUARD_BITS for power in powers]
    if half[-1] < 2 ** (WEIGHT_BITS - LEAST_BITS):
        raise InfeasibleDesign(
            f"epsilon = {epsilon} and m = {m}: noise of {m} is less likely than any key could be.",
            "Take a smaller m, or leave it out: the law is then cut where the keys end.",
        )
    row = row_from_weights(range(-m, m + 1), [*reversed(half[1:]), *half])
    given = {"epsilon": epsilon} | ({} if delta is None else {"delta": delta})
    return IdealTable((row,), 1, "laplace", given | {"m": m}, notes)


def end_probability(epsilon: float, m: int) -> float:
    """δ = p(m) = e^(-ε m) / C_m, exact for one cell (eq. 4.10)."""
    ratio = math.exp(-epsilon)
    constant = 1 + 2 * ratio * -math.expm1(-m * epsilon) / -math.expm1(-epsilon)
    return math.exp(-epsilon * m) / constant


def last_key_m(epsilon: float, modulus: int) -> int:
    """The last value of the untruncated distribution with a whole key: p(m)·modulus ≥ 1."""
    if modulus < 4:
        raise InfeasibleDesign(
            f"A modulus of {modulus} keys has no room for Laplace noise.", "Take 256 or more."
        )
    room = math.log(modulus) + math.log(math.tanh(epsilon / 2))
    m = max(1, math.floor(room / epsilon))
    if m > LARGEST_M:
        raise InfeasibleDesign(
            f"epsilon = {epsilon} needs noise up to ±{m}; at most ±{LARGEST_M} fits a table.",
            "Take a larger epsilon, or give m.",
        )
    return m


def _distribution(epsilon: float, last: int) -> list[Decimal]:
    """p(z) = (1 - a)/(1 + a) a^z for z = 0..last, a = e^-epsilon."""
    a = DISTRIBUTION_DIGITS.exp(-Decimal(epsilon))
    first = DISTRIBUTION_DIGITS.divide(1 - a, 1 + a)
    return list(accumulate(range(last), lambda p, _: DISTRIBUTION_DIGITS.multiply(p, a), initial=first))


laplace = table_maker("laplace", ideal_laplace)

FAMILY = Family(
    "laplace",
    "Discrete Laplace, truncated at m or cut where the keys end.",
    (EPSILON, Parameter("m", "largest change", int), DELTA),
    ideal_laplace,
    page="methods/laplace.md",
    make=laplace,
    place=10,
    cut_by_keys=True,
    currency="epsilon",
    distribution=IdealDistribution(
        "epsilon",
        lambda epsilon: epsilon**2 / 2,  # pure epsilon-DP is epsilon^2 / 2 zCDP
        lambda row, epsilon: missing_mass(row, _distribution(epsilon, reach(row))),
    ),
    at_epsilon=at_smallest_width(laplace),
    sides=lambda epsilon, delta, _match: {"laplace": ideal_laplace(epsilon, delta=delta)},
    colour="#0072B2",
)
