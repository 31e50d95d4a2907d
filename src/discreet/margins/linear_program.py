"""From noisy coefficients to a non-negative table: the paper's linear program, and one answer of its many.

First stage (the paper's): the least b such that some w ≥ 0 has every coefficient within b of its noisy value.
Many tables reach b, and which one a solver returns is an accident. Second stage (ours): of those tables the
one nearest, in squared distance, to the table w₀ that the noisy coefficients describe:

    minimise ½‖w - w₀‖²   subject to   w ≥ 0,   |φ - A w| ≤ b.

It is strictly convex, so its answer is a property of the problem. Its dual is smooth but for |λ|:
w = max(0, w₀ + Aᵀλ), and λ minimises ½‖max(0, w₀ + Aᵀλ)‖² - φ·λ + b‖λ‖₁.

The first stage is written with the margins as variables, so that its matrix is sparse (a cell meets one row
for each maximal margin) and no basis vector is written down.

Comes from: `holistic`. Goes to: `rounding`.
Source: Yang, Fienberg & Rinaldo (2012), Tables 1 and 2, step 5, and their remark 3 on many solutions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy import sparse
from scipy.optimize import linprog, minimize

from discreet.errors import DiscreetError
from discreet.margins.efron_stein import centred, spread
from discreet.margins.fourier import place, walsh_hadamard

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.margins.closure import Margin, MarginSet

    Vector = NDArray[np.float64]

#: How far b may be exceeded, relative to the size of the coefficients: what a solver's answer is good for.
SLACK = 1e-9


class Transform(Protocol):
    """A table's coefficients in the paper's units, as one vector over the closure."""

    wanted: MarginSet

    def forward(self, table: Vector) -> Vector:
        """A w: the coefficients of a table."""

    def backward(self, coefficients: Vector) -> Vector:
        """Aᵀ λ, as a table."""

    def lengths(self) -> Vector:
        """The squared length of each row of A, on average over its margin; for scaling."""

    def described(self, coefficients: Vector) -> Vector:
        """The table w₀ that has these coefficients and nothing outside the closure."""

    def from_margin(self, part: Margin) -> sparse.csr_array:
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

    def lengths(self) -> Vector:
        """Every χ^S has length one."""
        return np.ones(len(self.wanted.closure))

    def from_margin(self, part: Margin) -> sparse.csr_array:
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

    def lengths(self) -> Vector:
        """‖f^{S,x}‖² = Π_{j∈S}(1 - 1/k_j) / Π_{j∉S} k_j."""
        return np.concatenate(
            [
                np.full(
                    self.wanted.cells(part),
                    math.prod(1 - 1 / k for k in self.wanted.margin_shape(part))
                    * self.wanted.cells(part)
                    / self.wanted.table_cells,
                )
                for part in self.wanted.closure
            ]
        )

    def from_margin(self, part: Margin) -> sparse.csr_array:
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


@dataclass(frozen=True, eq=False)
class Fitted:
    """What the two stages return.

    Args:
        table: The non-negative real table w.
        b: The least largest deviation of a coefficient; 0 where the noisy coefficients belong to some table.
    """

    table: NDArray[np.float64]
    b: float


def fit_table(transform: Transform, noisy: Vector) -> Fitted:
    """The non-negative table of least largest deviation that is nearest to the noisy one."""
    start = transform.described(noisy)
    if start.min() >= 0 and np.abs(transform.forward(start) - noisy).max() <= SLACK * (1 + np.abs(noisy).max()):
        return Fitted(start, 0.0)
    b = least_deviation(transform, noisy)
    return Fitted(nearest_table(transform, noisy, b), b)


def least_deviation(transform: Transform, noisy: Vector) -> float:
    """The first stage: min b, by HiGHS on a sparse program with the closure's margins as variables."""
    wanted = transform.wanted
    cells = wanted.table_cells
    starts = {part: start for part, start in zip(wanted.closure, _starts(wanted), strict=True)}
    columns = cells + sum(wanted.cells(part) for part in wanted.closure) + 1
    sums = sparse.vstack([_sum_rows(wanted, part, starts, columns) for part in wanted.closure], format="csr")
    deviation = sparse.block_diag([transform.from_margin(part) for part in wanted.closure], format="csr")
    padded = sparse.hstack([sparse.csr_array((deviation.shape[0], cells)), deviation], format="csr")
    ones = sparse.csr_array(np.ones((len(noisy), 1)))
    scale = max(1.0, float(np.abs(noisy).max()))
    solved = linprog(
        np.r_[np.zeros(columns - 1), 1.0],
        A_ub=sparse.vstack([sparse.hstack([padded, -ones]), sparse.hstack([-padded, -ones])], format="csr"),
        b_ub=np.r_[noisy, -noisy] / scale,
        A_eq=sums,
        b_eq=np.zeros(sums.shape[0]),
        bounds=(0, None),
        method="highs",
    )
    if solved.status != 0:
        raise DiscreetError(f"The linear program was not solved: {solved.message}", "Please report the table.")
    return max(0.0, float(solved.x[-1]) * scale)


def _starts(wanted: MarginSet) -> list[int]:
    """Where each margin of the closure begins among the variables: after the cells of the table."""
    sizes = [wanted.cells(part) for part in wanted.closure]
    return (wanted.table_cells + np.cumsum([0, *sizes[:-1]])).tolist()


def _sum_rows(
    wanted: MarginSet, part: Margin, starts: dict[Margin, int], columns: int
) -> sparse.csr_array:
    """Rows that say: each cell of a margin is the sum of the cells of its parent, the table or a margin."""
    parents = [other for other in wanted.closure if set(part) < set(other)]
    parent = min(parents, key=wanted.cells) if parents else tuple(range(len(wanted.shape)))
    first = starts[parent] if parents else 0
    shape = wanted.margin_shape(parent)
    own = np.zeros(shape, dtype=np.int64)
    size = wanted.cells(part)
    own += spread(np.arange(size).reshape(wanted.margin_shape(part)), part, parent)
    rows = np.r_[own.ravel(), np.arange(size)]
    places = np.r_[first + np.arange(own.size), starts[part] + np.arange(size)]
    values = np.r_[np.ones(own.size), -np.ones(size)]
    return sparse.csr_array((values, (rows, places)), shape=(size, columns))


def nearest_table(transform: Transform, noisy: Vector, b: float) -> Vector:
    """The second stage, by its dual: quasi-Newton steps, then the exact solution on what they found active."""
    start = transform.described(noisy)
    room = b + SLACK * (1 + np.abs(noisy).max())
    scaling = 1 / np.sqrt(np.maximum(transform.lengths(), 1e-300))
    count = len(noisy)

    def dual(split: Vector) -> tuple[float, Vector]:
        multipliers = (split[:count] - split[count:]) * scaling
        table = np.maximum(0.0, start + transform.backward(multipliers))
        slope = (transform.forward(table) - noisy) * scaling
        value = 0.5 * float((table**2).sum()) - float(noisy @ multipliers)
        value += room * float((scaling * (split[:count] + split[count:])).sum())
        return value, np.r_[slope + room * scaling, -slope + room * scaling]

    solved = minimize(
        dual,
        np.zeros(2 * count),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * (2 * count),
        options={"maxiter": 20_000, "maxfun": 40_000, "maxcor": 30, "ftol": 0.0, "gtol": 1e-10},
    )
    multipliers = (solved.x[:count] - solved.x[count:]) * scaling
    return np.maximum(0.0, start + transform.backward(multipliers))
