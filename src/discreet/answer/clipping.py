"""Numbers below zero: what it does to a table to show them as zero, and what a reader is told where they are shown.

A count c with noise e is shown as max(0, c + e) where clipping is on. That raises it on average by

    bias(c) = E max(0, -(c + e)) = sum over k < -c of (-c - k) P(e = k | c),

which is largest for the smallest counts and goes to zero as c grows. It follows from the public law of the noise alone.
Sums of clipped cells add their biases up; so totals are added up first and clipped last.

Comes from: the law of a release. Goes to: `pipeline` (whether signed counts are carried too), the notes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from discreet.model.noise_law import CellLaw, NoiseLaw, PlainLaw


def goes_below_zero(law: NoiseLaw) -> bool:
    """Whether the noise can take any count of a table below zero."""
    return any(_bias(cell) > 0 for cell in law.laws)


def largest_bias(law: NoiseLaw) -> float:
    """By how much clipping raises, on average, the count that it raises most.

    >>> from discreet.noise import laplace
    >>> from discreet.noise.table_law import TableLaw
    >>> round(largest_bias(TableLaw(laplace(epsilon=1.0, m=2), (2,))), 3)
    0.318
    """
    return max((_bias(cell) for cell in law.laws), default=0.0)


def clipping_note(law: NoiseLaw, *, clips: bool) -> str:
    """What a reader is told of numbers below zero; nothing where there can be none."""
    bias = largest_bias(law)
    if not bias:
        return ""
    if clips:
        return (
            "Counts below zero are shown as zero. On average this raises a count of few people or nobody, by up to "
            f"{bias:.2g}, and a sum of such counts by as much for each. Every file also has the counts as they were "
            "(signed): use these to add up."
        )
    return (
        "Counts can be negative because the noise may lower a count by more than the people in it. Leave them as they "
        "are when you add up: with zeros in their place, sums of small counts would be too large."
    )


@lru_cache(maxsize=256)
def _bias(law: CellLaw) -> float:
    """The largest bias of one cell's law over all counts: of each row at the smallest count that it serves."""
    lowest = min(each.reach[0] for each in law.laws)
    counts = np.arange(max(0, -lowest))
    rows, first = np.unique(law.law_index(counts), return_index=True)
    return max(
        (
            _raised(law.laws[row], int(counts[at]))
            for row, at in zip(rows.tolist(), first.tolist(), strict=True)
        ),
        default=0.0,
    )


def _raised(law: PlainLaw, count: int) -> float:
    """E max(0, -(count + noise))."""
    low, chances = law.law()
    below = np.maximum(0, -(count + low + np.arange(chances.size)))
    return float(below @ chances)
