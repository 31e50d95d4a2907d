"""Drop/add-up-to-q: uniform noise whose width grows with the count.

    q = min(⌈percent% of the count⌉, m),   noise uniform on -q..q;   zeros stay zero.

The distribution depends on the count and has bounded support, so its δ is large: 1/3 between counts of 1 to 100, and 2/3
between 0 and 1 at ε = 2. It is offered because offices use it, with its exact audit.

Source: Li & Krenzke (2016); Shlomo, Krenzke & Li (2019), sections 2.3 and 3.3.
"""

import math
from fractions import Fraction

from discreet.errors import InfeasibleDesign
from discreet.noise.family import Family, Parameter
from discreet.noise.ideal_distribution import IdealTable, point_row, row_from_weights
from discreet.noise.quantise import table_maker

_MOST_ROWS = 100_000


def ideal_dropadd(m: int = 7, percent: float = 1) -> IdealTable:
    """Rows for every count up to the one where q, `percent` of the count rounded up, reaches its cap m."""
    if m < 1 or not 0 < percent <= 100:
        raise InfeasibleDesign(f"m = {m}, percent = {percent}: m is at least 1 and percent lies in (0, 100].")
    share = Fraction(percent) / 100
    capped = math.floor((m - 1) / share) + 1
    if capped > _MOST_ROWS:
        raise InfeasibleDesign(
            f"percent = {percent} and m = {m} need {capped + 1:,} rows; at most {_MOST_ROWS:,} fit a table.",
            "Take a larger percent or a smaller m.",
        )
    widths = (min(math.ceil(share * count), m) for count in range(1, capped + 1))
    rows = (row_from_weights(range(-q, q + 1), [1] * (2 * q + 1)) for q in widths)
    return IdealTable((point_row(), *rows), 1, "dropadd", {"m": m, "percent": percent})


dropadd = table_maker("dropadd", ideal_dropadd)

FAMILY = Family(
    "dropadd",
    "Uniform noise on -q..q, q a share of the count; zeros stay zero.",
    (Parameter("m", "cap of q", int), Parameter("percent", "q as a share of the count, in percent")),
    ideal_dropadd,
    page="methods/dropadd.md",
    make=dropadd,
    place=70,
    colour="#8C6BB1",
)
