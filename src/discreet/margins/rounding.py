"""Rounding a non-negative real table to whole numbers.

"nearest" is the paper's step 6: every cell on its own, halves upward. On sparse tables it loses people, many
cells below a half being rounded away; "total" keeps the total by giving the largest remainders one more.

Comes from: `linear_program`. Goes to: the margins that `holistic` returns.
Source: Yang, Fienberg & Rinaldo (2012), Table 1, step 6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Solvers leave differences of this size: halves are halves within it.
_HALF = 1e-5


def nearest(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Every cell to its nearest whole number, halves upward.

    >>> nearest(np.array([0.49, 0.5, 1.2])).tolist()
    [0, 1, 1]
    """
    return np.floor(table + 0.5 + _HALF).astype(np.int64)


def total_preserving(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole numbers next to each cell that add up to the rounded total.

    >>> total_preserving(np.array([0.4, 0.4, 0.4, 0.8])).tolist()
    [1, 0, 0, 1]
    """
    whole = np.floor(table + _HALF).astype(np.int64)
    missing = int(np.floor(table.sum() + 0.5)) - int(whole.sum())
    remainders = (table - whole).ravel()
    order = np.argsort(-np.round(remainders, 5), kind="stable")[: max(0, missing)]
    flat = whole.ravel()
    flat[order] += 1
    return flat.reshape(table.shape)
