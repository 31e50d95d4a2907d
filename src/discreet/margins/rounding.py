"""Rounding a non-negative real table to whole numbers.

Every cell is rounded on its own, halves upward: the paper's step 6. On sparse tables this loses people, because many
cells below a half are rounded away.

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
