"""The nearest table without negative numbers that adds up and keeps its grand total.

Of all tables of leaf cells x ≥ 0 with the same sum, the one with the least Σ (x - v)² is

    x = max(v - θ, 0),    θ such that the sum is kept,

and then whole numbers: each cell goes down to a whole number, and the cells with the largest remainders go up by one until
the sum is that of the rounded grand total. Totals are sums of the shown cells.

Source: Held, Wolfe & Crowder (1974) for the projection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.additivity.axis_tree import Additive


def nearest_non_negative(
    values: NDArray[np.float64], structure: Additive, impossible: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], float]:
    """The table, and by how much each cell that stays above zero was lowered.

    Args:
        values: Unrounded values of a table that adds up.
        structure: Which cells are sums of which.
        impossible: Cells that stay zero.

    >>> from discreet.additivity.axis_tree import Additive, AxisTree
    >>> table, lowered = nearest_non_negative(
    ...     np.array([4.0, 5.0, -2.0, 7.0]), Additive((AxisTree.plain(3),)), np.zeros(4, np.bool_)
    ... )
    >>> table.tolist(), lowered
    ([3, 4, 0, 7], 1.0)
    """
    inner = np.ix_(*(tree.leaves for tree in structure.axes))
    leaves, possible = values[inner], ~impossible[inner]
    total = max(0.0, float(leaves.sum()))
    lowered = _threshold(leaves[possible], total)
    near = np.where(possible, np.maximum(leaves - lowered, 0.0), 0.0)
    whole = np.floor(near).astype(np.int64)
    short = round(total) - int(whole.sum())
    upwards = np.argsort(-(near - whole).ravel(), kind="stable")[: max(short, 0)]
    whole.ravel()[upwards] += 1
    return structure.add_up(whole), lowered


def _threshold(cells: NDArray[np.float64], total: float) -> float:
    """The θ with Σ max(v - θ, 0) = total."""
    largest = np.sort(cells)[::-1]
    thetas = (np.cumsum(largest) - total) / np.arange(1, largest.size + 1)
    kept = np.flatnonzero(largest > thetas)
    return float(thetas[kept[-1]]) if kept.size else float(largest[0]) if largest.size else 0.0
