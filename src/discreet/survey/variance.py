"""The sample behind a table, sampling variances, estimates with exact standard errors, and design effects. Confidential.

A row of a sample is all records of one combination of categories in one sampling unit (a cluster, or a stratum if there
are no clusters). Squares are of the units' sums if there are clusters, else sums of the records' squares: both make up the
variance of a total.

With z_hc the weights of the cell's people in unit c of stratum h, n_h units and the sampling fraction f_h:

    linearised    V = Σ_h (1 - f_h) n_h / (n_h - 1) Σ_c (z_hc - mean of stratum h)²
    replicates    V = Σ_r c_r (θ_r - θ)²

Units are the clusters (ultimate clusters) or else the records, drawn with replacement. The unit of a single-unit stratum
counts with its whole square, like R survey for totals under `lonely.psu = "adjust"`. Replicates are centred at the full
estimate (`mse`). Sums are added in the order of cells and strata, so that floats are the same on every machine.

An estimate has its value, its linearisation per row of the sample, and its value by each replicate weight:

    total of A             linearisation 1_A
    ratio R = A / B        linearisation (1_A - R 1_B) / B;   a share or the mean of a 0/1 variable where A is part of B
    difference of two      the difference of their linearisations

The design effect of a cell is its relative variance times its people:

    deff_k = (√(V_k / n_k) + √n_k |x_k - w_k|)² / x_k²

with n_k its people, V_k the design's variance of its weighted count, w_k the mean weight of its people, and x_k the
value per person that the form would show without noise; the difference to w_k is an error of forms with public
weights, added in full. A released deff has the noisy count in place of √n_k, because a known difference would
disclose the count. It is the only figure of a released error that reads exact weights. Only a step of it is released:

    step = RATIO^(⌊l⌋ + 1 + [u < l - ⌊l⌋]),    l = log(deff) / log(RATIO),    u uniform, keyed by the people in the cell

It is never below deff, and one step above on average (in logarithms). With u there is no deff at which the step changes with
certainty: one person more or less changes the probabilities of two steps a little. Design effects below (1 - n/N)(1 - ñ/n)
are raised to that, because a cell that is a whole stratum has none. A cell with fewer than 16 people after noise gets the
largest step of the table's other cells, or the declared design effect where that is larger.

Source: Wolter (2007), eqs 2.4.6, 3.3.4, 4.5.1, section 5.3, chapters 6 and 7; Lumley (2010), chapter 2; Rao & Shao (1999);
Woodruff (1971); Kish (1965), section 8.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.exact import Confidential
from discreet.model.shape import TableShape
from discreet.model.survey import SamplingDesign
from discreet.records import storage
from discreet.records.engine import AggregateQuery, Engine
from discreet.records.tabulate import query_of
from discreet.survey.weight_forms import SurveyDesign


class CellSums(NamedTuple):
    """Sums by cell and stratum, sorted by both: the flat index of the cell, the stratum, Σz and Σz² of its units."""

    cell: NDArray[np.int64]
    stratum: NDArray[np.int64]
    totals: NDArray[np.float64]
    squares: NDArray[np.float64]


@dataclass(slots=True, eq=False, repr=False)
class SampleRows(Confidential):
    """The rows of a sample, with base categories for each dimension and fixed-point sums of weights and replicate weights.

    Without strata `stratum` is zero; without clusters `unit` is the stratum. `squares` are sums of squared weights, in
    people; None with clusters or replicates. `units` counts the sampling units of each stratum; `scale` is one person in
    fixed point.
    """

    shape: TableShape
    codes: tuple[NDArray[np.integer], ...]
    stratum: NDArray[np.int64]
    unit: NDArray[np.int64]
    weights: NDArray[np.int64]
    squares: NDArray[np.float64] | None
    replicates: tuple[NDArray[np.int64], ...]
    units: NDArray[np.int64]
    scale: int

    def inside(self, place: tuple[int, ...]) -> NDArray[np.bool_]:
        """Which rows lie in a cell of the table."""
        inside = np.ones(self.weights.size, dtype=np.bool_)
        for codes, dimension, at in zip(self.codes, self.shape.dimensions, place, strict=True):
            inside &= np.isin(codes, dimension.members()[at])
        return inside

    def by_cell(self) -> CellSums:
        """The sums of every cell by stratum, totals and coarser levels included."""
        rows, cell = _cells_of_rows(self.codes, self.shape)
        key = cell * (int(self.unit.max(initial=0)) + 1) + self.unit[rows]
        order = np.argsort(key, kind="stable")
        if not order.size:
            none = np.zeros(0, np.int64)
            return CellSums(none, none, np.zeros(0), np.zeros(0))
        starts = _starts(key[order])
        first, rows = order[starts], rows[order]
        totals = np.add.reduceat(self.weights[rows], starts) / self.scale
        squares = totals**2 if self.squares is None else np.add.reduceat(self.squares[rows], starts)
        cell, stratum = cell[first], self.stratum[rows[starts]]
        order = np.argsort(cell * self.units.size + stratum, kind="stable")  # units add up to strata
        starts = _starts((cell * self.units.size + stratum)[order])
        sums = (np.add.reduceat(column[order], starts) for column in (totals, squares))
        return CellSums(cell[order[starts]], stratum[order[starts]], *sums)


def _starts(ordered: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])


def _cells_of_rows(
    codes: tuple[NDArray[np.integer], ...], shape: TableShape
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every pair of a row and a cell that contains it: rows, and flat indices of cells."""
    rows = np.arange(codes[0].size)
    cell = np.zeros(rows.size, dtype=np.int64)
    for column, dimension in zip(codes, shape.dimensions, strict=True):
        # For each base category the start of its outputs in the list `places`, and their number.
        members = dimension.members()
        base = np.concatenate([np.asarray(each, dtype=np.int64) for each in members])
        output_of = np.repeat(np.arange(len(members)), [len(each) for each in members])
        places = output_of[np.argsort(base, kind="stable")]
        many = np.bincount(base, minlength=len(dimension.base))
        first = np.cumsum(many) - many
        code = column[rows]
        times = many[code]
        within = np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
        output = places[np.repeat(first[code], times) + within]
        cell = np.repeat(cell, times) * dimension.length + output
        rows = np.repeat(rows, times)
    return rows, cell


def sample_rows(engine: Engine, shape: TableShape, dataset: Dataset) -> SampleRows:
    """The rows behind a table of a survey."""
    if dataset.survey is None:
        raise ValueError("sampling errors need a survey that is described")
    design = dataset.survey.design
    units = () if design.replicates else storage.unit_columns(dataset)
    sums = () if storage.CLUSTER in units else storage.sum_columns(dataset)
    plain = query_of(shape)
    query = replace(plain, group_by=plain.group_by + units, weights=True, sums=sums)
    cells = engine.aggregate(query)
    found = dict(zip(units, cells.codes[len(plain.group_by) :], strict=True))
    # Engines return groups in any order: sorting fixes the order of float additions. Sums of clusters are integers.
    order = np.arange(cells.counts.size) if storage.CLUSTER in found else np.lexsort(cells.codes)
    stratum = found.get(storage.STRATUM, np.zeros(order.size)).astype(np.int64)[order]
    squares = None
    if sums == storage.SQUARES:
        squares = storage.join_squares(cells.sums[0], cells.sums[1], storage.square_decimals(dataset))[order]
    units_of = np.array([dataset.survey.sample_size])  # of each stratum: clusters, or else records
    if units:
        whole = engine.aggregate(AggregateQuery(units))
        strata = (
            whole.codes[0] if units[0] == storage.STRATUM else np.zeros(whole.counts.size, dtype=np.int64)
        )
        size = whole.counts if storage.CLUSTER not in units else np.ones(whole.counts.size)
        units_of = np.bincount(strata, weights=size).astype(np.int64)
    return SampleRows(
        shape,
        tuple(codes[order] for codes in cells.codes[: len(plain.group_by)]),
        stratum,
        found[storage.CLUSTER].astype(np.int64)[order] if storage.CLUSTER in found else stratum,
        cast("NDArray[np.int64]", cells.weight_sums)[order],
        squares,
        tuple(column[order] for column in cells.sums) if design.replicates else (),
        units_of,
        10**dataset.weight_decimals,
    )


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
    """The variance within strata: (1 - f) n / (n - 1) (Σz² - (Σz)² / n), and Σz² for a single unit.

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
    """The sampling fraction of each stratum, in storage order."""
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
        influence: The contribution per unit of weight of each row, to first order.
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


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Confidential):
    """A sample and its design."""

    _rows: SampleRows
    _design: SamplingDesign

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
        totals = np.bincount(rows.stratum, summed, strata)
        if rows.squares is not None:
            squares = np.bincount(rows.stratum, influence**2 * rows.squares, strata)
        else:
            by_unit = np.bincount(rows.unit, summed)
            stratum_of = np.zeros(by_unit.size, dtype=np.int64)
            stratum_of[rows.unit] = rows.stratum
            squares = np.bincount(stratum_of, by_unit**2, strata)
        sums, of_squares = (np.asarray(each, dtype=np.float64) for each in (totals, squares))
        parts = stratum_variance(sums, of_squares, rows.units, fractions(self._design, strata))
        return float(np.sqrt(parts.sum()))


#: Cells with fewer people after noise get a common design effect: with deff 1 their error is at least 25 %.
SMALL = 16
#: The ratio of two steps of design effects: printed errors rise by its root on average.
RATIO = 1.25
#: A positive lower bound, for the logarithm: a full census has no sampling error.
_TINY = 1e-9


def design_effects(
    variance: NDArray[np.float64],
    counts: NDArray[np.int64],
    weighted: NDArray[np.float64],
    without_noise: NDArray[np.float64],
    noisy: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The design effect of each cell; 0 for empty cells.

    Args:
        variance: Of the weighted counts, by the design.
        counts: Exact sample counts.
        weighted: Exact weighted counts, in people.
        without_noise: The values of the form without noise, in people.
        noisy: Noisy sample counts for a release; else the exact ones.

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
    """The smallest released design effects: those of random sampling, with at least 16 people outside the cell."""
    outside = np.maximum(design.sample_size - noisy, min(SMALL, design.sample_size))
    return np.asarray(float(1 - design.sampling_fraction) * np.minimum(outside / design.sample_size, 1))


def effect_steps(
    effects: NDArray[np.float64], least: NDArray[np.float64], chances: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The step of each design effect, randomly the next or the one after it.

    Args:
        effects: Of each cell.
        least: Smaller design effects are raised to it.
        chances: Secret numbers from 0 to 1, keyed by the people of each cell.

    >>> np.log(effect_steps(np.full(2, RATIO**2.3), np.ones(2), np.array([0.2, 0.4]))) / np.log(RATIO)
    array([4., 3.])
    """
    at = np.log(np.maximum(effects, np.maximum(least, _TINY))) / np.log(RATIO)
    whole = np.floor(at)
    return np.asarray(RATIO ** (whole + 1 + (chances < at - whole)))


def effects_for_release(
    effects: NDArray[np.float64], noisy: NDArray[np.int64], declared: float, shown: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The design effects used for released errors: small cells take the largest of the others.

    Args:
        effects: The step of each cell.
        noisy: Noisy sample counts.
        declared: The declared design effect, the minimum for small cells.
        shown: Cells that can occur.

    >>> both = np.array([1.2, 9.0, 3.0])
    >>> effects_for_release(both, np.array([100, 4, 50]), 1.1, np.full(3, True)).tolist()
    [1.2, 3.0, 3.0]
    """
    small = noisy < SMALL
    largest = max(declared, float(effects[~small & shown].max(initial=0.0)))
    return np.where(small, largest, effects)
