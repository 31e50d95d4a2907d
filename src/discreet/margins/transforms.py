"""Tables to coefficients and back, as the linear program and its second stage need them.

A basis is known by what it does to a table: A (the coefficients in the paper's units), Aᵀ, A diag(d) Aᵀ, and
the table that given coefficients describe. All of it is done axis by axis or on margins; A itself, which has
as many columns as the table has cells, is never written down.

Source: Yang, Fienberg & Rinaldo (2012), Tables 1 and 2, step 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import sparse

from discreet.margins.closure import Axes, MarginSet, margin_table
from discreet.margins.efron_stein import centred, spread
from discreet.margins.fourier import place, walsh_hadamard

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vector = NDArray[np.float64]


class Transform(Protocol):
    """A table's coefficients in the paper's units, as one vector over the closure."""

    @property
    def wanted(self) -> MarginSet:
        """The margins."""

    def forward(self, table: Vector) -> Vector:
        """A w: the coefficients of a table."""

    def backward(self, coefficients: Vector) -> Vector:
        """Aᵀ λ, as a table."""

    def described(self, coefficients: Vector) -> Vector:
        """The table w₀ that has these coefficients and nothing outside the closure."""

    def weighted_gram(self, weight: Vector) -> Vector:
        """A diag(weight) Aᵀ, from the margins of the weights."""

    def from_margin(self, part: Axes) -> sparse.csr_array:
        """The coefficients of S as a sparse matrix applied to the cells of the S-margin."""


@dataclass(frozen=True, slots=True)
class FourierTransform:
    """φ_S = ⟨w, χ^S⟩ for every S of the closure of a binary table."""

    wanted: MarginSet

    def _places(self) -> tuple[Any, ...]:
        axes = tuple(range(len(self.wanted.shape)))
        return tuple(np.array([place(part, axes) for part in self.wanted.closure]).T)

    def forward(self, table: Vector) -> Vector:
        """A w."""
        return np.asarray(walsh_hadamard(table)[self._places()] / math.sqrt(table.size))

    def backward(self, coefficients: Vector) -> Vector:
        """Aᵀ λ: the rows are orthonormal, so this is also w₀."""
        spectrum = np.zeros(self.wanted.shape)
        spectrum[self._places()] = coefficients
        return np.asarray(walsh_hadamard(spectrum) / math.sqrt(spectrum.size))

    def described(self, coefficients: Vector) -> Vector:
        """w₀ = Aᵀ φ."""
        return self.backward(coefficients)

    def weighted_gram(self, weight: Vector) -> Vector:
        """Entry (S, S') is the coefficient of the weights at the symmetric difference of S and S'."""
        spectrum = walsh_hadamard(weight) / weight.size
        places = np.array(self._places())
        return np.asarray(spectrum[tuple(places[:, :, None] ^ places[:, None, :])])

    def from_margin(self, part: Axes) -> sparse.csr_array:
        """One row of signs: + where an even number of coordinates is the second category."""
        signs = walsh_hadamard(_unit((2,) * len(part), (1,) * len(part)))
        return sparse.csr_array(signs.reshape(1, -1) / math.sqrt(self.wanted.table_cells))


@dataclass(frozen=True, slots=True)
class EfronSteinTransform:
    """f^S(x_S) for every S of the closure and every x_S, of a table of any shape."""

    wanted: MarginSet

    def forward(self, table: Vector) -> Vector:
        """A w: centred margins over the cells that fall together in them."""
        axes = range(table.ndim)
        pieces = [
            centred(table.mean(axis=tuple(j for j in axes if j not in part))).ravel()
            for part in self.wanted.closure
        ]
        return np.concatenate(pieces)

    def backward(self, coefficients: Vector) -> Vector:
        """Aᵀ λ: each λ_S centred, over the cells that fall together."""
        return self._laid_out(coefficients, divided=True)

    def described(self, coefficients: Vector) -> Vector:
        """w₀(x) = Σ_S centred f^S(x_S), eq. 3."""
        return self._laid_out(coefficients, divided=False)

    def _laid_out(self, coefficients: Vector, *, divided: bool) -> Vector:
        whole, total, start = tuple(range(len(self.wanted.shape))), np.zeros(self.wanted.shape), 0
        for part in self.wanted.closure:
            size = self.wanted.cells(part)
            piece = coefficients[start : start + size].reshape(self.wanted.margin_shape(part))
            start += size
            together = self.wanted.table_cells // size if divided else 1
            total += spread(centred(piece), part, whole) / together
        return total

    def weighted_gram(self, weight: Vector) -> Vector:
        """Block (S, S') is the (S ∪ S')-margin of the weights as a matrix, centred along every axis."""
        closure = self.wanted.closure
        bounds = np.cumsum([0, *(self.wanted.cells(part) for part in closure)])
        gram = np.empty((bounds[-1], bounds[-1]))
        for i, part in enumerate(closure):
            for j, other in enumerate(closure[: i + 1]):
                block = self._gram_block(weight, part, other)
                gram[bounds[i] : bounds[i + 1], bounds[j] : bounds[j + 1]] = block
                gram[bounds[j] : bounds[j + 1], bounds[i] : bounds[i + 1]] = block.T
        return gram

    def _gram_block(self, weight: Vector, part: Axes, other: Axes) -> Vector:
        union = tuple(sorted({*part, *other}))
        joint = margin_table(weight, union)
        rows = np.broadcast_to(spread(_numbered(self.wanted.margin_shape(part)), part, union), joint.shape)
        columns = np.broadcast_to(
            spread(_numbered(self.wanted.margin_shape(other)), other, union), joint.shape
        )
        block = np.zeros((self.wanted.cells(part), self.wanted.cells(other)))
        block[rows, columns] = joint
        lengths = self.wanted.margin_shape(part) + self.wanted.margin_shape(other)
        together = self.wanted.table_cells**2 / block.size
        return np.asarray(centred(block.reshape(lengths)).reshape(block.shape) / together)

    def from_margin(self, part: Axes) -> sparse.csr_array:
        """⊗(I - J/k_j) over the cells that fall together."""
        shape = self.wanted.margin_shape(part)
        matrix = sparse.csr_array(np.ones((1, 1)) * math.prod(shape) / self.wanted.table_cells)
        for k in shape:
            matrix = sparse.csr_array(sparse.kron(matrix, np.eye(k) - 1 / k))
        return matrix


def _unit(shape: tuple[int, ...], cell: tuple[int, ...]) -> NDArray[np.float64]:
    table = np.zeros(shape)
    table[cell] = 1.0
    return table


def _numbered(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """The flat number of every cell of a table."""
    return np.arange(math.prod(shape)).reshape(shape)
