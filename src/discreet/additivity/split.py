"""A total split among its parts: the parts nearest to what was wished that add up to it.

    minimise Σ |x_i - wish_i|   subject to   Σ x_i = total,  x_i >= 0.

Any x with all changes of one sign is optimal, at |total - Σ wish|. Of these the changes are spread evenly,
and what does not divide goes to the largest cells, the first of equals first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def split(
    wish: NDArray[np.int64], total: int, possible: NDArray[np.bool_], *, keep_zeros: bool
) -> NDArray[np.int64]:
    """Parts that add up to a total, as near to the wished ones as can be.

    Args:
        wish: Non-negative wished parts; zero where not possible.
        total: What they must add up to, not negative.
        possible: Which parts may differ from zero; at least one, unless the total is zero.
        keep_zeros: Leave wished zeros at zero, unless all are zero.

    >>> split(np.array([5, 3, 0]), 10, np.array([True, True, True]), keep_zeros=True).tolist()
    [6, 4, 0]
    """
    short = total - int(wish.sum())
    if short >= 0:
        return _raised(wish, short, _open_to_rise(wish, possible, keep_zeros=keep_zeros))
    return _lowered(wish, -short)


def _open_to_rise(
    wish: NDArray[np.int64], possible: NDArray[np.bool_], *, keep_zeros: bool
) -> NDArray[np.int64]:
    """Where a part may rise, the largest first."""
    positive = np.flatnonzero(wish > 0)
    places = positive if keep_zeros and positive.size else np.flatnonzero(possible)
    return places[np.argsort(-wish[places], kind="stable")]


def _raised(wish: NDArray[np.int64], units: int, places: NDArray[np.int64]) -> NDArray[np.int64]:
    parts = wish.copy()
    if units:
        share, rest = divmod(units, places.size)
        parts[places] += share
        parts[places[:rest]] += 1
    return parts


def _lowered(wish: NDArray[np.int64], units: int) -> NDArray[np.int64]:
    """Evenly lower what is positive; a part that reaches zero leaves the rest to the others."""
    parts = wish.copy()
    while units:
        places = np.flatnonzero(parts > 0)
        share = min(units // places.size, int(parts[places].min()))
        if share:
            parts[places] -= share
            units -= share * places.size
        else:
            parts[places[np.argsort(-parts[places], kind="stable")][:units]] -= 1
            units = 0
    return parts
