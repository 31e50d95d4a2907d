"""The L1 sensitivity of all coefficients: how much one person can change them together.

In integers (c_S of `bases`), for a person in cell x:

    add/remove, Fourier:       Σ_S |±1|                           = |B|
    add/remove, Efron-Stein:   Σ_S Π_{j∈S} ‖k_j e - 1‖₁           = Σ_S Π_{j∈S} 2(k_j - 1)
    replace-one x by y:        Σ_S ‖c_S(x) - c_S(y)‖₁, largest over the set D of variables that differ.

Theorem 2 of the paper takes every entry of f^{S,x} for ±1/Π k_j; where y agrees with x the entry is
Π_{j∈S} (k_j - 1) times that. A spare factor of two hides it for few categories; for more (journey: 4, 4
and 16) the paper's scale is too small. `paper_epsilon` returns the ε that it really gives.

Source: Yang, Fienberg & Rinaldo (2012), Theorems 1 and 2, corrected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.margins.bases import number_of_coefficients, require_binary
from discreet.margins.margin_set import Axes, MarginSet
from discreet.model.messages.text import nearest

Neighbours = Literal["add-remove", "replace-one"]
Basis = Literal["fourier", "efron-stein"]

#: The most variables for which all 2^k sets of differing variables are tried.
MOST_VARIABLES = 20


def require_neighbours(neighbours: str) -> None:
    """Refuse an unknown neighbouring relation."""
    if neighbours not in get_args(Neighbours):
        raise BadRequest(
            f'Neighbours "{neighbours}" are not known.', nearest(neighbours, get_args(Neighbours))
        )


def integer_sensitivity(wanted: MarginSet, basis: str, neighbours: str) -> int:
    """The L1 sensitivity of all integer coefficients together.

    >>> from discreet.margins.margin_set import MarginSet
    >>> journey = MarginSet(("A", "B", "C"), (4, 4, 16), ((0, 1), (0, 2), (1, 2)))
    >>> integer_sensitivity(journey, "efron-stein", "add-remove") / 256
    1.71484375
    >>> integer_sensitivity(journey, "efron-stein", "replace-one") / 256
    2.625
    """
    require_neighbours(neighbours)
    if basis == "fourier":
        require_binary(wanted)
        if neighbours == "add-remove":
            return len(wanted.closure)
        return round(worst_difference(wanted, _fourier_changes))
    if neighbours == "add-remove":
        return sum(math.prod(2 * (k - 1) for k in wanted.margin_shape(part)) for part in wanted.closure)
    return round(worst_difference(wanted, _efron_stein_changes))


def coefficient_scaling(wanted: MarginSet, basis: str) -> float:
    """The factor from the paper's coefficients to integers: 2^(k/2), or Π k_j."""
    return math.sqrt(wanted.table_cells) if basis == "fourier" else float(wanted.table_cells)


def sensitivity(wanted: MarginSet, basis: str, neighbours: str) -> float:
    """The L1 sensitivity in the paper's units."""
    return integer_sensitivity(wanted, basis, neighbours) / coefficient_scaling(wanted, basis)


def paper_sensitivity(wanted: MarginSet, basis: str) -> float:
    """The sensitivity that the paper uses: 2|B|/2^(k/2) (Theorem 1), or Σ_S 2/Π_{j∉S} k_j (Theorem 2).

    The first is valid for both neighbouring relations, and loose. The second can be too small if a variable has more
    than two categories.
    """
    if basis == "fourier":
        require_binary(wanted)
        return 2 * len(wanted.closure) / math.sqrt(wanted.table_cells)
    return 2 * number_of_coefficients(wanted) / wanted.table_cells


def paper_epsilon(wanted: MarginSet, basis: str, neighbours: str, epsilon: float) -> float:
    """The ε that the paper's scale really gives: ε · (true sensitivity) / (published sensitivity)."""
    return epsilon * sensitivity(wanted, basis, neighbours) / paper_sensitivity(wanted, basis)


def changes_by_difference(
    wanted: MarginSet, part: Axes, by_pattern: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The change of one margin for every set D of differing variables (bit j of the index: variable j).

    `by_pattern` has its change for each pattern of differing variables within it (bit i of the pattern: its i-th variable).
    """
    variables = len(wanted.shape)
    if variables > MOST_VARIABLES:
        raise BadRequest(
            f"{variables} variables: the worst replacement is searched among 2^{variables} cases.",
            f"Take add-remove neighbours, or at most {MOST_VARIABLES} variables.",
        )
    index = np.arange(2**variables)
    pattern = np.zeros_like(index)
    for i, axis in enumerate(part):
        pattern |= ((index >> axis) & 1) << i
    return np.asarray(by_pattern[pattern])


def worst_difference(wanted: MarginSet, changes: Callable[[MarginSet, Axes], NDArray[np.float64]]) -> float:
    """The largest total change over all replacements of one person by another."""
    total = sum(changes_by_difference(wanted, part, changes(wanted, part)) for part in wanted.closure)
    return float(np.asarray(total)[1:].max())


def _fourier_changes(_wanted: MarginSet, part: Axes) -> NDArray[np.float64]:
    """|c_S(x) - c_S(y)| is 2 where x and y differ in an odd number of the variables of S, else 0."""
    return np.array([2.0 * (pattern.bit_count() % 2) for pattern in range(2 ** len(part))])


def _efron_stein_changes(wanted: MarginSet, part: Axes) -> NDArray[np.float64]:
    """‖⊗a - ⊗b‖₁ for a_j = k e_x - 1 and b_j = k e_y - 1, by the pattern of differing variables."""
    shape = wanted.margin_shape(part)
    changes = []
    for pattern in range(2 ** len(part)):
        differ = [k for i, k in enumerate(shape) if pattern >> i & 1]
        agree = math.prod(2 * (k - 1) for i, k in enumerate(shape) if not pattern >> i & 1)
        changes.append(float(agree * _tensor_distance(differ)))
    return np.array(changes)


def _tensor_distance(shape: list[int]) -> int:
    """‖⊗a - ⊗b‖₁ if every axis differs: at x it has (k-1, -1), at y (-1, k-1), elsewhere (-1, -1)."""
    kinds = [((k - 1, -1, 1), (-1, k - 1, 1), (-1, -1, k - 2)) for k in shape]
    return sum(
        abs(math.prod(a for a, _, _ in combination) - math.prod(b for _, b, _ in combination))
        * math.prod(times for _, _, times in combination)
        for combination in product(*kinds)
    )
