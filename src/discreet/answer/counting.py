"""What is counted for a table: records, or for a survey that tells weights only, steps of its largest weight.

    t_k = round(W_k / w_max),   W_k being the sum of the weights in cell k

One person moves t_k by 1 at most. In such a dataset t stands wherever a count does: noise is put on it, rules look at
it, and the number of records is never seen by anything that is released.

Source: Rinott et al. (2018), section 8; docs/methods/survey-weights.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.model.exact import ExactTable
from discreet.records.tabulate import tabulate
from discreet.survey.weights import on_grid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.model.shape import TableShape
    from discreet.workspace.workspace import StoredDataset


def count_cells(
    stored: StoredDataset, shape: TableShape, *, weights: bool = False, sums: tuple[str, ...] = ()
) -> ExactTable:
    """The exact table of a shape that noise is to be put on; takes what `tabulate` takes."""
    if not counts_steps(stored.dataset):
        return tabulate(stored.engine, shape, weights=weights, sums=sums)
    exact = tabulate(stored.engine, shape, weights=True)
    steps = steps_of(exact.weight_sums, stored.dataset)
    return ExactTable(shape, steps, exact.key_sums, exact.weight_sums)


def counts_steps(dataset: Dataset) -> bool:
    """Whether a dataset tells steps of its largest weight in place of counts."""
    return dataset.survey is not None and dataset.survey.weighted_only


def steps_of(weight_sums: NDArray[np.int64] | None, dataset: Dataset) -> NDArray[np.int64]:
    """Sums of weights as steps of the largest one."""
    if weight_sums is None or dataset.survey is None:
        raise ValueError("a survey needs sums of weights")
    return on_grid(weight_sums, round(dataset.survey.largest_weight * 10**dataset.weight_decimals))
