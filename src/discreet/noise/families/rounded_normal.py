"""Rounded normal: a normal variable rounded to the nearest integer.

    p(z) = Phi((z + 1/2) / sigma) - Phi((z - 1/2) / sigma)

Counts are integers, so count + round(X) = round(count + X): a release is post-processing of the Gaussian mechanism, and
privacy losses compose by the Gaussian trade-off with mu^2 = sum of 1/sigma^2 exactly. The discrete Gaussian has the same
zCDP but no such trade-off; its variance is smaller by about 1/12.

Source: Dong, Roth & Su (2022), Gaussian differential privacy; Balle & Wang (2018).
"""

import math
from fractions import Fraction

from discreet.errors import InfeasibleDesign
from discreet.noise.families.gaussian import rho
from discreet.noise.family import Family, Parameter
from discreet.noise.ideal_distribution import IdealDistribution, IdealRow, IdealTable, reach
from discreet.noise.quantise import quantise
from discreet.noise.table import NoiseRow, NoiseTable

_WIDEST = 20_000
_UNIT = 2.0**-53


def rounded_normal(V: float, modulus: int = 2**64) -> NoiseTable:
    """The noise table of a rounded normal with V = sigma^2.

    >>> rounded_normal(4.0).largest
    18
    """
    return quantise(ideal_rounded_normal(V, modulus), modulus)


def ideal_rounded_normal(V: float, modulus: int = 2**64) -> IdealTable:
    """The distribution, truncated at the last value with a whole key."""
    if not (V > 0 and math.isfinite(V)):
        raise InfeasibleDesign(f"V = {V}: σ² must be above 0 and finite.")
    half: list[float] = [1 - math.erfc(0.5 / math.sqrt(2 * V))]
    while len(half) <= _WIDEST and (p := _mass(len(half), V)) * modulus >= 1:
        half.append(p)
    if len(half) > _WIDEST:
        raise InfeasibleDesign(f"V = {V:g} needs noise beyond ±{_WIDEST}.", "Take a smaller V.")
    total = half[0] + 2 * math.fsum(half[1:])
    values = range(1 - len(half), len(half))
    row = IdealRow(tuple(values), tuple(half[abs(z)] / total for z in values))
    note = f"Rounded normal law cut at ±{len(half) - 1}, where the keys end."
    return IdealTable((row,), 1, "rounded-normal", {"V": V, "m": len(half) - 1}, (note,))


def _mass(z: int, V: float) -> float:
    """The probability that the rounded normal variable is z, for z above 0."""
    scale = math.sqrt(2 * V)
    return (math.erfc((z - 0.5) / scale) - math.erfc((z + 0.5) / scale)) / 2


def _distance(row: NoiseRow, V: float) -> Fraction:
    """In double precision: each mass is off by a few units of the larger tail, in all by 8 u (1 + sigma)."""
    last = reach(row)
    distribution = [1 - math.erfc(0.5 / math.sqrt(2 * V))] + [_mass(z, V) for z in range(1, last + 1)]
    shipped = {value: mass / row.modulus for value, mass in zip(row.values, row.masses(), strict=True)}
    missing = [max(0.0, distribution[abs(z)] - shipped.get(z, 0.0)) for z in range(-last, last + 1)]
    beyond = math.erfc((last + 0.5) / math.sqrt(2 * V))
    return Fraction(math.fsum(missing) + beyond + 8 * _UNIT * (1 + math.sqrt(V)))


FAMILY = Family(
    "rounded-normal",
    "A normal variable rounded to a whole number: losses add up by the Gaussian trade-off.",
    (Parameter("V", "the variance σ² before rounding", required=True),),
    ideal_rounded_normal,
    page="methods/rounded-normal.md",
    make=rounded_normal,
    place=90,
    cut_by_keys=True,
    currency="rho",
    distribution=IdealDistribution("V", rho, _distance, rounded_normal=True),
)
