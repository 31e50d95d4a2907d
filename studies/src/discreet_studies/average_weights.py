"""Weighted counts moved by the noise of the sample count, which are never served.

With W_k the exact weighted count of cell k, n_k its sample count, p the noise of that count and w̄ = N/n:

    (a) overall average   W_k + p·w̄
    (b) cell average      W_k + p·W_k/n_k  =  (n_k + p)·W_k/n_k

(a) releases W_k modulo w̄, (b) the cell's average weight, and either undoes the noise of the published count.

Source: Shlomo, Krenzke & Li (2019), eqs 4-5; R cellKey is (b).
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.survey.weight_forms import SurveyDesign, times_ratio


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


def relative_variance(weights: NDArray[np.int64]) -> Fraction:
    """The variance of weights over their squared mean, n·Σw²/(Σw)² - 1.

    >>> relative_variance(np.array([1, 3]))
    Fraction(1, 4)
    """
    total = sum(int(weight) for weight in weights)
    squares = sum(int(weight) ** 2 for weight in weights)
    return Fraction(len(weights) * squares, total * total) - 1
