"""Truncated normal: the exponential mechanism of squared loss.

    p(z) = e^(-ε z² / (2m+1)) / D_m,   |z| ≤ m.

The squared loss changes by at most 2m+1 between neighbouring counts, hence the divisor; δ = p(m) exactly for one cell. It is
the distribution of Sadeghi & Chien with γ = ε/(2D+1), the widest of their range.

Source: Rinott, O'Keefe, Shlomo & Skinner (2018), section 5.2.
"""

import math
from decimal import Decimal

from discreet.deprecated import renamed
from discreet.errors import InfeasibleDesign
from discreet.noise.design import require_delta, require_epsilon, require_width, smallest_width
from discreet.noise.family import DELTA, EPSILON, Family, Match, Parameter, at_smallest_width
from discreet.noise.ideal_distribution import DIGITS, IdealTable, symmetric_row
from discreet.noise.quantise import table_maker

_WIDEST = 5_000


def ideal_normal(epsilon: float, m: int | None = None, *, delta: float | None = None) -> IdealTable:
    """Truncated normal noise for every count, zero included; `delta` gives the smallest m whose δ = p(m) does not exceed it.

    >>> round(ideal_normal(1.0, 10).last.probabilities[0], 6)
    0.001054
    """
    require_epsilon(epsilon)
    if (m is None) == (delta is None):
        raise InfeasibleDesign(
            "Normal noise needs m or delta, and not both: untruncated, no epsilon bounds it."
        )
    width = match_m(epsilon, delta or 0.0, "smallest") if m is None else m
    require_width("m", width)
    row = symmetric_row(width, DIGITS.divide(Decimal(epsilon), Decimal(2 * width + 1)))
    given = {"epsilon": epsilon} | ({} if delta is None else {"delta": delta})
    return IdealTable((row,), 1, "normal", given | {"m": width})


def end_probability(epsilon: float, m: int) -> float:
    """δ = p(m) = e^(-ε m²/(2m+1)) / D_m."""
    rate = epsilon / (2 * m + 1)
    total = 1 + 2 * math.fsum(math.exp(-rate * z * z) for z in range(1, m + 1))
    return math.exp(-rate * m * m) / total


def match_m(epsilon: float, delta: float, match: Match = "smallest") -> int:
    """The truncation that matches a δ: the smallest that keeps it, or the closest on the log scale.

    Rinott et al. match normal to Laplace noise of m = 7 and print 8, 10, 12, 12, 13, 14 for ε = 0.1, 0.5, 1,
    1.5, 2, 3. No single rule gives all six: "closest" gives 13 for the last, "smallest" 11 for the second
    and 13 for the fourth.

    >>> match_m(1.5, 1.749e-5, "closest"), match_m(1.5, 1.749e-5)
    (12, 13)
    """
    require_epsilon(epsilon)
    require_delta(delta)
    wish = f"epsilon = {epsilon} and delta = {delta} with normal noise"
    m = smallest_width(lambda m: end_probability(epsilon, m) <= delta, limit=_WIDEST, wish=wish)
    if match == "smallest" or m == 1:
        return m
    gaps = [abs(math.log(end_probability(epsilon, k) / delta)) for k in (m - 1, m)]
    return m - 1 if gaps[0] < gaps[1] else m


normal = table_maker("normal", ideal_normal)

FAMILY = Family(
    "normal",
    "Truncated normal: the exponential mechanism of squared loss.",
    (EPSILON, Parameter("m", "largest change", int), DELTA),
    ideal_normal,
    page="methods/normal.md",
    make=normal,
    place=20,
    currency="epsilon",
    at_epsilon=at_smallest_width(normal),
    sides=lambda epsilon, delta, match: {"normal": ideal_normal(epsilon, match_m(epsilon, delta, match))},
    colour="#D55E00",
)


__getattr__ = renamed(__name__)  # names of 0.2
