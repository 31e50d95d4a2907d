"""What may be asked of a design: the checks that families share, and the search for the smallest width.

Each check refuses with the value and what is allowed. δ falls with the width of a law, so the smallest width
that keeps a δ is found by doubling and bisection.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from discreet.errors import InfeasibleDesign

if TYPE_CHECKING:
    from collections.abc import Callable

#: The widest noise that a table may hold.
LARGEST_M = 100_000


def require_epsilon(epsilon: float) -> None:
    """Refuse an ε that is no privacy loss."""
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise InfeasibleDesign(f"epsilon = {epsilon}: it must be above 0 and finite.")


def require_delta(delta: float) -> None:
    """Refuse a δ that is no probability of failure."""
    if not 0 < delta < 1:
        raise InfeasibleDesign(f"delta = {delta}: it must lie between 0 and 1.")


def require_width(name: str, width: int) -> None:
    """Refuse a largest change that no table can hold."""
    if not 1 <= width <= LARGEST_M:
        raise InfeasibleDesign(f"{name} = {width}: the largest change must lie between 1 and {LARGEST_M}.")


def smallest_width(keeps: Callable[[int], bool], *, limit: int, wish: str) -> int:
    """The smallest width from 1 that keeps a wish, given that every wider one does too.

    >>> smallest_width(lambda width: width * width >= 50, limit=1000, wish="a square of 50")
    8
    """
    high = 1
    while not keeps(high):
        if high >= limit:
            raise InfeasibleDesign(
                f"{wish} needs changes beyond ±{limit}.", "Take a larger epsilon or delta."
            )
        high = min(2 * high, limit)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high
