"""Noise as small as the claim allows: shares are raised until what will be claimed is what was granted.

Shares that add up to epsilon are what basic composition needs. The claim is by whichever argument is tightest, and with
many tables that is a smaller epsilon: the rest would never be used. So all shares are multiplied by t,

    t ← t · E / claim(t),    until  (1 - WITHIN) E ≤ claim(t) ≤ E,

and the last plan whose claim is within E is taken. Only what is public decides: nothing is read off a record.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.protect.tightest import figures

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.protect.plan import NoisePlan

#: The part of epsilon that may be left.
WITHIN = Fraction(1, 1000)
#: A step aims this much below epsilon, so that it does not end a hair above.
_BELOW = Fraction(4, 10_000)
_ROUNDS = 8


def calibrate(plan_at: Callable[[Fraction], NoisePlan]) -> NoisePlan:
    """The plan with the largest shares whose claim is within the epsilon of its terms.

    Args:
        plan_at: The plan whose shares are so many times those that add up to epsilon.
    """
    best = plan_at(Fraction(1))
    granted, times = best.terms.epsilon, Fraction(1)
    claim = _claim(best)
    for _ in range(_ROUNDS):
        if (
            not claim or granted * (1 - WITHIN) <= claim <= granted
        ):  # at delta alone, an epsilon of 0 is claimed
            break
        times = (times * granted / claim * (1 - _BELOW)).limit_denominator(10**6)
        if times <= 1:
            break
        found = plan_at(times)
        claim = _claim(found)
        if claim is not None and claim <= granted:
            best = found
    return best


def _claim(plan: NoisePlan) -> Fraction | None:
    return min((figure.epsilon for figure in figures(plan).values()), default=None)
