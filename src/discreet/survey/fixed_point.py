"""Exact arithmetic on fixed-point weights: products and quotients of integers, rounded by one stated rule.

A weight of 666.6667 with four decimals is the integer 6666667. Quotients are rounded to the nearest unit of
the last decimal, halves away from zero, so that gains and losses are alike. No float takes part, and products
that would pass 64 bits are never formed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def nearest_quotient(numerator: NDArray[np.int64], denominator: NDArray[np.int64] | int) -> NDArray[np.int64]:
    """The nearest integers to numerator / denominator, halves away from zero; the denominator is positive.

    >>> nearest_quotient(np.array([7, -7, 8, -8, 5]), 2).tolist()
    [4, -4, 4, -4, 3]
    """
    whole, rest = np.divmod(np.abs(numerator), denominator)
    nearest = whole + (rest >= denominator - rest)
    return np.where(numerator < 0, -nearest, nearest)


def times_ratio(
    factor: NDArray[np.int64], numerator: NDArray[np.int64] | int, denominator: NDArray[np.int64] | int
) -> NDArray[np.int64]:
    """The nearest integers to factor · numerator / denominator; the denominator is positive.

    The numerator is split as whole · denominator + rest, so that only the result and factor · denominator
    must fit in 64 bits.

    >>> times_ratio(np.array([2, -3]), 10_000_000_000, 1500).tolist()
    [13333333, -20000000]
    """
    whole, rest = np.divmod(np.asarray(numerator, dtype=np.int64), denominator)
    return factor * whole + nearest_quotient(factor * rest, denominator)
