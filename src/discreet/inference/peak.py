"""The highest point of many one-dimensional functions at once: a grid, then a golden section around its best.

The likelihood of one cell may have more than one peak when a noise table has gaps; the grid finds the highest.

Source: Kiefer (1953), golden section search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

GRID = 48
STEPS = 44
_GOLDEN = (np.sqrt(5) - 1) / 2


def highest_point(
    function: Callable[[Floats], Floats], low: Floats, high: Floats, *, grid: int = GRID, steps: int = STEPS
) -> tuple[Floats, Floats]:
    """Where each function is highest between its bounds, and how high.

    Args:
        function: From one argument for each function to one value for each.
        low: The lower bounds.
        high: The upper bounds.
        grid: Points of the grid.
        steps: Steps of the golden section.

    >>> at, value = highest_point(lambda x: -((x - 2) ** 2), np.array([0.0]), np.array([9.0]))
    >>> bool(abs(at[0] - 2) < 1e-7)
    True
    """
    shares = np.linspace(0.0, 1.0, grid)
    heights = np.stack([function(low + share * (high - low)) for share in shares])
    best = heights.argmax(axis=0)
    left = low + shares[np.maximum(best - 1, 0)] * (high - low)
    right = low + shares[np.minimum(best + 1, grid - 1)] * (high - low)
    at, value = _golden_section(function, left, right, steps)
    on_grid = heights[best, np.arange(len(low))]
    # At a bound the grid has the point itself, which a section only approaches.
    better = on_grid >= value
    return np.where(better, low + shares[best] * (high - low), at), np.maximum(on_grid, value)


def _golden_section(
    function: Callable[[Floats], Floats], left: Floats, right: Floats, steps: int
) -> tuple[Floats, Floats]:
    inner, outer = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
    at_inner, at_outer = function(inner), function(outer)
    for _ in range(steps):
        up = at_inner < at_outer
        left, right = np.where(up, inner, left), np.where(up, right, outer)
        fresh = np.where(up, left + _GOLDEN * (right - left), right - _GOLDEN * (right - left))
        at_fresh = function(fresh)
        inner, outer = np.where(up, outer, fresh), np.where(up, fresh, inner)
        at_inner, at_outer = np.where(up, at_outer, at_fresh), np.where(up, at_fresh, at_inner)
    return np.where(at_inner >= at_outer, inner, outer), np.maximum(at_inner, at_outer)
