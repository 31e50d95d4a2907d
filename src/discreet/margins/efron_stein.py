"""The Efron-Stein decomposition of a table of any shape: each margin's own part, without its sub-margins.

    f(x) = Σ_S f^S(x_S),   f^S = Σ_{S' ⊆ S} (-1)^|S∖S'| E[f | x_S'],

which is the S-margin centred along each of its axes, divided by the cells that fall together in it:

    f^S = (⊗_{j∈S} (I - J/k_j)) f_S / Π_{j∉S} k_j,   c_S = Π_j k_j · f^S = (⊗_{j∈S} (k_j I - J)) f_S,

so c_S is an integer table. Centring is done axis by axis; no basis vector is ever written down.

Source: Efron & Stein (1981); Yang, Fienberg & Rinaldo (2012), eqs 3-5.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.margins.closure import Axes, MarginSet, closure_tables, subsets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def centred(table: NDArray[Any]) -> NDArray[np.float64]:
    """Take the mean away along every axis: ⊗(I - J/k) applied to a table.

    >>> centred(np.array([[3, 1], [1, 1]])).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    result = np.asarray(table, dtype=np.float64)
    for axis in range(result.ndim):
        result = result - result.mean(axis=axis, keepdims=True)
    return result


def scaled_centred(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """⊗(k I - J) applied to a table of integers: centring without division.

    >>> scaled_centred(np.array([[3, 1], [1, 1]])).tolist()
    [[2, -2], [-2, 2]]
    """
    result = np.asarray(table, dtype=np.int64)
    for axis in range(result.ndim):
        result = result.shape[axis] * result - result.sum(axis=axis, keepdims=True)
    return result


def efron_stein_coefficients(
    exact: Mapping[Axes, NDArray[np.int64]], wanted: MarginSet
) -> dict[Axes, NDArray[np.int64]]:
    """The integer tables c_S = Π k_j · f^S for every S of the closure."""
    return {part: scaled_centred(table) for part, table in closure_tables(exact, wanted).items()}


def spread(part_table: NDArray[Any], part: Axes, whole: Axes) -> NDArray[Any]:
    """A table over `part` laid along the axes of `whole`, ready to be added by broadcasting."""
    lengths = dict(zip(part, np.shape(part_table), strict=True))
    return np.reshape(part_table, tuple(lengths.get(j, 1) for j in whole))


def sum_of_parts(
    residuals: Mapping[Axes, NDArray[np.float64]], wanted: MarginSet, margin: Axes
) -> NDArray[np.float64]:
    """A margin from the centred sub-margins: f_α = Σ_{S ⊆ α} r_S / Π_{j∈α∖S} k_j, where r_S = ⊗(I - J/k) f_S.

    Parts that are missing count as zero.
    """
    total = np.zeros(wanted.margin_shape(margin))
    for part in subsets(margin):
        if part in residuals:
            total += spread(residuals[part], part, margin) / wanted.rest(margin, part)
    return total


def residuals_from_coefficients(
    coefficients: Mapping[Axes, NDArray[Any]], wanted: MarginSet
) -> dict[Axes, NDArray[np.float64]]:
    """Centred sub-margins r_S = c_S / Π_{j∈S} k_j; noise outside the space of f^S is projected away."""
    return {part: centred(c) / wanted.cells(part) for part, c in coefficients.items()}


def margin_from_efron_stein(
    coefficients: Mapping[Axes, NDArray[Any]], wanted: MarginSet, margin: Axes
) -> NDArray[np.float64]:
    """One margin from the (noisy) integer coefficients of its subsets."""
    own = {part: coefficients[part] for part in subsets(margin)}
    return sum_of_parts(residuals_from_coefficients(own, wanted), wanted, margin)


def number_of_coefficients(wanted: MarginSet) -> int:
    """N = Σ_{S∈B} Π_{j∈S} k_j, the number of noisy terms (Theorem 3).

    >>> number_of_coefficients(MarginSet(("A", "B", "C"), (4, 4, 16), ((0, 1), (0, 2), (1, 2))))
    169
    """
    return sum(math.prod(wanted.margin_shape(part)) for part in wanted.closure)
