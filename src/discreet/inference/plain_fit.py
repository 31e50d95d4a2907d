"""The fit of a log-linear model to counts that are taken as they are: exact ones, or released ones as if exact.

The margins of a table are the sufficient statistics of a hierarchical log-linear model; the maximum likelihood
estimate is the table of the model that has these margins. Proportional fitting scales a table to one margin after
another. Where zeros leave no positive estimate, fitting would crawl towards the boundary; the extended estimate lives
on the cells that some table with these margins fills (the facial set), and there it converges.

    G² = 2 Σ f log(f / fit),   X² = Σ (f - fit)² / fit,   df = (cells of the facial set) - (rank of the model on them)

A fit never fails in silence: `plain_fit` says which tables reached their margins, and `fit_log_linear` refuses the
others.

Source: Yang, Fienberg & Rinaldo (2012), section 2; Fienberg & Rinaldo (2012) for the extended estimate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

from discreet.errors import BadRequest, DiscreetError
from discreet.inference.hierarchical_model import MOST_CYCLES, HierarchicalModel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

#: A fit has reached its margins where none is off by more than this part of the largest cell of a margin.
REACHED = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class PlainFit:
    """Fitted tables of a batch.

    Args:
        counts: The counts that were fitted.
        means: The fitted means; zero outside the facial set.
        present: The facial set of each table: cells that are positive in some table with these margins.
        reached: Whether the fit of each table has the margins of its counts.
    """

    counts: Floats
    means: Floats
    present: NDArray[np.bool_]
    reached: NDArray[np.bool_]

    def g_squared(self) -> Floats:
        """G² of each table."""
        parts = xlogy(self.counts, self.counts) - xlogy(
            self.counts, np.where(self.counts > 0, self.means, 1.0)
        )
        return np.asarray(np.maximum(2 * parts.reshape(len(parts), -1).sum(axis=1), 0.0))

    def pearson(self) -> Floats:
        """X² of each table."""
        shown = np.where(self.present, self.means, 1.0)
        parts = np.where(self.present, (self.counts - shown) ** 2 / shown, 0.0)
        return np.asarray(parts.reshape(len(parts), -1).sum(axis=1))


def plain_fit(tables: Floats, model: HierarchicalModel) -> PlainFit:
    """Fit a model to each table of a batch, none of whose counts is below zero."""
    present = np.broadcast_to(model.possible, tables.shape).copy()
    for table in np.flatnonzero((tables == 0).reshape(len(tables), -1).any(axis=1)):
        present[table] &= ~model.vanishing(tables[table] == 0)
    means = model.fitted(tables, start=model.offset * present)
    return PlainFit(tables, means, present, model.off_by(means, tables) <= REACHED)


@dataclass(frozen=True, eq=False)
class LogLinearFit:
    """The (extended) maximum likelihood estimate of a model for one table.

    Args:
        probabilities: p̂, adding up to one; zero outside the facial set.
        support: The facial set.
        statistic: G².
        pearson: X², beside it.
        df: Degrees of freedom if every parameter could be estimated.
        df_adjusted: Without the cells and parameters that the margins make inestimable.
    """

    probabilities: Floats
    support: NDArray[np.bool_]
    statistic: float
    pearson: float
    df: int
    df_adjusted: int


def fit_log_linear(table: ArrayLike, generators: Sequence[Sequence[int]]) -> LogLinearFit:
    """Fit the model whose sufficient statistics are the margins of the generators.

    Args:
        table: Counts without totals, not negative and not all zero.
        generators: The largest sets of axes that interact.

    Raises:
        BadRequest: The table is no such table.
        DiscreetError: The fit did not reach its margins.

    >>> fit = fit_log_linear([[10, 20], [30, 40]], [(0,), (1,)])
    >>> round(fit.statistic, 4), fit.df, round(float(fit.probabilities[0, 0]), 9)
    (0.8043, 1, 0.12)
    """
    counts = np.asarray(table, dtype=np.float64)
    if not counts.size or counts.min() < 0 or counts.sum() <= 0:
        raise BadRequest("A log-linear model needs a table that is not negative and not empty.")
    model = HierarchicalModel.of(generators, np.ones(counts.shape))
    fit = plain_fit(counts[None], model)
    if not fit.reached[0]:
        raise DiscreetError(
            f"Proportional fitting did not reach its margins in {MOST_CYCLES:,} cycles.",
            "Fit a model with fewer interactions, or a table with fewer zeros.",
        )
    return LogLinearFit(
        fit.means[0] / counts.sum(),
        fit.present[0],
        float(fit.g_squared()[0]),
        float(fit.pearson()[0]),
        model.degrees_of_freedom(model.possible),
        model.degrees_of_freedom(fit.present[0]),
    )
