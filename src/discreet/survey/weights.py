"""Weighted counts in fixed point: by the noise of the sample count, and in steps of a grid.

With W_k the exact weighted count of cell k, n_k its sample count, p the noise of that count and w̄ = N/n:

    (a) overall average   W_k + p·w̄
    (b) cell average      W_k + p·W_k/n_k  =  (n_k + p)·W_k/n_k
    (c) largest weight    g·(round(W_k/g) + noise),  noise for a sensitivity of ⌈w_max/g⌉ steps of the grid g

(a) and (b) are never served: (a) releases W_k modulo w̄, (b) the cell's average weight, and either undoes the noise of the
published count. They exist for reproductions and attacks. In (c) the rounding to a public grid makes it private: noise in
steps of w_max on an unrounded W_k would release W_k modulo w_max.

A weight of 666.6667 with four decimals is the integer 6666667. Quotients are rounded to the last decimal, halves away from
zero. No float is used, and products that would exceed 64 bits are never formed.

Source: (a), (b) Shlomo, Krenzke & Li (2019), eqs 4-5; (c) Rinott et al. (2018), section 8; R cellKey is (b).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.survey.weight_forms import SurveyDesign


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


def overall_average(
    noisy: NDArray[np.int64],
    counts: NDArray[np.int64],
    weight_sums: NDArray[np.int64],
    design: SurveyDesign,
) -> NDArray[np.int64]:
    """(a) The weighted counts moved by the noise times the overall average weight, in fixed point.

    Args:
        noisy: Noisy sample counts.
        counts: Exact sample counts.
        weight_sums: Exact weighted counts, in fixed point.
        design: The public constants.
    """
    return weight_sums + times_ratio(noisy - counts, design.weight_total, design.sample_size)


def cell_average(
    noisy: NDArray[np.int64],
    counts: NDArray[np.int64],
    weight_sums: NDArray[np.int64],
    design: SurveyDesign,
) -> NDArray[np.int64]:
    """(b) The noisy counts times the cell's average weight, in fixed point; an empty cell uses the overall average."""
    filled = counts > 0
    moved = weight_sums + times_ratio(noisy - counts, weight_sums, np.where(filled, counts, 1))
    return np.where(filled, moved, overall_average(noisy, counts, weight_sums, design))


def on_grid(weight_sums: NDArray[np.int64], grid: int) -> NDArray[np.int64]:
    """(c) before the noise: weighted counts in steps of a public grid."""
    return nearest_quotient(weight_sums, grid)
