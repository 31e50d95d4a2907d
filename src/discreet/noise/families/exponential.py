"""The exponential mechanism for any loss function.

    P(release b | count a) ∝ e^(-(ε/2) loss(a, b) / Δ),   b = 0..top,
    Δ = the largest |loss(a, b) - loss(a', b)| over neighbouring counts a, a' and all b.

With a range that does not depend on the count this is ε-DP for any loss. The half is needed because the normalising constant
may change by e^(ε/2) too. Δ is computed: a declared sensitivity that is too small is refused.

Source: McSherry & Talwar (2007); Rinott, O'Keefe, Shlomo & Skinner (2018), Theorem 4.1 (η = ε/2).
"""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

from discreet.errors import InfeasibleDesign
from discreet.noise.design import require_epsilon
from discreet.noise.family import EPSILON, Family, Parameter
from discreet.noise.ideal_distribution import IdealRow, IdealTable
from discreet.noise.quantise import quantise
from discreet.noise.table import NoiseTable

Loss = Callable[[int, int], float]

_SLACK = 1e-12
#: By name: larger counts use the row of this one.
_LARGEST = 50
#: By name: the range ends where the tail is below e^-14, about one in a million.
_REACH = 14.0


def exponential(
    loss: Loss, *, modulus: int = 2**32, rounding: str = "exact", **parameters: Any
) -> NoiseTable:
    """The noise table of a loss function; the other arguments are those of `ideal_exponential`.

    >>> exponential(lambda a, b: abs(a - b), epsilon=2, largest=3).row(3).values
    (-3, -2, -1, 0)
    """
    return quantise(ideal_exponential(loss, **parameters), modulus, rounding)


def ideal_exponential(
    loss: Loss, *, epsilon: float, largest: int, top: int | None = None, sensitivity: float | None = None
) -> IdealTable:
    """The design for the counts 0..largest; larger counts use the last row, outside the claim.

    Args:
        loss: loss(true count, released value), not negative.
        epsilon: Privacy loss of one cell.
        largest: The largest count with a separate row.
        top: The largest released value; `largest` by default.
        sensitivity: A declared Δ, at least the computed one.
    """
    require_epsilon(epsilon)
    highest = largest if top is None else top
    if largest < 1 or highest < 1:
        raise InfeasibleDesign(f"largest = {largest}, top = {highest}: both must be at least 1.")
    needed, place = loss_sensitivity(loss, largest, highest)
    used = needed if sensitivity is None else sensitivity
    if used < needed - _SLACK:
        raise InfeasibleDesign(
            f"The declared sensitivity {used:g} is too small: between the counts {place[0]} and "
            f"{place[0] + 1} the loss of releasing {place[1]} changes by {needed:g}.",
            f"Declare {needed:g} or more, or leave it out.",
        )
    if not used > 0:
        raise InfeasibleDesign("The loss does not depend on the count: no noise can be drawn from it.")
    rows = exponential_rows(loss, epsilon / (2 * used), largest, highest)
    parameters = {"epsilon": epsilon, "largest": largest, "top": highest, "sensitivity": used}
    note = f"Rows reach the count {largest}; larger counts use its row, outside the epsilon of the design."
    return IdealTable(rows, 1, "exponential", parameters, (note,))


def loss_sensitivity(loss: Loss, largest: int, top: int) -> tuple[float, tuple[int, int]]:
    """Δ and the (count, release) that reaches it, over the counts 0..largest and releases 0..top."""
    losses = {place: float(loss(*place)) for place in product(range(largest + 1), range(top + 1))}
    for (a, b), each in losses.items():
        if not math.isfinite(each):
            raise InfeasibleDesign(f"The loss of releasing {b} for the count {a} is not a finite number.")
    return max((abs(losses[a, b] - losses[a - 1, b]), (a - 1, b)) for a, b in losses if a)


def exponential_rows(loss: Loss, rate: float, largest: int, top: int) -> tuple[IdealRow, ...]:
    """The rows p(a, b) ∝ e^(-rate·loss(a, b)) of the counts 0..largest over the range 0..top."""
    rows = []
    for a in range(largest + 1):
        losses = [loss(a, b) for b in range(top + 1)]
        least = min(losses)
        weights = [math.exp(-rate * (x - least)) for x in losses]
        if min(weights) < 1e-300:
            raise InfeasibleDesign(
                f"Releasing {weights.index(min(weights))} for the count {a} is too unlikely for any key.",
                "Take a smaller epsilon or a smaller range.",
            )
        total = math.fsum(weights)
        values = tuple(b - a for b in range(top + 1))
        rows.append(IdealRow(values, tuple(w / total for w in weights)))
    return tuple(rows)


def in_words(table: NoiseTable) -> str:
    """The guarantee of a family with a bounded range, as a sentence."""
    return f"Pure epsilon on 0..{table.parameters['top']}, for counts up to {len(table.rows) - 1}."


def _by_name(epsilon: float, largest: int = _LARGEST, top: int | None = None) -> IdealTable:
    """The design with the loss |count - release|."""
    highest = largest + math.ceil(2 * _REACH / epsilon) if top is None else top
    return ideal_exponential(lambda a, b: abs(a - b), epsilon=epsilon, largest=largest, top=highest)


FAMILY = Family(
    "exponential",
    "The exponential mechanism; by name with the loss |count - release|, from Python with any loss.",
    (
        EPSILON,
        Parameter("largest", "largest count with a row of its own", int),
        Parameter("top", "largest released value", int),
    ),
    _by_name,
    page="methods/exponential.md",
    make=exponential,
    place=100,
    rounding="ceiling",
    at_epsilon=lambda epsilon, _: ((table := quantise(_by_name(epsilon), 2**32, "ceiling")), in_words(table)),
    colour="#52606D",
)
