"""Whole numbers that add up: a total shared out in proportion to weights.

Largest remainders: each share is rounded down, and the units left over go to the largest fractions,

    share_i = floor(total w_i / sum w) + (1 for the `left` largest fractions).

Source: Hamilton's method of apportionment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def apportion(total: int, weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Share `total` units out in proportion to `weights`; the shares add up to `total` exactly.

    >>> apportion(10, np.array([1.0, 1.0, 1.0])).tolist()
    [4, 3, 3]
    """
    quotas = weights / weights.sum() * total
    shares: NDArray[np.int64] = np.floor(quotas).astype(np.int64)
    left = total - int(shares.sum())
    by_fraction = np.argsort(shares - quotas, kind="stable")
    shares[by_fraction[:left]] += 1
    return shares
