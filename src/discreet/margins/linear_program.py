"""From noisy coefficients to a non-negative table: the paper's linear program, and one answer of its many.

First stage (the paper's): the least b such that some w ≥ 0 has every coefficient within b of its noisy value,

    min b   subject to   w ≥ 0,   |φ - A w| ≤ b.

Many tables reach b, and which one a solver returns is an accident; `nearest_table` then picks one by a
strictly convex second stage.

The first stage is written with the margins as variables, so that its matrix is sparse (a cell meets one row
for each maximal margin) and no basis vector is written down.

Source: Yang, Fienberg & Rinaldo (2012), Tables 1 and 2, step 5, and their remark 3 on many solutions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from discreet.errors import DiscreetError
from discreet.margins.efron_stein import spread
from discreet.margins.nearest_table import nearest_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.margins.closure import Axes, MarginSet
    from discreet.margins.transforms import Transform

    Vector = NDArray[np.float64]

#: Noisy coefficients that a non-negative table meets within this, relatively, need no program.
_MET = 1e-12


@dataclass(frozen=True, eq=False)
class Fitted:
    """What the two stages return.

    Args:
        table: The non-negative real table w.
        b: The least largest deviation of a coefficient; 0 where the noisy coefficients belong to some table.
    """

    table: NDArray[np.float64]
    b: float


def fit_table(transform: Transform, noisy: Vector) -> Fitted:
    """The non-negative table of least largest deviation that is nearest to the noisy one."""
    start = transform.described(noisy)
    if start.min() >= 0 and np.abs(transform.forward(start) - noisy).max() <= _MET * (
        1 + np.abs(noisy).max()
    ):
        return Fitted(start, 0.0)
    b = least_deviation(transform, noisy)
    return Fitted(nearest_table(transform, noisy, b), b)


def least_deviation(transform: Transform, noisy: Vector) -> float:
    """The first stage: min b, by HiGHS on a sparse program with the closure's margins as variables."""
    wanted = transform.wanted
    cells = wanted.table_cells
    starts = dict(zip(wanted.closure, _starts(wanted), strict=True))
    columns = cells + sum(wanted.cells(part) for part in wanted.closure) + 1
    sums = sparse.vstack([_sum_rows(wanted, part, starts, columns) for part in wanted.closure], format="csr")
    deviation = sparse.block_diag([transform.from_margin(part) for part in wanted.closure], format="csr")
    padded = sparse.hstack([sparse.csr_array((deviation.shape[0], cells)), deviation], format="csr")
    ones = sparse.csr_array(np.ones((len(noisy), 1)))
    scale = max(1.0, float(np.abs(noisy).max()))
    solved = linprog(
        np.r_[np.zeros(columns - 1), 1.0],
        A_ub=sparse.vstack([sparse.hstack([padded, -ones]), sparse.hstack([-padded, -ones])], format="csr"),
        b_ub=np.r_[noisy, -noisy] / scale,
        A_eq=sums,
        b_eq=np.zeros(sums.shape[0]),
        bounds=(0, None),
        method="highs",
    )
    if solved.status != 0:
        raise DiscreetError(
            f"The linear program was not solved: {solved.message}", "Please report the table."
        )
    return max(0.0, float(solved.x[-1]) * scale)


def _starts(wanted: MarginSet) -> list[int]:
    """Where each margin of the closure begins among the variables: after the cells of the table."""
    sizes = [wanted.cells(part) for part in wanted.closure]
    return [int(start) for start in wanted.table_cells + np.cumsum([0, *sizes[:-1]])]


def _sum_rows(wanted: MarginSet, part: Axes, starts: dict[Axes, int], columns: int) -> sparse.csr_array:
    """Rows that say: each cell of a margin is the sum of the cells of its parent, the table or a margin."""
    parents = [other for other in wanted.closure if set(part) < set(other)]
    parent = min(parents, key=wanted.cells) if parents else tuple(range(len(wanted.shape)))
    first = starts[parent] if parents else 0
    shape = wanted.margin_shape(parent)
    own = np.zeros(shape, dtype=np.int64)
    size = wanted.cells(part)
    own += spread(np.arange(size).reshape(wanted.margin_shape(part)), part, parent)
    rows = np.r_[own.ravel(), np.arange(size)]
    places = np.r_[first + np.arange(own.size), starts[part] + np.arange(size)]
    values = np.r_[np.ones(own.size), -np.ones(size)]
    return sparse.csr_array((values, (rows, places)), shape=(size, columns))
