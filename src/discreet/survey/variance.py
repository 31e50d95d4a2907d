"""The sampling variance of weighted totals, from the design of the sample. Confidential: for `answer` and `assess`.

With z_hc the weights of the cell's people in unit c of stratum h, n_h units and the sampling fraction f_h:

    linearised    V = Σ_h (1 - f_h) n_h / (n_h - 1) Σ_c (z_hc - mean of stratum h)²
    replicates    V = Σ_r c_r (θ_r - θ)²

The units are the clusters (ultimate clusters: what was drawn within them is in their sums) or else the records,
drawn with replacement. A stratum with a single unit has no spread of its own: its unit counts with its whole square,
as R survey does it for totals under `lonely.psu = "adjust"`. Replicates are centred at the full estimate (`mse`).

Sums are added in the order of cells and strata: the same floats on every machine.

Source: Wolter (2007), eqs 2.4.6, 3.3.4, 4.5.1 and section 5.3; Lumley (2010), chapter 2; Rao & Shao (1999).

Estimates of a survey with their exact standard errors: totals, ratios, shares, differences. For the custodian.

An estimate carries its value, what each row of the sample adds to it per person of weight (its linearisation), and
its value by each replicate weight. So estimates can be combined, and one rule gives the error of all:

    total of A             linearisation 1_A
    ratio R = A / B        linearisation (1_A - R 1_B) / B;   a share or the mean of a 0/1 variable where A is part of B
    difference of two      the difference of their linearisations

Nothing here is released: an exact standard error would tell about the exact count.

Source: Woodruff (1971); Wolter (2007), chapter 6; Lumley (2010), section 2.

How much larger a cell's sampling variance is than that of so many people drawn at random: its design effect.

    relative variance of the cell = deff_k / n_k      so      deff_k = (√(V_k / n_k) + √n_k |x_k - w_k|)² / x_k²

with n_k its people, V_k the design's variance of its weighted count, w_k the mean weight of its people, and x_k what the
form would show without noise, per person; where the form stands on public weights, the difference to w_k is an error too,
and is added in full. What is released has the noisy count in place of √n_k: else the difference, which is
known where all people of a cell have one known weight, would tell the count.

This is the one figure of a released error that reads exact weights. A reader sees one rung of it and nothing finer:

    rung = RATIO^(⌊l⌋ + 1 + [u < l - ⌊l⌋]),    l = log(deff) / log(RATIO),    u uniform, keyed by who is in the cell

It is never below deff, on average (in logarithms) one rung above. There is no value of deff at which the rung changes for
certain: with one person more or less the chances of two rungs change a little. A rule without u tells on which side of
such a value the count lies. Design effects below (1 - n/N)(1 - ñ/n) are told as that, since a cell that is a whole stratum
has none; and of small cells nothing is told: a cell with fewer than 16 people after noise takes the largest rung of the
table's other cells, or the declared design effect where that is larger.

Source: Kish (1965), section 8.2; Wolter (2007), chapter 7 (generalised variance functions: relative variance = deff / n).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.model.exact import Confidential
from discreet.model.survey import SamplingDesign
from discreet.records.sample_rows import CellSums, SampleRows
from discreet.survey.weight_forms import SurveyDesign


def replicate_variance(
    estimate: NDArray[np.float64], replicates: Iterable[NDArray[np.float64]], design: SamplingDesign
) -> NDArray[np.float64]:
    """The variance of estimates from the same estimates by each replicate weight.

    >>> from discreet.model.survey import sampling_design
    >>> brr = sampling_design({"replicates": "r1..r2", "method": "brr"})
    >>> float(replicate_variance(np.array(10.0), [np.array(8.0), np.array(12.0)], brr))
    4.0
    """
    variance = np.zeros(np.shape(estimate))
    for coefficient, replicate in zip(design.coefficients, replicates, strict=True):
        variance = variance + float(coefficient) * (replicate - estimate) ** 2
    return variance


def stratum_variance(
    totals: NDArray[np.float64],
    squares: NDArray[np.float64],
    units: NDArray[np.int64] | int,
    fraction: NDArray[np.float64] | float = 0.0,
) -> NDArray[np.float64]:
    """The part of strata in the variance: (1 - f) n / (n - 1) (Σz² - (Σz)² / n), and Σz² of a lonely unit.

    >>> float(stratum_variance(np.array(30.0), np.array(500.0), 2))
    100.0
    >>> float(stratum_variance(np.array(40.0), np.array(1600.0), 1))
    1600.0
    """
    many = np.asarray(units, dtype=np.float64)
    lonely = many <= 1
    centred = np.maximum(squares - totals**2 / np.maximum(many, 1), 0)
    spread = np.where(lonely, squares, many / np.where(lonely, 1, many - 1) * centred)
    return np.asarray((1 - np.asarray(fraction)) * spread)


def fractions(design: SamplingDesign, strata: int) -> NDArray[np.float64]:
    """The sampling fraction of each stratum, in the order in which they are stored."""
    named = [value for value, _ in design.fpc if value]
    listed = [float(design.fraction_of(named[place] if named else "")) for place in range(strata)]
    return np.array(listed)


def cell_variances(
    sums: CellSums, units: NDArray[np.int64], design: SamplingDesign, lengths: tuple[int, ...]
) -> NDArray[np.float64]:
    """The linearised variance of every cell of a table, in people squared."""
    fraction = fractions(design, units.size)
    parts = stratum_variance(sums.totals, sums.squares, units[sums.stratum], fraction[sums.stratum])
    flat = np.bincount(sums.cell, weights=parts, minlength=int(np.prod(lengths)))
    return np.asarray(flat.reshape(lengths))


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

    def __init__(self, rows: SampleRows, design: SamplingDesign) -> None:
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
        totals = _sum_by_group(rows.stratum, summed, strata)
        if rows.squares is not None:
            squares = _sum_by_group(rows.stratum, influence**2 * rows.squares, strata)
        else:
            by_unit = _sum_by_group(rows.unit, summed)
            stratum_of = np.zeros(by_unit.size, dtype=np.int64)
            stratum_of[rows.unit] = rows.stratum
            squares = _sum_by_group(stratum_of, by_unit**2, strata)
        parts = stratum_variance(totals, squares, rows.units, fractions(self._design, strata))
        return float(np.sqrt(parts.sum()))


def _sum_by_group(
    group: NDArray[np.int64], values: NDArray[np.float64], groups: int = 0
) -> NDArray[np.float64]:
    """The sum of the values of each group, in the order of the rows."""
    return np.asarray(np.bincount(group, weights=values, minlength=groups), dtype=np.float64)


#: Cells with fewer people after noise have no design effect of their own: with deff 1 their error is 25 % and more.
SMALL = 16
#: The ratio of two rungs of design effects: printed errors are raised by its root on average.
RATIO = 1.25
#: Has a logarithm: a whole population in the sample has no sampling error.
_TINY = 1e-9


def design_effects(
    variance: NDArray[np.float64],
    counts: NDArray[np.int64],
    weighted: NDArray[np.float64],
    without_noise: NDArray[np.float64],
    noisy: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The design effect of each cell; 0 where nobody is.

    Args:
        variance: Of the weighted counts, by the design.
        counts: Exact sample counts.
        weighted: Exact weighted counts, in people.
        without_noise: What the form would show without noise, in people.
        noisy: Sample counts with their noise, for what is released; else the exact ones.

    >>> one = np.array([16])
    >>> design_effects(np.array([625.0]), one, np.array([100.0]), np.array([100.0]), one).tolist()
    [1.0]
    """
    known = (counts > 0) & (without_noise > 0)
    people = np.where(known, counts, 1)
    missed = np.abs(without_noise - weighted) / people
    error = np.sqrt(variance / people) + np.sqrt(np.maximum(noisy, 0)) * missed
    return np.where(known, (error * people / np.where(known, without_noise, 1)) ** 2, 0.0)


def minimum_effects(noisy: NDArray[np.int64], design: SurveyDesign) -> NDArray[np.float64]:
    """The least design effects that are told: those of people drawn at random, with at least 16 people outside the cell."""
    outside = np.maximum(design.sample_size - noisy, min(SMALL, design.sample_size))
    return np.asarray(float(1 - design.sampling_fraction) * np.minimum(outside / design.sample_size, 1))


def effect_steps(
    effects: NDArray[np.float64], least: NDArray[np.float64], chances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The rung of each design effect, by chance the next or the one after it.

    Args:
        effects: Of each cell.
        least: Design effects below it are told as it is.
        chances: Numbers from 0 to 1 that belong to the people of each cell; secret.

    >>> np.log(effect_rungs(np.full(2, RATIO**2.3), np.ones(2), np.array([0.2, 0.4]))) / np.log(RATIO)
    array([4., 3.])
    """
    at = np.log(np.maximum(effects, np.maximum(least, _TINY))) / np.log(RATIO)
    whole = np.floor(at)
    return np.asarray(RATIO ** (whole + 1 + (chances < at - whole)))


def effects_for_release(
    effects: NDArray[np.float64], noisy: NDArray[np.int64], declared: float, shown: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The design effects that errors are made of: small cells take the largest of the others.

    Args:
        effects: The rung of each cell.
        noisy: Sample counts with their noise.
        declared: The declared design effect, the least for small cells.
        shown: Cells that can occur.

    >>> both = np.array([1.2, 9.0, 3.0])
    >>> told_effects(both, np.array([100, 4, 50]), 1.1, np.full(3, True)).tolist()
    [1.2, 3.0, 3.0]
    """
    small = noisy < SMALL
    largest = max(declared, float(effects[~small & shown].max(initial=0.0)))
    return np.where(small, largest, effects)
