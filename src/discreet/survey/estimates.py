"""Estimates of a survey with their exact standard errors: totals, ratios, shares, differences. For the custodian.

An estimate carries its value, what each row of the sample adds to it per person of weight (its linearisation), and
its value by each replicate weight. So estimates can be combined, and one rule gives the error of all:

    total of A             linearisation 1_A
    ratio R = A / B        linearisation (1_A - R 1_B) / B;   a share or the mean of a 0/1 variable where A is part of B
    difference of two      the difference of their linearisations

Nothing here is released: an exact standard error would tell about the exact count.

Source: Woodruff (1971); Wolter (2007), chapter 6; Lumley (2010), section 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.model.confidential import Confidential
from discreet.survey.variance import fractions, replicate_variance, stratum_variance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.model.sampling_design import SamplingDesign
    from discreet.records.sampled_rows import SampledRows


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Confidential):
    """A number estimated from a sample.

    Args:
        value: By the weights themselves.
        influence: What one person of weight in each row adds to it, to first order.
        replicates: The same estimate by each replicate weight.
    """

    value: float
    influence: NDArray[np.float64]
    replicates: NDArray[np.float64]

    def __sub__(self, other: Estimate) -> Estimate:
        """The difference of two estimates from one sample."""
        return Estimate(
            self.value - other.value, self.influence - other.influence, self.replicates - other.replicates
        )

    def __truediv__(self, other: Estimate) -> Estimate:
        """The ratio of two estimates from one sample; the other is not zero."""
        ratio = self.value / other.value
        influence = (self.influence - ratio * other.influence) / other.value
        return Estimate(ratio, influence, self.replicates / other.replicates)


class Sample(Confidential):
    """A sample and its design.

    Args:
        rows: The sample by categories and units.
        design: How it was drawn.
    """

    __slots__ = ("_design", "_rows")

    def __init__(self, rows: SampledRows, design: SamplingDesign) -> None:
        self._rows = rows
        self._design = design

    def total(self, *place: int) -> Estimate:
        """The weighted total of the cell at a place of the table."""
        rows, inside = self._rows, self._rows.inside(place)
        replicates = [int(column[inside].sum()) / rows.scale for column in rows.replicates]
        return Estimate(
            int(rows.weights[inside].sum()) / rows.scale, inside.astype(np.float64), np.array(replicates)
        )

    def standard_error(self, estimate: Estimate) -> float:
        """The standard error of an estimate, by the design of the sample."""
        if self._design.replicates:
            variance = replicate_variance(np.array(estimate.value), list(estimate.replicates), self._design)
            return float(np.sqrt(variance))
        rows, influence = self._rows, estimate.influence
        strata = rows.units.size
        summed = influence * (rows.weights / rows.scale)
        totals = _added(rows.stratum, summed, strata)
        if rows.squares is not None:
            squares = _added(rows.stratum, influence**2 * rows.squares, strata)
        else:
            by_unit = _added(rows.unit, summed)
            stratum_of = np.zeros(by_unit.size, dtype=np.int64)
            stratum_of[rows.unit] = rows.stratum
            squares = _added(stratum_of, by_unit**2, strata)
        parts = stratum_variance(totals, squares, rows.units, fractions(self._design, strata))
        return float(np.sqrt(parts.sum()))


def _added(group: NDArray[np.int64], values: NDArray[np.float64], groups: int = 0) -> NDArray[np.float64]:
    """The sum of the values of each group, in the order of the rows."""
    return np.asarray(np.bincount(group, weights=values, minlength=groups), dtype=np.float64)
