"""How far a shipped noise table is from the ideal law that its design stands for: total variation, from above.

    distance = sum over all integers z of max(0, ideal(z) - shipped(z))

A claim about the ideal law holds for the shipped table when delta is raised: if two neighbours differ in J cells,

    delta(shipped) <= delta(ideal) + (1 + e^epsilon) J distance

because each of the two laws is moved by at most J distance, and the second is multiplied by e^epsilon.

Comes from: a noise table of a family with a known ideal law. Goes to: `composition_zcdp`, `protect/tightest.py`.
Source: the definition; Canonne, Kamath & Steinke (2020) for the discrete Gaussian.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.noise.families.rounded_normal import normal_mass

if TYPE_CHECKING:
    from discreet.noise.table import NoiseRow, NoiseTable

_DIGITS = Context(prec=60, Emin=-(10**9), Emax=10**9)
#: What 60 digits and a cut sum can be wrong by, and much more.
_ALLOWANCE = Fraction(1, 10**35)
_UNIT = 2.0**-53

#: Families whose ideal law is known on all integers.
IDEAL_LAWS = ("laplace", "gaussian", "rounded-normal")


def distance_to_ideal(table: NoiseTable) -> Fraction | None:
    """An upper bound on the total variation between a table's row and its ideal law; None where none is known.

    >>> from discreet.noise import laplace
    >>> float(distance_to_ideal(laplace(epsilon=1.0, modulus=2**64))) < 1e-17
    True
    """
    if len(table.rows) != 1 or table.family not in IDEAL_LAWS:
        return None
    scale = table.parameters["epsilon" if table.family == "laplace" else "V"]
    return _distance(table.rows[0], table.family, float(scale))


@lru_cache(maxsize=4096)
def _distance(row: NoiseRow, family: str, scale: float) -> Fraction:
    """Remembered by the scale too: tables are equal whatever their parameters."""
    if family == "rounded-normal":
        return min(Fraction(1), _to_rounded_normal(row, scale))
    law = _laplace_law if family == "laplace" else _gaussian_law
    return min(Fraction(1), _missing(row, law(scale, max(map(abs, row.values)))))


def _missing(row: NoiseRow, law: list[Decimal]) -> Fraction:
    """The ideal mass that the row lacks: value by value within its reach, and all of it beyond."""
    shipped = row.probabilities()
    total, within = Fraction(0), Fraction(0)
    for z in range(1 - len(law), len(law)):
        ideal = Fraction(law[abs(z)])
        within += ideal
        total += max(Fraction(0), ideal - shipped.get(z, Fraction(0)))
    return total + max(Fraction(0), 1 - within) + _ALLOWANCE


def _laplace_law(epsilon: float, reach: int) -> list[Decimal]:
    """p(z) = (1 - a)/(1 + a) a^z for z = 0..reach, a = e^-epsilon."""
    a = _DIGITS.exp(-Decimal(epsilon))
    law = [_DIGITS.divide(1 - a, 1 + a)]
    for _ in range(reach):
        law.append(_DIGITS.multiply(law[-1], a))
    return law


def _gaussian_law(V: float, reach: int) -> list[Decimal]:
    """p(z) ~ e^(-z^2 / 2V) for z = 0..reach; the sum runs until nothing is added."""
    step = _DIGITS.exp(_DIGITS.divide(Decimal(-1), 2 * Decimal(V)))
    square = _DIGITS.multiply(step, step)
    weights, weight, factor = [Decimal(1)], Decimal(1), step
    while len(weights) <= reach or weight > Decimal("1e-55"):
        weight = _DIGITS.multiply(weight, factor)
        factor = _DIGITS.multiply(factor, square)
        weights.append(weight)
    total = 2 * sum(weights, Decimal(0)) - 1
    return [_DIGITS.divide(weight, total) for weight in weights[: reach + 1]]


def _to_rounded_normal(row: NoiseRow, V: float) -> Fraction:
    """In double precision: each mass is off by a few units of the larger tail, in all by 8 u (1 + sigma)."""
    reach = max(map(abs, row.values))
    law = [1 - math.erfc(0.5 / math.sqrt(2 * V))] + [normal_mass(z, V) for z in range(1, reach + 1)]
    shipped = {value: mass / row.modulus for value, mass in zip(row.values, row.masses(), strict=True)}
    missing = [max(0.0, law[abs(z)] - shipped.get(z, 0.0)) for z in range(-reach, reach + 1)]
    beyond = math.erfc((reach + 0.5) / math.sqrt(2 * V))
    return Fraction(math.fsum(missing) + beyond + 8 * _UNIT * (1 + math.sqrt(V)))
