"""Staircase noise: the least variance among epsilon-DP noise where one unit changes a count by up to `width`.

    p(z) = a e^(-epsilon k) e^(-epsilon [u >= inner]),   |z| = k width + u,   0 <= u < width,   |z| <= m

The distribution falls by e^-epsilon once in every `width` values, after `inner` of them. A change of the count by at most
`width` moves z by at most one step, so the ratio is at most e^epsilon; Laplace noise needs epsilon / width for each unit
for the same promise, and has a larger variance. With width 1 it is discrete Laplace noise, which is optimal for single
records. Truncated at +-m, a change by `width` has delta = sum of p(z) over the last `width` values.

Source: Geng & Viswanath (2014), section IV (the discrete staircase); named by Rinott et al. (2018), section 5.
"""

import math
from decimal import Decimal

from discreet.errors import InfeasibleDesign
from discreet.noise.design import LARGEST_M, require_delta, require_epsilon, require_width, smallest_width
from discreet.noise.family import DELTA, EPSILON, Family, Parameter
from discreet.noise.ideal_distribution import IdealTable, row_from_logs
from discreet.noise.quantise import table_maker


def ideal_staircase(
    epsilon: float,
    width: int = 1,
    inner: int | None = None,
    m: int | None = None,
    *,
    delta: float | None = None,
    modulus: int = 2**32,
) -> IdealTable:
    """Staircase noise for every count, zero included.

    Args:
        epsilon: Privacy loss of a cell that changes by up to `width`.
        width: The largest change of a cell by one unit.
        inner: The number of values before the first step; by default that of the least variance.
        m: The truncation; by default the last value with a whole key.
        delta: In place of m: the largest delta of a change by `width`.
        modulus: The number of keys, for the truncation.

    >>> [round(p, 4) for p in ideal_staircase(1.0, width=2, inner=1, m=3).last.probabilities]
    [0.0494, 0.1342, 0.1342, 0.3647, 0.1342, 0.1342, 0.0494]
    """
    require_epsilon(epsilon)
    require_width("width", width)
    if m is not None and delta is not None:
        raise InfeasibleDesign("Give m or delta, not both: the one follows from the other.")
    if inner is not None and not 1 <= inner <= width:
        raise InfeasibleDesign(f"inner = {inner}: it must lie between 1 and the width, {width}.")
    best = least_variance_inner(epsilon, width) if inner is None else inner
    if delta is not None:
        require_delta(delta)
        wish = f"epsilon = {epsilon}, width = {width} and delta = {delta}"
        m = smallest_width(lambda m: lost_mass(epsilon, width, best, m) <= delta, limit=LARGEST_M, wish=wish)
    elif m is None:
        levels = math.floor((math.log(modulus) + math.log(centre(epsilon, width, best))) / epsilon)
        m = max(1, (levels - 1) * width + best + width - 1)
    require_width("m", m)
    rate = Decimal(epsilon)
    row = row_from_logs(range(-m, m + 1), [-rate * level(abs(z), width, best) for z in range(-m, m + 1)])
    given = {"epsilon": epsilon, "width": width, "inner": best} | ({} if delta is None else {"delta": delta})
    note = f"Epsilon holds for a cell that changes by up to {width}."
    return IdealTable((row,), 1, "staircase", given | {"m": m}, (note,) if width > 1 else ())


def level(distance: int, width: int, inner: int) -> int:
    """The number of steps at a distance from zero.

    >>> [level(z, 3, 2) for z in range(7)]
    [0, 0, 1, 1, 1, 2, 2]
    """
    return distance // width + (distance % width >= inner)


def centre(epsilon: float, width: int, inner: int) -> float:
    """p(0) of the untruncated distribution."""
    b = math.exp(-epsilon)
    return (1 - b) / (2 * inner + 2 * b * (width - inner) - (1 - b))


def least_variance_inner(epsilon: float, width: int) -> int:
    """The inner width of the least variance, from the closed sums over steps."""
    b = math.exp(-epsilon)
    # E k and E k^2 under (1 - b) b^k.
    first, second = b / (1 - b), b * (1 + b) / (1 - b) ** 2

    def variance(inner: int) -> float:
        squares = (
            (width * width * second + 2 * width * u * first + u * u) / (1 - b) * (b if u >= inner else 1)
            for u in range(width)
        )
        return 2 * centre(epsilon, width, inner) * math.fsum(squares)

    return min(range(1, width + 1), key=variance)


def lost_mass(epsilon: float, width: int, inner: int, m: int, change: int | None = None) -> float:
    """The delta of a change, by default by `width`: the mass of as many last values of the truncated distribution."""
    half = [math.exp(-epsilon * level(z, width, inner)) for z in range(m + 1)]
    total = 2 * math.fsum(half) - half[0]
    outside = (half[abs(z)] for z in range(m, max(-m, m - (change or width) + 1) - 1, -1))
    return math.fsum(outside) / total


staircase = table_maker("staircase", ideal_staircase)

FAMILY = Family(
    "staircase",
    "Steps of equal probability: the least variance where a unit may change a count by several.",
    (
        EPSILON,
        Parameter("width", "largest change of a cell by one unit", int),
        Parameter("inner", "values before the first step", int),
        Parameter("m", "largest change", int),
        DELTA,
    ),
    ideal_staircase,
    page="methods/staircase.md",
    make=staircase,
    place=15,
    cut_by_keys=True,
    sides=lambda epsilon, delta, _match: {"staircase": ideal_staircase(epsilon, delta=delta)},
    colour="#8C6BB1",
)
