"""Log-linear models on consistent margins: fit, likelihood ratio, degrees of freedom, distance.

The margins A of a table are the sufficient statistics of a hierarchical log-linear model; the maximum
likelihood estimate p̂ is the distribution of the model that has the table's margins. Iterative proportional
fitting scales a table to one margin after another. Where margins force cells to zero no positive estimate
exists and fitting crawls towards the boundary; the extended estimate lives on the cells that some table
with these margins fills (the facial set), found by one linear program, and fitting there converges at once.

    G² = 2 Σ f log(f / n p̂),   df = (cells of the facial set) - (rank of the model on them).

Comes from: a table with consistent margins, exact or released. Goes to: `inference`, `assess`.
Source: Yang, Fienberg & Rinaldo (2012), section 2; Fienberg & Rinaldo (2012) for the extended estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from discreet.errors import BadRequest, DiscreetError
from discreet.margins.closure import margin_tables
from discreet.margins.efron_stein import spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.margins.closure import Axes, MarginSet

    Vector = NDArray[np.float64]

_MOST_ROUNDS = 20_000
_CONVERGED = 1e-10


@dataclass(frozen=True, eq=False)
class LogLinearFit:
    """The (extended) maximum likelihood estimate of a model.

    Args:
        probabilities: p̂, adding up to one; zero outside the facial set.
        support: The facial set: cells that are positive in some table with these margins.
        statistic: G².
        pearson: X², beside it.
        df: Degrees of freedom if every parameter could be estimated.
        df_adjusted: Without the cells and parameters that the margins make inestimable.
        rounds: Rounds of proportional fitting.
    """

    probabilities: NDArray[np.float64]
    support: NDArray[np.bool_]
    statistic: float
    pearson: float
    df: int
    df_adjusted: int
    rounds: int


def fit_log_linear(table: NDArray[np.int64], wanted: MarginSet) -> LogLinearFit:
    """Fit the model whose sufficient statistics are the wanted margins.

    >>> from discreet.margins.closure import parse_margins
    >>> table = np.array([[10, 20], [30, 40]])
    >>> fit = fit_log_linear(table, parse_margins("A,B", "AB", (2, 2)))
    >>> round(fit.statistic, 4), fit.df, fit.probabilities[0, 0]
    (0.8043, 1, np.float64(0.12))
    """
    counts = np.asarray(table, dtype=np.float64)
    if counts.shape != wanted.shape or counts.min() < 0 or counts.sum() <= 0:
        raise BadRequest("A log-linear model needs a table of the model's shape, not negative and not empty.")
    margins = {margin: m.astype(np.float64) for margin, m in margin_tables(counts, wanted).items()}
    support = facial_set(counts, wanted)
    fitted, rounds = proportional_fit(margins, support)
    positive = counts > 0
    statistic = 2 * float((counts[positive] * np.log(counts[positive] / fitted[positive])).sum())
    pearson = float(((counts[support] - fitted[support]) ** 2 / fitted[support]).sum())
    return LogLinearFit(
        fitted / counts.sum(),
        support,
        max(0.0, statistic),
        pearson,
        wanted.table_cells - parameters(wanted),
        int(support.sum()) - model_rank(wanted, support),
        rounds,
    )


def parameters(wanted: MarginSet) -> int:
    """The number of parameters, Σ_{S∈B} Π_{j∈S} (k_j - 1), the total included."""
    return sum(int(np.prod([k - 1 for k in wanted.margin_shape(part)])) for part in wanted.closure)


def proportional_fit(
    margins: dict[Axes, NDArray[np.float64]], support: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], int]:
    """Scale a table to each margin in turn until all agree (iterative proportional fitting)."""
    fitted = support.astype(np.float64)
    whole = tuple(range(fitted.ndim))
    goal = _CONVERGED * max(1.0, *(float(m.max()) for m in margins.values()))
    for rounds in range(1, _MOST_ROUNDS + 1):
        worst = 0.0
        for margin, wish in margins.items():
            now = fitted.sum(axis=tuple(j for j in whole if j not in margin))
            worst = max(worst, float(np.abs(now - wish).max()))
            ratio = np.divide(wish, now, out=np.zeros_like(wish), where=now > 0)
            fitted = fitted * spread(ratio, margin, whole)
        if worst <= goal:
            return fitted, rounds - 1
    raise DiscreetError(
        f"Proportional fitting did not converge in {_MOST_ROUNDS:,} rounds.",
        "The margins may contradict each other: fit margins of one table.",
    )


def facial_set(counts: NDArray[np.float64], wanted: MarginSet) -> NDArray[np.bool_]:
    """The cells that are positive in some non-negative table with these margins.

    All margins positive in every cell that a cell meets is necessary; whether it is enough is decided by one
    program: maximise Σ t, 0 ≤ t ≤ 1, t ≤ w, where w has the table's margins up to a factor.
    """
    open_cells = _not_forced_to_zero(counts, wanted)
    if (counts > 0)[open_cells].all():
        return open_cells
    design = _design(wanted, open_cells)
    cells = int(open_cells.sum())
    observed = design @ counts[open_cells]
    # w = s + t with s ≥ 0 and 0 ≤ t ≤ 1: a cell that can be positive reaches t = 1 once the factor is large
    equal = sparse.hstack([design, design, -observed.reshape(-1, 1)], format="csr")
    solved = linprog(
        np.r_[-np.ones(cells), np.zeros(cells + 1)],
        A_eq=equal,
        b_eq=np.zeros(equal.shape[0]),
        bounds=[(0, 1)] * cells + [(0, None)] * (cells + 1),
        method="highs",
    )
    if solved.status != 0:
        raise DiscreetError(f"The facial set was not found: {solved.message}", "Please report the table.")
    support = np.zeros(counts.shape, dtype=bool)
    support[open_cells] = solved.x[:cells] > 0.5
    return support


def _not_forced_to_zero(counts: NDArray[np.float64], wanted: MarginSet) -> NDArray[np.bool_]:
    """Cells that no empty margin cell forces to zero."""
    whole = tuple(range(counts.ndim))
    open_cells = np.ones(counts.shape, dtype=bool)
    for margin, table in margin_tables(counts, wanted).items():
        open_cells &= spread(table > 0, margin, whole)
    return open_cells


def _design(wanted: MarginSet, cells: NDArray[np.bool_]) -> sparse.csr_array:
    """One row for each cell of each wanted margin, one column for each cell of the table that is kept."""
    whole, pieces = tuple(range(len(wanted.shape))), []
    kept = int(cells.sum())
    for margin in wanted.margins:
        size = wanted.cells(margin)
        number = np.broadcast_to(
            spread(np.arange(size).reshape(wanted.margin_shape(margin)), margin, whole), wanted.shape
        )
        pieces.append(sparse.csr_array((np.ones(kept), (number[cells], np.arange(kept))), shape=(size, kept)))
    return sparse.csr_array(sparse.vstack(pieces))


def model_rank(wanted: MarginSet, support: NDArray[np.bool_]) -> int:
    """The number of parameters that the cells of the support can tell apart."""
    if support.all():
        return parameters(wanted)
    design = _design(wanted, support)
    small = design @ design.T if design.shape[0] <= design.shape[1] else design.T @ design
    return int(np.linalg.matrix_rank(small.toarray(), hermitian=True))


def total_variation(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """½ Σ |p - q|; the paper prints the L1 distance, which is twice this.

    >>> total_variation(np.array([0.5, 0.5]), np.array([1.0, 0.0]))
    0.5
    """
    return 0.5 * float(np.abs(first - second).sum())
