"""How much larger a cell's sampling variance is than that of so many people drawn at random: its design effect.

    relative variance of the cell = deff_k / n_k      so      deff_k = n_k (√V_k + |X_k - W_k|)² / X_k²

with n_k its people, V_k the design's variance of its weighted count W_k, and X_k what the form would show without
noise; where the form stands on public weights, the difference to W_k is an error too, and is added in full.

This is the one figure of a released error that reads exact weights. A reader sees it through the noisy count and
a coarse ladder only (`sampling_error.py`), and of small cells not at all: a cell with fewer than 16 people after
noise takes the largest design effect of the table's other cells, or the declared one where that is larger.

Comes from: `variance` and exact tables. Goes to: `sampling_error`.
Source: Kish (1965), section 8.2; Wolter (2007), chapter 7 (generalised variance functions: relative variance = deff / n).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Cells with fewer people after noise have no design effect of their own: with deff 1 their error is 25 % and more.
SMALL = 16


def design_effects(
    variance: NDArray[np.float64],
    counts: NDArray[np.int64],
    weighted: NDArray[np.float64],
    without_noise: NDArray[np.float64],
) -> NDArray[np.float64]:
    """The design effect of each cell; 0 where nobody is.

    Args:
        variance: Of the weighted counts, by the design.
        counts: Exact sample counts.
        weighted: Exact weighted counts, in people.
        without_noise: What the form would show without noise, in people.

    >>> design_effects(np.array([625.0]), np.array([16]), np.array([100.0]), np.array([100.0])).tolist()
    [1.0]
    """
    error = np.sqrt(variance) + np.abs(without_noise - weighted)
    known = (counts > 0) & (without_noise > 0)
    return np.where(known, counts * (error / np.where(known, without_noise, 1)) ** 2, 0.0)


def told_effects(
    effects: NDArray[np.float64], noisy: NDArray[np.int64], declared: float, shown: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The design effects that errors are made of: small cells take the largest of the others.

    Args:
        effects: Of each cell.
        noisy: Sample counts with their noise.
        declared: The declared design effect, the least for small cells.
        shown: Cells that can occur.

    >>> both = np.array([1.2, 9.0, 3.0])
    >>> told_effects(both, np.array([100, 4, 50]), 1.1, np.full(3, True)).tolist()
    [1.2, 3.0, 3.0]
    """
    small = noisy < SMALL
    largest = max(declared, float(effects[~small & shown].max(initial=0.0)))
    return np.where(small, largest, effects)
