"""What quantisation did to a design: bias, variance error, lost values, and the paper's (ε^Q, δ^Q).

    ε^Q = min { ε : p^Q(z) / p^Q(z-1) < e^ε, z in [-D+1, D] },   δ^Q = max { p^Q(-D), p^Q(D) }.      (45, 46)

They look at one direction of one row; after the ceiling the other direction can be worse, so they are figures
to set beside the paper. The exact audit of the same integers is that of `discreet.privacy`.

Source: Sadeghi & Chien (2022), eqs 42-46.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.noise.ideal import IdealRow, IdealTable
    from discreet.noise.table import NoiseRow, NoiseTable

#: A relative change of variance that a reader must be told.
_NOTED_VARIANCE_ERROR = 0.01
#: A change of mean that a reader must be told where the design itself is biased; elsewhere any is.
_NOTED_BIAS_CHANGE = 1e-3
_NO_BIAS = 1e-9


@dataclass(frozen=True, slots=True)
class RowReport:
    """What quantisation did to the row of one count.

    Args:
        count: The first count that the row serves.
        bias: The mean of the integers, exactly; the design's is in `ideal_bias`.
        ideal_bias: The mean of the design.
        variance: The variance of the integers, exactly.
        variance_error: Relative: (V^Q - V) / V; 0 where the design has no variance.
        lost: Values of the design that no key selects any more.
        paper_epsilon: ε^Q of eq. 45: the largest log-ratio of p(z) to p(z-1) within the support, that
            direction only; infinite where a value was lost.
        paper_delta: δ^Q of eq. 46: the larger of the two end masses.
    """

    count: int
    bias: Fraction
    ideal_bias: float
    variance: Fraction
    variance_error: float
    lost: tuple[int, ...]
    paper_epsilon: float
    paper_delta: Fraction

    def is_unbiased_design(self) -> bool:
        """Whether the design means to have no bias; its floats know that to about 1e-13."""
        return abs(self.ideal_bias) < _NO_BIAS

    def bias_change(self) -> Fraction:
        """The bias that quantisation added to the design's."""
        return self.bias - (0 if self.is_unbiased_design() else Fraction(self.ideal_bias))


@dataclass(frozen=True, slots=True)
class QuantisationReport:
    """What quantisation did to a design, row by row.

    `paper_epsilon` and `paper_delta` look at one direction of one row, as the paper does; the exact audit of
    both directions and all neighbouring counts is that of `discreet.privacy`.
    """

    rows: tuple[RowReport, ...]

    @property
    def last(self) -> RowReport:
        """The report of the row of large counts."""
        return self.rows[-1]

    @property
    def lost(self) -> tuple[tuple[int, int], ...]:
        """Every (count, value) that the design has and no key selects."""
        return tuple((row.count, value) for row in self.rows for value in row.lost)

    def notes(self) -> tuple[str, ...]:
        """What a reader of the table must be told: lost values, bias, a variance changed by over 1 %."""
        said = []
        if self.lost:
            said.append(f"Quantisation lost {len(self.lost)} value(s), as (count, value): {list(self.lost)}.")
        worst = max(self.rows, key=lambda row: abs(row.bias_change()))
        if abs(worst.bias_change()) > (0 if worst.is_unbiased_design() else _NOTED_BIAS_CHANGE):
            said.append(
                f"Quantisation adds a bias of {float(worst.bias_change()):.6g} in the row of "
                f"count {worst.count}."
            )
        moved = max(self.rows, key=lambda row: abs(row.variance_error))
        if abs(moved.variance_error) > _NOTED_VARIANCE_ERROR:
            said.append(
                f"Quantisation changes the variance by {100 * moved.variance_error:+.2f} % in the row of "
                f"count {moved.count}: there are few keys for rare values."
            )
        return tuple(said)


def quantisation_report(ideal: IdealTable, table: NoiseTable) -> QuantisationReport:
    """Compare a design with the integers made from it, row by row."""
    pairs = zip(ideal.rows, table.rows, strict=True)
    return QuantisationReport(
        tuple(_row_report(i, ideal_row, row) for i, (ideal_row, row) in enumerate(pairs))
    )


def _row_report(count: int, ideal: IdealRow, row: NoiseRow) -> RowReport:
    wanted = ideal.variance()
    epsilon, delta = paper_epsilon_delta(row, ideal.values)
    return RowReport(
        count=count,
        bias=row.mean(),
        ideal_bias=ideal.mean(),
        variance=row.variance(),
        variance_error=float(row.variance() - Fraction(wanted)) / wanted if wanted else 0.0,
        lost=tuple(v for v in ideal.values if v not in set(row.values)),
        paper_epsilon=epsilon,
        paper_delta=delta,
    )


def paper_epsilon_delta(row: NoiseRow, support: Sequence[int]) -> tuple[float, Fraction]:
    """(ε^Q, δ^Q) of eqs 45-46 for a row whose design had this support.

    The paper compares p(z) with p(z-1) only; after the ceiling the other direction can be worse, so this is
    a figure to set beside the paper, not a guarantee.
    """
    mass = dict(zip(row.values, row.masses(), strict=True))
    ratios = [
        (mass.get(z, 0), mass.get(z - 1, 0)) for z in support[1:] if mass.get(z, 0) or mass.get(z - 1, 0)
    ]
    epsilon = max((_log_ratio(upper, lower) for upper, lower in ratios), default=0.0)
    return epsilon, Fraction(max(mass.get(support[0], 0), mass.get(support[-1], 0)), row.modulus)


def _log_ratio(upper: int, lower: int) -> float:
    """log(upper/lower), infinite above zero."""
    if not lower:
        return math.inf
    return math.log(upper / lower) if upper else -math.inf
