"""The law on all integers that a noise table stands for: a shipped table is this law, cut and rounded.

A claim about the law (zCDP, the Gaussian trade-off) holds for the shipped table when its delta is raised by the
distance between the two, which the law computes from above:

    distance = sum over all integers z of max(0, law(z) - shipped(z)).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from decimal import Decimal

    from discreet.noise.table import NoiseRow, NoiseTable

LAW_DIGITS = Context(prec=60, Emin=-(10**9), Emax=10**9)
#: What 60 digits and a cut sum can be wrong by, and much more.
_ALLOWANCE = Fraction(1, 10**35)


@dataclass(frozen=True, slots=True)
class IdealLaw:
    """A law on all integers, fixed by one number.

    Args:
        scale: The parameter of a noise table that fixes the law: `epsilon` or `V`.
        rho: The zCDP of one cell that changes by one, from the scale; exact.
        distance: An upper bound on the total variation between a row and the law of a scale.
        rounded_normal: Whether it is a normal variable of variance `scale`, rounded: privacy losses then follow the
            Gaussian trade-off.
    """

    scale: str
    rho: Callable[[Fraction], Fraction]
    distance: Callable[[NoiseRow, float], Fraction]
    rounded_normal: bool = False

    def scale_of(self, table: NoiseTable) -> float:
        """The number that fixes the law of a table."""
        return float(table.parameters[self.scale])


def missing_mass(row: NoiseRow, law: Sequence[Decimal]) -> Fraction:
    """The mass of a symmetric law that a row lacks: value by value within its reach, and all of it beyond.

    Args:
        row: The shipped noise.
        law: The probabilities of 0, 1, ..., up to the reach of the row.
    """
    shipped = row.probabilities()
    total, within = Fraction(0), Fraction(0)
    for z in range(1 - len(law), len(law)):
        ideal = Fraction(law[abs(z)])
        within += ideal
        total += max(Fraction(0), ideal - shipped.get(z, Fraction(0)))
    return total + max(Fraction(0), 1 - within) + _ALLOWANCE


def reach(row: NoiseRow) -> int:
    """The largest change that a row makes."""
    return max(map(abs, row.values))
