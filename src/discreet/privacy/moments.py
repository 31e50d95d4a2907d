"""What a noise row does on average: bias, variance, entropy, the chance of an exact value, support.

    bias = sum v p(v),  variance = sum v^2 p(v) - bias^2,  entropy = -sum p ln p (nats),  P(exact) = p(0)

Bias, variance and P(exact) are fractions; entropy is a float, being a sum of logarithms.

Source: Fraser & Wooton (2005); Rinott et al. (2018), section 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.model.one_line import one_line

if TYPE_CHECKING:
    from discreet.noise.table import NoiseRow, NoiseTable


@dataclass(frozen=True, slots=True)
class RowMoments:
    """The moments of the row of one count."""

    count: int
    bias: Fraction
    variance: Fraction
    entropy: float
    p_exact: Fraction
    support: tuple[int, ...]

    def __repr__(self) -> str:
        return one_line(
            self,
            f"of the count {self.count}: bias {float(self.bias):.4g}, variance {float(self.variance):.4g}",
        )


def row_moments(row: NoiseRow, count: int) -> RowMoments:
    """The moments of one row.

    >>> from discreet.noise.table import NoiseRow
    >>> row_moments(NoiseRow((-1, 0, 1), (1, 3, 4)), 5).variance
    Fraction(1, 2)
    """
    law = row.probabilities()
    entropy = math.fsum(-float(p) * math.log(p) for p in law.values())
    p_exact = law.get(0, Fraction(0))
    return RowMoments(count, row.mean(), row.variance(), abs(entropy), p_exact, row.values)


def table_moments(table: NoiseTable) -> tuple[RowMoments, ...]:
    """The moments of every row; the last row's describe large counts."""
    return tuple(row_moments(row, count) for count, row in enumerate(table.rows))
