"""ABS noise by epsilon: the maximum-entropy distribution with its variance chosen for a privacy loss.

    p(z) ∝ e^(-γ z²) on [-D, D],   γ = ε/(2D-1) - |ι|,   |ι| = 2ε / (10 (4D²-1)).

With this γ only the end value exceeds e^ε, so δ = p(D). The guide takes (ε, δ), raises D until δ is reached, and reads V and
the distribution off; `design` finds the numerical optimum. Quantised with the paper's ceiling by default.

Source: Sadeghi & Chien (2022), Proposition 3 and section III-D.
"""

import math
from dataclasses import asdict
from typing import Any

from discreet.errors import InfeasibleDesign
from discreet.noise.design import (
    SymmetricDesign,
    least_delta,
    least_variance,
    require_delta,
    require_epsilon,
    require_width,
    smallest_width,
    symmetric_moment,
)
from discreet.noise.family import DELTA, EPSILON, Family, Match, Parameter, at_smallest_width
from discreet.noise.ideal_distribution import IdealTable, symmetric_row
from discreet.noise.quantise import table_maker

_WIDEST = 2_000
#: |ι| as a share of its largest value 2ε/(4D²-1); Example 1 of the paper takes a tenth.
_SHARE = 10


def ideal_abs(epsilon: float, D: int | None = None, *, delta: float | None = None) -> IdealTable:
    """The distribution of Proposition 3 for every count, zero included; `delta` gives the guide's D*.

    >>> ideal_abs(0.5, delta=1e-4).parameters["D"]
    25
    """
    require_epsilon(epsilon)
    if (D is None) == (delta is None):
        raise InfeasibleDesign("ABS noise by epsilon needs D or delta, and not both.")
    width = _support(epsilon, delta, D)
    gamma = guide_gamma(epsilon, width)
    row = symmetric_row(width, gamma)
    given = {"epsilon": epsilon} | ({} if delta is None else {"delta": delta})
    return IdealTable((row,), 1, "abs", given | {"D": width, "gamma": gamma, "V": row.variance()})


def _support(epsilon: float, delta: float | None, D: int | None) -> int:
    width = guide_support(epsilon, delta or 0.0) if D is None else D
    require_width("D", width)
    return width


def iota(epsilon: float, D: int) -> float:
    """|ι| = 2ε / (10 (4D²-1)); the paper prints it rounded to 4e-5."""
    return 2 * epsilon / (_SHARE * (4 * D * D - 1))


def guide_gamma(epsilon: float, D: int) -> float:
    """γ = ε/(2D-1) - |ι|, inside the range where only the end value exceeds e^ε (eq. 23)."""
    return epsilon / (2 * D - 1) - iota(epsilon, D)


def guide_delta(epsilon: float, D: int) -> float:
    """δ = p(D) of Proposition 3 (eq. 32)."""
    gamma = guide_gamma(epsilon, D)
    total = 1 + 2 * math.fsum(math.exp(-gamma * z * z) for z in range(1, D + 1))
    return math.exp(-gamma * D * D) / total


def guide_support(epsilon: float, delta: float) -> int:
    """D*: the smallest D that reaches δ (III-D, step 2)."""
    require_epsilon(epsilon)
    require_delta(delta)
    wish = f"epsilon = {epsilon} and delta = {delta}"
    return smallest_width(lambda D: guide_delta(epsilon, D) <= delta, limit=_WIDEST, wish=wish)


def abs_guide(epsilon: float, delta: float | None = None, D: int | None = None) -> SymmetricDesign:
    """The guide of III-D: D*, V and γ for (ε, δ), or for a given D.

    >>> guide = abs_guide(0.5, 1e-4)
    >>> guide.D, round(guide.V, 2)
    (25, 49.0)
    """
    require_epsilon(epsilon)
    if (delta is None) == (D is None):
        raise InfeasibleDesign("The guide needs delta or D, and not both.")
    width = _support(epsilon, delta, D)
    gamma = guide_gamma(epsilon, width)
    reached, V = guide_delta(epsilon, width), symmetric_moment(width, gamma)
    return SymmetricDesign("ABS guide", epsilon, reached, width, gamma, V)


def alternative(ideal: IdealTable) -> dict[str, Any]:
    """The numerical optimum for an ABS design: the least δ of its D, and the least variance of its δ."""
    D, epsilon = int(ideal.parameters["D"]), float(ideal.parameters["epsilon"])
    wish = float(ideal.parameters.get("delta", abs_guide(epsilon, D=D).delta))
    return _optimum(least_delta(epsilon, D)) | {"least_variance": _optimum(least_variance(epsilon, wish, D))}


def _optimum(design: SymmetricDesign) -> dict[str, Any]:
    row = design.ideal().last
    return asdict(design) | {"values": list(row.values), "probabilities": list(row.probabilities)}


def _sides(epsilon: float, delta: float, _match: Match) -> dict[str, IdealTable]:
    guide = ideal_abs(epsilon, delta=delta)
    optimum = least_variance(epsilon, delta, guide.last.values[-1])
    return {"abs": guide, "abs, least variance": optimum.ideal()}


abs_noise = table_maker("abs_noise", ideal_abs, rounding="ceiling")

FAMILY = Family(
    "abs",
    "Maximum entropy whose variance is chosen for an epsilon (the ABS guide).",
    (EPSILON, Parameter("D", "largest change", int), DELTA),
    ideal_abs,
    page="methods/abs.md",
    make=abs_noise,
    place=50,
    rounding="ceiling",
    currency="epsilon",
    at_epsilon=at_smallest_width(abs_noise),
    sides=_sides,
    alternative=alternative,
    colour="#56B4E9",
)
