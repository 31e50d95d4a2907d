"""Basic composition: what tables with their own epsilon and delta promise together, and one kind of table exactly.

    (sum of epsilon, sum of delta)                                           Rinott Theorem 7.1

Each table's delta is the exact one of its integers at its epsilon. When neighbours replace a record, one cell of each
table gains it and another loses it: the pair is composed exactly where that is quick, and by the same theorem,
(2 epsilon, delta forward + delta backward), where it is not.

Source: Rinott et al. (2018), Theorem 7.1; Dwork & Roth (2014), Theorem 3.16.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from discreet.privacy.audit import curve
from discreet.privacy.audit import delta as exact_delta
from discreet.privacy.audit import epsilon as exact_epsilon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.noise.table import NoiseTable

#: A pair of cells of tables with at most so many values is composed exactly.
WIDEST_EXACT_PAIR = 300
#: So many changed cells of one kind of table are composed exactly, or bounded by spreading ratios.
MOST_EXACT_CELLS = 8
WIDEST_EXACT_TABLE = 120


class Spent(NamedTuple):
    """A noise table, the epsilon at which one of its cells is accounted, and how many margins use it."""

    table: NoiseTable
    epsilon: float
    times: int = 1


def table_delta(table: NoiseTable, epsilon: float, changes: int = 1) -> Fraction:
    """The delta of one table of disjoint cells at `changes` times epsilon.

    >>> from discreet.noise import laplace
    >>> exact = table_delta(laplace(epsilon=1.0, m=10, modulus=2**64), 1.0)
    >>> round(float(exact), 8)
    2.098e-05
    """
    if changes == 1:
        return exact_delta(table, epsilon=epsilon)
    point = curve(table, [epsilon])[0]
    added = point.delta_forward + point.delta_backward
    if len(table.rows) == 1 and len(table.rows[0].values) <= WIDEST_EXACT_PAIR:
        # The product of two laws is bounded from above where it is wide; both figures hold, so the smaller does.
        return min(added, exact_delta(table, epsilon=2 * Fraction(epsilon), neighbours="replace-one"))
    return added


def basic(parts: Sequence[Spent], changes: int = 1) -> tuple[Fraction, Fraction]:
    """Theorem 7.1 for many tables: epsilon and delta, both exact sums.

    Args:
        parts: The tables with the epsilon of one changed cell.
        changes: In how many cells of a table a record shows: 2 when it is replaced.
    """
    epsilon = sum((changes * part.times * Fraction(part.epsilon) for part in parts), Fraction(0))
    delta = sum((part.times * table_delta(part.table, part.epsilon, changes) for part in parts), Fraction(0))
    return epsilon, min(Fraction(1), delta)


def one_kind(parts: Sequence[Spent], changes: int, delta: Fraction) -> float | None:
    """The epsilon of margins that all use one noise table, from the product of their laws; None where too large."""
    if len(parts) != 1 or len(parts[0].table.rows) != 1:
        return None
    table, _, times = parts[0]
    if times * changes > MOST_EXACT_CELLS or len(table.rows[0].values) > WIDEST_EXACT_TABLE:
        return None
    neighbours = "replace-one" if changes == 2 else "add-remove"
    return exact_epsilon(table, delta=delta, neighbours=neighbours, cells=times)
