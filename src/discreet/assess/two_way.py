"""What a reader's own software makes of a table whose counts it takes for exact: tests, association, fit.

Layer by layer, rows against columns, f being the fit of independence (of quasi-independence where cells cannot
occur) to the margins of the counts b:

    X2 = sum (b - f)^2 / f,   G2 = 2 sum b log(b / f),   V = sqrt(X2 / sum over layers of n (min(r, c) - 1)),
    p-hat = f / n: the maximum likelihood estimate;   TV = 1/2 sum |p-hat(b) - p-hat(a)|.

Empty rows and columns are left out, as software does; degrees of freedom are cells minus parameters, R + C -
components of the pattern of cells that can occur. Statistics and degrees of freedom add up over layers. A table
with one side only has no test; its p-hat is its distribution.

Source: Rinott et al. (2018), section 5.6.2 (V and p-value); Yang, Fienberg & Rinaldo (2012), section 4 (TV).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import xlogy

from discreet.inference.hierarchical_model import HierarchicalModel
from discreet.inference.likelihood_ratio import chi_square

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

MAIN_EFFECTS = ((0,), (1,))


@dataclass(frozen=True, slots=True, eq=False)
class Naive:
    """The naive analysis of each table of a batch.

    Args:
        pearson: X2.
        ratio: G2.
        df: Degrees of freedom of both.
        p_value: Of X2, by the chi-square law.
        association: Cramer's V; not a number where fewer than two rows or columns have people.
        fitted: p-hat of every cell; not a number for an empty table.
    """

    pearson: Floats
    ratio: Floats
    df: NDArray[np.int64]
    p_value: Floats
    association: Floats
    fitted: Floats


def analyse(tables: NDArray[np.int64], possible: Flags) -> Naive:
    """Analyse a batch of tables, laid out as tables x layers x rows x columns.

    Args:
        tables: Counts; those below zero are taken as zero.
        possible: Which cells of a table can occur, as layers x rows x columns.

    >>> found = analyse(np.array([[[[10, 20], [30, 40]]]]), np.ones((1, 2, 2), dtype=bool))
    >>> found.ratio.round(4).tolist(), found.df.tolist()
    ([0.8043], [1])
    """
    counts = np.where(possible, np.maximum(tables, 0), 0).astype(np.float64)
    fitted = np.stack([fit(counts[:, k], possible[k]) for k in range(len(possible))], axis=1)
    cells = (1, 2, 3)
    safe = np.where(fitted > 0, fitted, 1.0)
    pearson = np.where(fitted > 0, (counts - fitted) ** 2 / safe, 0.0).sum(axis=cells)
    ratio = 2 * (xlogy(counts, counts) - xlogy(counts, safe)).sum(axis=cells)
    df = sum(
        (freedom(counts[:, k], possible[k]) for k in range(len(possible))), np.zeros(len(counts), np.int64)
    )
    people = counts.sum(axis=cells)
    whole = np.where(people > 0, people, np.nan)[:, None, None, None]
    return Naive(
        pearson,
        np.maximum(ratio, 0.0),
        df,
        chi_square(pearson, df),
        _association(counts, pearson),
        fitted / whole,
    )


def fit(counts: Floats, possible: Flags) -> Floats:
    """The fit of (quasi-)independence to each two-way table of a batch; one-sided tables fit themselves."""
    if min(possible.shape) == 1:
        return counts
    if not possible.all():
        return HierarchicalModel.of(MAIN_EFFECTS, possible.astype(np.float64)).fitted(counts)
    rows, columns = counts.sum(axis=2, keepdims=True), counts.sum(axis=1, keepdims=True)
    people = counts.sum(axis=(1, 2), keepdims=True)
    return np.asarray(rows * columns / np.where(people > 0, people, 1.0))


def freedom(counts: Floats, possible: Flags) -> NDArray[np.int64]:
    """Degrees of freedom of each two-way table of a batch, empty rows and columns left out."""
    rows, columns = counts.sum(axis=2) > 0, counts.sum(axis=1) > 0
    if possible.all():
        return np.asarray((rows.sum(axis=1) - 1).clip(0) * (columns.sum(axis=1) - 1).clip(0))
    patterns, place = np.unique(np.concatenate([rows, columns], axis=1), axis=0, return_inverse=True)
    freedoms = [_pattern_freedom(p[: rows.shape[1]], p[rows.shape[1] :], possible) for p in patterns]
    return np.array(freedoms, dtype=np.int64)[place.ravel()]


def _pattern_freedom(rows: Flags, columns: Flags, possible: Flags) -> int:
    """Cells minus the parameters that they determine: rows plus columns minus connected parts."""
    present = possible & rows[:, None] & columns[None, :]
    at_row, at_column = np.nonzero(present)
    if not at_row.size:
        return 0
    nodes = len(rows) + len(columns)
    edges = coo_array((np.ones(at_row.size), (at_row, len(rows) + at_column)), shape=(nodes, nodes))
    parts, _ = connected_components(edges, directed=False)
    # Rows and columns without a present cell are parts of their own, and no parameters.
    return int(at_row.size - nodes + parts)


def _association(counts: Floats, pearson: Floats) -> Floats:
    rows = (counts.sum(axis=3) > 0).sum(axis=2)
    columns = (counts.sum(axis=2) > 0).sum(axis=2)
    most = (counts.sum(axis=(2, 3)) * (np.minimum(rows, columns) - 1).clip(0)).sum(axis=1)
    share = np.where(most > 0, pearson, np.nan) / np.where(most > 0, most, 1.0)
    return np.asarray(np.sqrt(np.minimum(share, 1.0)))


def total_variation(first: Floats, second: Floats) -> Floats:
    """1/2 sum |p - q| between one distribution and each of a batch; Yang et al. print twice this.

    >>> total_variation(np.array([0.5, 0.5]), np.array([[1.0, 0.0], [0.5, 0.5]])).tolist()
    [0.5, 0.0]
    """
    distance = np.abs(second - first).reshape(len(second), -1)
    return np.asarray(0.5 * distance.sum(axis=1))
