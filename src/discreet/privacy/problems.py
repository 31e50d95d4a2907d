"""What a custodian should know before using a noise table: one sentence a problem, rows named.

Source: Rinott et al. (2018), sections 4.3-4.5 (zeros, negative counts, delta against 1/N).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from fractions import Fraction

    from discreet.noise.table import NoiseTable
    from discreet.privacy.moments import RowMoments

NAMED_ROWS = 8
LARGEST_SEARCH = 100_000
#: A table rounded to its modulus is off by less than this; a designed bias is larger.
BIAS_WORTH_SAYING = 1e-6


def find_problems(
    rows: Sequence[RowMoments],
    delta: Fraction,
    *,
    epsilon: float,
    asked: float | Fraction | None,
    population: int | None,
) -> tuple[str, ...]:
    """All that is worth a warning; an empty tuple means nothing was found."""
    found = [
        _no_epsilon(delta, epsilon, asked),
        _above_one_in_population(delta, epsilon, population),
        _bias(rows),
        _unchanged(rows),
    ]
    return tuple(sentence for sentence in found if sentence)


def find_notes(table: NoiseTable, rows: Sequence[RowMoments]) -> tuple[str, ...]:
    """What a reader of the numbers should know, though it is meant to be so."""
    return tuple(sentence for sentence in (_zeros(rows[0], rows), _negative(table)) if sentence)


def _no_epsilon(delta: Fraction, epsilon: float, asked: float | Fraction | None) -> str:
    if asked is None or math.isfinite(epsilon):
        return ""
    return (
        f"No epsilon reaches delta {float(asked):.6g}: outputs that one of two neighbouring counts can never "
        f"make have probability {float(delta):.6g}."
    )


def _above_one_in_population(delta: Fraction, epsilon: float, population: int | None) -> str:
    if population is None or delta * population <= 1:
        return ""
    return (
        f"Delta is {float(delta):.3g} at epsilon {epsilon:.6g}, above 1/N for N = {population}: "
        "the promise allows that someone's presence is revealed outright."
    )


def _zeros(zero: RowMoments, rows: Sequence[RowMoments]) -> str:
    if zero.support != (0,) or all(row.support == (0,) for row in rows):
        return ""
    return "Zero stays zero: any other released value proves that the true count is not zero."


def _bias(rows: Sequence[RowMoments]) -> str:
    biased = [row for row in rows if abs(row.bias) > BIAS_WORTH_SAYING]
    if not biased:
        return ""
    worst = max(biased, key=lambda row: abs(row.bias))
    return (
        f"The mean is not zero for {_named(biased, rows)}; the largest bias is {float(worst.bias):.6g}, "
        f"at count {worst.count}."
    )


def _unchanged(rows: Sequence[RowMoments]) -> str:
    """Zero has a sentence of its own, unless nothing at all is perturbed."""
    fixed = [row for row in rows if row.support == (0,) and (row.count > 0 or len(rows) == 1)]
    return f"No noise at all for {_named(fixed, rows)}: released as counted." if fixed else ""


def _negative(table: NoiseTable) -> str:
    """No count of `largest` or more can: the search stops there."""
    below = next(
        (c for c in reversed(range(min(table.largest, LARGEST_SEARCH))) if c + table.row(c).values[0] < 0),
        None,
    )
    if below is None:
        return ""
    return f"Counts up to {below} can become negative; clipping them at zero adds bias, never protection."


def _named(some: Sequence[RowMoments], rows: Sequence[RowMoments]) -> str:
    """Counts in words; the last row is named with all the larger counts that it serves."""
    if len(some) == len(rows):
        return "every count"
    names = [f"{row.count} and above" if row is rows[-1] else str(row.count) for row in some]
    shown = ", ".join(names[:NAMED_ROWS])
    more = f" and {len(names) - NAMED_ROWS} more" if len(names) > NAMED_ROWS else ""
    return f"count{'s' if len(names) > 1 else ''} {shown}{more}"
