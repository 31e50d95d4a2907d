"""The sample behind a table, laid out for its sampling errors: weights by categories, strata and clusters. Confidential.

A row is all records of one combination of categories in one sampling unit (a cluster, or a stratum if there are no
clusters). Squares are of the units' sums if there are clusters, else sums of the records' squares: both make up the
variance of a total.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.exact import Confidential
from discreet.model.shape import TableShape
from discreet.records import storage
from discreet.records.engine import AggregateQuery, Engine
from discreet.records.tabulate import query_of


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
