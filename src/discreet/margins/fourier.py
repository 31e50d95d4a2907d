"""The Fourier basis of a binary table: sums and differences along every axis, in whole numbers.

    φ_S = Σ_x f(x) χ^S(x),   χ^S(x) = 2^(-k/2) (-1)^⟨S,x⟩,   c_S = 2^(k/2) φ_S is an integer,
    f_α(x) = 2^(-|α|) Σ_{S ⊆ α} c_S (-1)^⟨S,x⟩.

A margin needs only the coefficients of its own subsets, so coefficients are read off the margins
themselves; a table of 2^k cells takes k·2^k additions and no matrix.

Source: Barak et al. (2007); Yang, Fienberg & Rinaldo (2012), section 3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import BadRequest
from discreet.margins.closure import Axes, MarginSet, closure_tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray


def walsh_hadamard(table: NDArray[Any]) -> NDArray[Any]:
    """Sum and difference along every axis; integers stay integers, and twice gives the size times the table.

    >>> walsh_hadamard(np.array([[5, 2], [3, 1]])).tolist()
    [[11, 5], [3, 1]]
    """
    result = table
    for axis in range(table.ndim):
        first, second = np.take(result, 0, axis), np.take(result, 1, axis)
        result = np.stack((first + second, first - second), axis)
    return result


def require_binary(wanted: MarginSet) -> None:
    """Refuse a table that the Fourier basis cannot describe."""
    if not wanted.is_binary:
        raise BadRequest(
            f"The Fourier basis needs two categories of every variable; the shape is {wanted.shape}.",
            "Take the method efron-stein, or optimum.",
        )


def place(part: Axes, whole: Axes) -> tuple[int, ...]:
    """Where the coefficient of a subset stands in the transform of a margin: 1 at its own axes."""
    return tuple(int(j in part) for j in whole)


def fourier_coefficients(exact: Mapping[Axes, NDArray[np.int64]], wanted: MarginSet) -> dict[Axes, int]:
    """The integers c_S = 2^(k/2) φ_S for every S of the closure.

    >>> wanted = MarginSet(("A", "B"), (2, 2), ((0, 1),))
    >>> fourier_coefficients({(0, 1): np.array([[5, 2], [3, 1]])}, wanted)
    {(): 11, (0,): 3, (1,): 5, (0, 1): 1}
    """
    require_binary(wanted)
    tables = closure_tables(exact, wanted)
    transforms = {margin: walsh_hadamard(tables[margin]) for margin in wanted.maximal}
    home = {part: next(m for m in wanted.maximal if set(part) <= set(m)) for part in wanted.closure}
    return {part: int(transforms[home[part]][place(part, home[part])]) for part in wanted.closure}


def margin_from_fourier(coefficients: Mapping[Axes, float], margin: Axes) -> NDArray[np.float64]:
    """One margin from the coefficients of its subsets; those that are missing count as zero.

    >>> margin_from_fourier({(): 11, (0,): 3, (1,): 5, (0, 1): 1}, (0, 1)).tolist()
    [[5.0, 2.0], [3.0, 1.0]]
    """
    spectrum = np.zeros((2,) * len(margin))
    for part, value in coefficients.items():
        if set(part) <= set(margin):
            spectrum[place(part, margin)] = value
    return np.asarray(walsh_hadamard(spectrum) / 2 ** len(margin))
