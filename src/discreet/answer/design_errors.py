"""The sampling variance of a table's weighted counts, from its exact cells and the design of the survey. Secret.

Without strata and clusters, and with replicate weights, all sums come from the pass that counted the table. Strata
and clusters need the sample unit by unit, which is a second aggregate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.records.design_columns import SQUARES, joined_squares, replicate_names, square_decimals
from discreet.records.sampled_rows import sampled_rows
from discreet.survey.variance import cell_variances, fractions, replicate_variance, stratum_variance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.model.exact import ExactTable
    from discreet.records.engine import Engine


def in_people(fixed: NDArray[np.int64], dataset: Dataset) -> NDArray[np.float64]:
    """Fixed-point sums of weights as people."""
    return fixed / float(10**dataset.weight_decimals)


def design_variances(exact: ExactTable, engine: Engine, dataset: Dataset) -> NDArray[np.float64]:
    """The variance of the weighted count of every cell, in people squared.

    Args:
        exact: With the sums of weights and of `stored_sums`.
        engine: Where the sample is, for strata and clusters.
        dataset: The description, with its survey.
    """
    survey = dataset.survey
    if survey is None or exact.weight_sums is None:
        raise ValueError("sampling errors need a survey and its weights")
    design, totals = survey.design, in_people(exact.weight_sums, dataset)
    if design.replicates:
        columns = (in_people(exact.sum_of(name), dataset) for name in replicate_names(design))
        return replicate_variance(totals, columns, design)
    if design.grouped:
        rows = sampled_rows(engine, exact.shape, dataset)
        return cell_variances(rows.by_cell(), rows.units, design, exact.shape.lengths)
    high, low = (exact.sum_of(name) for name in SQUARES)
    squares = joined_squares(high, low, square_decimals(dataset))
    return np.asarray(stratum_variance(totals, squares, survey.sample_size, fractions(design, 1)[0]))
