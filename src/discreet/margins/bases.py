"""Fourier and Efron-Stein bases: tables to coefficients and back, in integers.

Fourier (binary tables), sums and differences along every axis:

    φ_S = Σ_x f(x) χ^S(x),   χ^S(x) = 2^(-k/2) (-1)^⟨S,x⟩,   c_S = 2^(k/2) φ_S is an integer,
    f_α(x) = 2^(-|α|) Σ_{S ⊆ α} c_S (-1)^⟨S,x⟩.

Efron-Stein (any shape), each margin without its sub-margins:

    f(x) = Σ_S f^S(x_S),   f^S = Σ_{S' ⊆ S} (-1)^|S∖S'| E[f | x_S'],
    f^S = (⊗_{j∈S} (I - J/k_j)) f_S / Π_{j∉S} k_j,   c_S = Π_j k_j · f^S = (⊗_{j∈S} (k_j I - J)) f_S is an integer table.

A margin needs only the coefficients of its own subsets. A `Transform` applies the basis matrix A (in the paper's units), Aᵀ
and A diag(d) Aᵀ for the linear program, axis by axis or on margins; A itself is never written down.

Source: Barak et al. (2007); Efron & Stein (1981); Yang, Fienberg & Rinaldo (2012), section 3.2, eqs 3-5, and Tables 1 and 2,
step 5.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from discreet.errors import BadRequest
from discreet.margins.margin_set import Axes, MarginSet, closure_tables, margin_table, subsets


def centre(table: NDArray[Any]) -> NDArray[np.float64]:
    """Subtract the mean along every axis: ⊗(I - J/k) applied to a table.

    >>> centre(np.array([[3, 1], [1, 1]])).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """
    result = np.asarray(table, dtype=np.float64)
    for axis in range(result.ndim):
        result = result - result.mean(axis=axis, keepdims=True)
    return result


def centre_integers(table: NDArray[np.int64]) -> NDArray[np.int64]:
    """⊗(k I - J) applied to a table of integers: centring without division.

    >>> centre_integers(np.array([[3, 1], [1, 1]])).tolist()
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
    return {part: centre_integers(table) for part, table in closure_tables(exact, wanted).items()}


def expand_axes(part_table: NDArray[Any], part: Axes, whole: Axes) -> NDArray[Any]:
    """A table over `part` reshaped to broadcast over the axes of `whole`."""
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
            total += expand_axes(residuals[part], part, margin) / wanted.rest(margin, part)
    return total


def margin_from_efron_stein(
    coefficients: Mapping[Axes, NDArray[Any]], wanted: MarginSet, margin: Axes
) -> NDArray[np.float64]:
    """One margin from the (noisy) integer coefficients of its subsets."""
    # r_S = c_S / Π_{j∈S} k_j, centred: noise outside the space of f^S is projected away
    residuals = {part: centre(coefficients[part]) / wanted.cells(part) for part in subsets(margin)}
    return sum_of_parts(residuals, wanted, margin)


def number_of_coefficients(wanted: MarginSet) -> int:
    """N = Σ_{S∈B} Π_{j∈S} k_j, the number of noisy terms (Theorem 3).

    >>> number_of_coefficients(MarginSet(("A", "B", "C"), (4, 4, 16), ((0, 1), (0, 2), (1, 2))))
    169
    """
    return sum(map(wanted.cells, wanted.closure))


def walsh_hadamard(table: NDArray[Any]) -> NDArray[Any]:
    """Sum and difference along every axis, in integers; applied twice it gives the size times the table.

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
    """The index of the coefficient of a subset in the transform of a margin: 1 at its axes."""
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
    """One margin from the coefficients of its subsets; missing ones count as zero.

    >>> margin_from_fourier({(): 11, (0,): 3, (1,): 5, (0, 1): 1}, (0, 1)).tolist()
    [[5.0, 2.0], [3.0, 1.0]]
    """
    spectrum = np.zeros((2,) * len(margin))
    for part, value in coefficients.items():
        if set(part) <= set(margin):
            spectrum[place(part, margin)] = value
    return np.asarray(walsh_hadamard(spectrum) / 2 ** len(margin))


Vector = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FourierTransform:
    """φ_S = ⟨w, χ^S⟩ for every S of the closure of a binary table."""

    wanted: MarginSet

    def _places(self) -> tuple[Any, ...]:
        axes = tuple(range(len(self.wanted.shape)))
        return tuple(np.array([place(part, axes) for part in self.wanted.closure]).T)

    def forward(self, table: Vector) -> Vector:
        """A w: the coefficients of a table."""
        return np.asarray(walsh_hadamard(table)[self._places()] / math.sqrt(table.size))

    def backward(self, coefficients: Vector) -> Vector:
        """Aᵀ λ; the rows are orthonormal, so this is also w₀."""
        spectrum = np.zeros(self.wanted.shape)
        spectrum[self._places()] = coefficients
        return np.asarray(walsh_hadamard(spectrum) / math.sqrt(spectrum.size))

    #: The table w₀ = Aᵀ φ that has these coefficients and nothing outside the closure.
    table_of = backward

    def gram_matrix(self, weight: Vector) -> Vector:
        """Entry (S, S') is the coefficient of the weights at the symmetric difference of S and S'."""
        spectrum = walsh_hadamard(weight) / weight.size
        places = np.array(self._places())
        return np.asarray(spectrum[tuple(places[:, :, None] ^ places[:, None, :])])

    def from_margin(self, part: Axes) -> sparse.csr_array:
        """One row of signs: + where an even number of coordinates is the second category."""
        unit = np.zeros((2,) * len(part))
        unit[(1,) * len(part)] = 1.0
        signs = walsh_hadamard(unit)
        return sparse.csr_array(signs.reshape(1, -1) / math.sqrt(self.wanted.table_cells))


@dataclass(frozen=True, slots=True)
class EfronSteinTransform:
    """f^S(x_S) for every S of the closure and every x_S, of a table of any shape."""

    wanted: MarginSet

    def forward(self, table: Vector) -> Vector:
        """A w: centred means of the margins."""
        others = ((j for j in range(table.ndim) if j not in part) for part in self.wanted.closure)
        return np.concatenate([centre(table.mean(axis=tuple(axes))).ravel() for axes in others])

    def backward(self, coefficients: Vector) -> Vector:
        """Aᵀ λ: each λ_S centred, divided by the number of cells per margin cell."""
        return self._laid_out(coefficients, divided=True)

    def table_of(self, coefficients: Vector) -> Vector:
        """w₀(x) = Σ_S centred f^S(x_S), eq. 3."""
        return self._laid_out(coefficients, divided=False)

    def _laid_out(self, coefficients: Vector, *, divided: bool) -> Vector:
        whole, total, start = tuple(range(len(self.wanted.shape))), np.zeros(self.wanted.shape), 0
        for part in self.wanted.closure:
            size = self.wanted.cells(part)
            piece = coefficients[start : start + size].reshape(self.wanted.margin_shape(part))
            start += size
            together = self.wanted.table_cells // size if divided else 1
            total += expand_axes(centre(piece), part, whole) / together
        return total

    def gram_matrix(self, weight: Vector) -> Vector:
        """Block (S, S') is the (S ∪ S')-margin of the weights as a matrix, centred along every axis."""
        closure = self.wanted.closure
        bounds = np.cumsum([0, *(self.wanted.cells(part) for part in closure)])
        gram = np.empty((bounds[-1], bounds[-1]))
        for i, part in enumerate(closure):
            for j, other in enumerate(closure[: i + 1]):
                union = tuple(sorted({*part, *other}))
                joint = margin_table(weight, union)
                rows, columns = (
                    np.broadcast_to(expand_axes(np.arange(math.prod(s)).reshape(s), own, union), joint.shape)
                    for own, s in ((each, self.wanted.margin_shape(each)) for each in (part, other))
                )
                block = np.zeros((self.wanted.cells(part), self.wanted.cells(other)))
                block[rows, columns] = joint
                lengths = self.wanted.margin_shape(part) + self.wanted.margin_shape(other)
                block = centre(block.reshape(lengths)).reshape(block.shape)
                block = block / (self.wanted.table_cells**2 / block.size)
                gram[bounds[i] : bounds[i + 1], bounds[j] : bounds[j + 1]] = block
                gram[bounds[j] : bounds[j + 1], bounds[i] : bounds[i + 1]] = block.T
        return gram

    def from_margin(self, part: Axes) -> sparse.csr_array:
        """⊗(I - J/k_j), divided by the number of cells per margin cell."""
        shape = self.wanted.margin_shape(part)
        matrix = sparse.csr_array(np.ones((1, 1)) * math.prod(shape) / self.wanted.table_cells)
        for k in shape:
            matrix = sparse.csr_array(sparse.kron(matrix, np.eye(k) - 1 / k))
        return matrix


#: A table's coefficients in the paper's units, as one vector over the closure.
Transform = FourierTransform | EfronSteinTransform
