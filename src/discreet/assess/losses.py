"""How far a released table is from the true one: the papers' losses, table by table.

    l1 = sum |a - b|,   l2 = sum (a - b)^2,   l3 = sum |sqrt a - sqrt b|,
    Hellinger = sqrt(1/2 sum (sqrt a - sqrt b)^2).

l3 and Hellinger need counts that are not negative: below zero they take zero. Hellinger's distance is on
counts, as offices use it, not on proportions: it grows with the table.

Source: Rinott et al. (2018), section 4.2; Shlomo, Krenzke & Li (2019), section 3.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]
    Floats = NDArray[np.float64]


def l1(true: Counts, released: Counts) -> Floats:
    """The sum of absolute errors of each release; releases along the first axis.

    >>> l1(np.array([0, 100]), np.array([[4, 144]])).tolist()
    [48.0]
    """
    return np.asarray(np.abs(released - true).sum(axis=-1), dtype=np.float64)


def l2(true: Counts, released: Counts) -> Floats:
    """The sum of squared errors."""
    return np.asarray(((released - true).astype(np.float64) ** 2).sum(axis=-1))


def l3(true: Counts, released: Counts) -> Floats:
    """The sum of absolute errors of square roots: 0 as 4 costs as much as 10,000 as 10,404.

    >>> l3(np.array([0, 100, 10_000]), np.array([[4, 144, 10_404]])).tolist()
    [6.0]
    """
    return np.asarray(np.abs(_roots(released) - _roots(true)).sum(axis=-1))


def hellinger(true: Counts, released: Counts) -> Floats:
    """Hellinger's distance of counts.

    >>> hellinger(np.array([4, 9]), np.array([[1, 9], [4, 9]])).round(6).tolist()
    [0.707107, 0.0]
    """
    return np.asarray(np.sqrt(0.5 * ((_roots(released) - _roots(true)) ** 2).sum(axis=-1)))


def _roots(counts: Counts) -> Floats:
    return np.asarray(np.sqrt(np.maximum(counts, 0)), dtype=np.float64)
