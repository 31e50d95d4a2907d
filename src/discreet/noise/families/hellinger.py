"""Hellinger-type noise: the exponential mechanism of the square-root loss.

    p(a, b) ∝ e^(-ε |√b - √a| / 2),   a, b = 0, 1, ..., top.

Large counts are changed more than small ones. All counts share the range 0..top, so the rows of the counts 0..largest are
ε-DP without a δ (Theorem 4.1); the loss is not additive, hence ε/2. A count above `largest` uses the last row, outside the
claim: the audit shows the δ of that step.

Source: Rinott, O'Keefe, Shlomo & Skinner (2018), section 5.4.
"""

import math

from discreet.errors import InfeasibleDesign
from discreet.noise.design import require_epsilon
from discreet.noise.families.exponential import exponential_rows, in_words
from discreet.noise.family import EPSILON, Family, Parameter
from discreet.noise.ideal_distribution import IdealTable
from discreet.noise.quantise import table_maker

_CUT = 1e-6
_MOST_ENTRIES = 1_000_000


def ideal_hellinger(epsilon: float, largest: int = 50, *, top: int | None = None) -> IdealTable:
    """Hellinger-type noise for the counts 0..largest, a public bound of the counts.

    The largest released value is `top`; by default the distribution of `largest` leaves 1e-6 beyond it.
    """
    require_epsilon(epsilon)
    if largest < 1:
        raise InfeasibleDesign(f"largest = {largest}: at least the counts 0 and 1 need rows.")
    highest = _default_top(epsilon, largest) if top is None else top
    if highest < largest:
        raise InfeasibleDesign(
            f"top = {highest} lies below largest = {largest}: the range must hold every count."
        )
    if (largest + 1) * (highest + 1) > _MOST_ENTRIES:
        raise InfeasibleDesign(
            f"Hellinger-type noise with epsilon = {epsilon} reaches {highest}: "
            f"{(largest + 1) * (highest + 1):,} entries, and at most {_MOST_ENTRIES:,} fit a table.",
            "Take a larger epsilon, a smaller `largest`, or give `top`.",
        )
    # The sensitivity of |√b - √a| between a and a+1 is 1, reached at a = 0.
    rows = exponential_rows(lambda a, b: abs(math.sqrt(b) - math.sqrt(a)), epsilon / 2, largest, highest)
    note = (
        f"Rows reach the count {largest}; larger counts use its row, outside the epsilon of the design. "
        f"Released values lie in 0..{highest} for the counts up to {largest}."
    )
    return IdealTable(rows, 1, "hellinger", {"epsilon": epsilon, "largest": largest, "top": highest}, (note,))


def _default_top(epsilon: float, largest: int) -> int:
    """The value beyond which the tail of the row of `largest` is below 1e-6.

    The tail beyond B is about (2/c²)(c√B + 1) e^(-c(√B - √a)) with c = ε/2, over at least 1 for the whole.
    """
    c, root = epsilon / 2, math.sqrt(largest) + 1
    while 2 / c**2 * (c * root + 1) * math.exp(-c * (root - math.sqrt(largest))) > _CUT:
        root += 1
    return math.ceil(root**2)


hellinger = table_maker("hellinger", ideal_hellinger)

FAMILY = Family(
    "hellinger",
    "Square-root loss: larger counts are changed more.",
    (
        EPSILON,
        Parameter("largest", "largest count with a row of its own", int),
        Parameter("top", "largest released value", int),
    ),
    ideal_hellinger,
    page="methods/hellinger.md",
    make=hellinger,
    place=30,
    at_epsilon=lambda epsilon, _delta: ((table := hellinger(epsilon=epsilon)), in_words(table)),
    colour="#A6761D",
)
