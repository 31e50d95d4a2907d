"""RM: how much of the true table's information a release gives away, by conditional entropy.

    RM = 1 - H(a|b) / H(a),    H(a) = -sum a/N log(a/N),    m = min(a, b),
    H(a|b) = -sum m/N log(m/b) - sum (a-m)/N log((a-m)/(N - sum m)) - sum (b-m)/N log((b-m)/b),

0 log 0 being 0, after a and b have been brought to one total (a times the total of b, b times that of a).
RM = 1 where nothing was changed but the scale; it does not imply equal tables: b = 2a has RM 1. RM near 0:
the release says next to nothing; it may be below 0.

Source: Antal, Shlomo & Elliot (2014), formula 4; Shlomo, Krenzke & Li (2019), section 3.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def entropy(counts: NDArray[np.int64]) -> Floats:
    """H of each table's distribution over its cells, in nats; cells along the last axis.

    >>> round(float(entropy(np.array([2, 2]))), 6)
    0.693147
    """
    shares = counts / counts.sum(axis=-1, keepdims=True)
    return np.asarray(-xlogy(shares, shares).sum(axis=-1))


def conditional_entropy(true: NDArray[np.int64], released: NDArray[np.int64]) -> Floats:
    """H(a|b) for each release; releases along the first axis, none of them empty or negative.

    The true table is one for all releases, or one for each.
    """
    people, shown = (table.sum(axis=-1, keepdims=True).astype(np.float64) for table in (true, released))
    a, b = true * shown, released * people
    both = np.minimum(a, b)
    whole = people * shown
    left = whole - both.sum(axis=-1, keepdims=True)
    # A quotient of zero by zero belongs to a term of weight zero: any positive denominator serves.
    kept = xlogy(both, both / np.where(b > 0, b, 1.0))
    gone = xlogy(a - both, (a - both) / np.where(left > 0, left, 1.0))
    added = xlogy(b - both, (b - both) / np.where(b > 0, b, 1.0))
    return np.asarray(-((kept + gone + added) / whole).sum(axis=-1))


def risk(true: NDArray[np.int64], released: NDArray[np.int64]) -> Floats:
    """RM of each release; nothing is learned from an empty one, and nothing can be of people in one cell.

    >>> risk(np.array([2, 2]), np.array([[2, 2], [3, 1]])).round(4).tolist()
    [1.0, 0.3113]
    """
    shown = np.maximum(released, 0)
    risks = np.zeros(len(shown))
    if np.count_nonzero(true) < 2:
        return np.full(len(shown), np.nan)
    filled = shown.sum(axis=-1) > 0
    risks[filled] = 1 - conditional_entropy(true, shown[filled]) / entropy(true)
    return risks
