"""From noisy coefficients to a non-negative table: the paper's linear program, and a unique solution of it.

First stage (the paper's): the least b such that some w ≥ 0 has every coefficient within b of its noisy value,

    min b   subject to   w ≥ 0,   |φ - A w| ≤ b.

It is written with the margins as variables, so its matrix is sparse: a cell is in one row for each maximal margin.
Many tables reach b, and the one that a solver returns is arbitrary. The second stage picks the nearest to the noisy table,

    minimise ½‖w - w₀‖²   subject to   w ≥ 0,   φ - r ≤ A w ≤ φ + r,   r = b and a solver's accuracy,

which is strictly convex. A primal-dual interior point method needs some 20-40 steps. Each step solves one system as large as
the number of coefficients, (G⁻¹ + A D Aᵀ) x = y, where the transform computes A D Aᵀ from the margins of D.

Source: Yang, Fienberg & Rinaldo (2012), Tables 1 and 2, step 5, and their remark 3 on many solutions; Mehrotra (1992) for
the steps of the interior point method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import linprog

from discreet.errors import DiscreetError
from discreet.margins.bases import Transform, Vector, expand_axes
from discreet.margins.margin_set import Axes, MarginSet

#: The slack of b relative to the largest coefficient, which gives the program an interior.
SLACK = 1e-7
#: Complementarity and feasibility of the solution, relative to the table's largest cell.
ACCURACY = 1e-9
#: Stationarity loses digits in the last steps; this bounds the relative error of w.
STATIONARY = 1e-7
_MOST_STEPS = 100
#: After so many steps that do not halve the gap the method centres.
_PATIENCE = 10
_BACK_OFF = 0.995
_LARGER = 1e-14
_REFINEMENTS = 3
_ROUNDING = 1e-13


class _Point(NamedTuple):
    """Primal w, slacks s = φ + r - A w and t = A w - φ + r, and their multipliers z, u, v."""

    w: Vector
    s: Vector
    t: Vector
    z: Vector
    u: Vector
    v: Vector

    def products(self) -> tuple[Vector, Vector, Vector]:
        """The complementarity of each pair."""
        return self.w * self.z, self.s * self.u, self.t * self.v

    def gap(self) -> float:
        total = float(self.w.ravel() @ self.z.ravel() + self.s @ self.u + self.t @ self.v)
        return total / (self.w.size + 2 * self.s.size)

    def advance(self, step: _Point, length: float) -> _Point:
        """The point after a step; one length for all, since w is in the dual condition, too."""
        return _Point(*(here + length * ahead for here, ahead in zip(self, step, strict=True)))

    def reach(self, step: _Point) -> float:
        pairs = ((here[ahead < 0], ahead[ahead < 0]) for here, ahead in zip(self, step, strict=True))
        return min(float((-here / ahead).min(initial=1.0)) for here, ahead in pairs)


def nearest_table(transform: Transform, noisy: Vector, b: float) -> Vector:
    """The non-negative table with every coefficient within b of `noisy` that is nearest to w₀."""
    start = transform.table_of(noisy)
    scale = max(1.0, float(np.abs(start).max()))
    room = (b + SLACK * (1 + float(np.abs(noisy).max()))) / scale
    problem = _Problem(transform, start / scale, noisy / scale, room)
    point, gaps = problem.first(), []
    for _ in range(_MOST_STEPS):
        if problem.is_solved(point):
            return np.maximum(0.0, point.w) * scale
        gaps.append(point.gap())
        stalled = len(gaps) > _PATIENCE and gaps[-1] > 0.5 * gaps[-1 - _PATIENCE]
        point = problem.centred(point) if stalled else problem.next(point)
    raise DiscreetError(
        f"The second stage did not settle in {_MOST_STEPS} steps.",
        "Take the method optimum, and report the table.",
    )


@dataclass(frozen=True, slots=True)
class _Problem:
    transform: Transform
    target: Vector
    noisy: Vector
    room: float

    def first(self) -> _Point:
        slack, multiplier = np.full(len(self.noisy), self.room + 0.1), np.full(len(self.noisy), 0.1)
        size, dual = 0.1 + np.abs(self.target), np.full(self.target.shape, 0.1)
        return _Point(size, slack, slack, dual, multiplier, multiplier)

    def residuals(self, p: _Point) -> tuple[Vector, Vector, Vector]:
        """Stationarity, and the errors of the slacks."""
        answer = self.transform.forward(p.w)
        stationary = p.w - self.target - p.z + self.transform.backward(p.u - p.v)
        return stationary, self.noisy + self.room - answer - p.s, answer - self.noisy + self.room - p.t

    def is_solved(self, p: _Point) -> bool:
        stationary, off_s, off_t = self.residuals(p)
        feasible = max(float(np.abs(off_s).max()), float(np.abs(off_t).max())) < ACCURACY
        return feasible and p.gap() < ACCURACY and float(np.abs(stationary).max()) < STATIONARY

    def next(self, p: _Point) -> _Point:
        """One predictor-corrector step."""
        solve = self._solver(p)
        guess = solve(*p.products())
        ahead = p.advance(guess, p.reach(guess)).gap()
        gap = p.gap()
        centre = max(gap * (ahead / gap) ** 3, 0.5 * ACCURACY)
        squares = zip(p.products(), guess.products(), strict=True)
        step = solve(*(here + second - centre for here, second in squares))
        return p.advance(step, _BACK_OFF * p.reach(step))

    def centred(self, p: _Point) -> _Point:
        """One plain step towards equal complementarity: predictor-corrector steps can cycle where it is unequal."""
        centre = 0.3 * p.gap()
        step = self._solver(p)(*(each - centre for each in p.products()))
        return p.advance(step, _BACK_OFF * p.reach(step))

    def _solver(self, p: _Point) -> Callable[[Vector, Vector, Vector], _Point]:
        """The Newton step as a function of the complementarity to remove; one factorisation is used twice."""
        stationary, off_s, off_t = self.residuals(p)
        # slacks near 1e-12 are smaller than the rounding of a residual
        off_s, off_t = (np.where(np.abs(off) < _ROUNDING, 0.0, off) for off in (off_s, off_t))
        weight = 1 / (1 + p.z / p.w)
        gain = 1 / (p.u / p.s + p.v / p.t)
        system = self.transform.gram_matrix(weight)
        system[np.diag_indices_from(system)] += gain
        inverse = _refine(system)

        def solve(cw: Vector, cs: Vector, ct: Vector) -> _Point:
            pull = (cs + p.u * off_s) / p.s - (ct + p.v * off_t) / p.t
            right = weight * (-stationary - cw / p.w + self.transform.backward(pull))
            inner = inverse(self.transform.forward(right))
            w = right - weight * self.transform.backward(inner)
            answer = gain * inner  # A w, without the cancellation of computing it from w
            s, t = off_s - answer, off_t + answer
            return _Point(w, s, t, -(cw + p.z * w) / p.w, -(cs + p.u * s) / p.s, -(ct + p.v * t) / p.t)

        return solve


def _refine(system: Vector) -> Callable[[Vector], Vector]:
    """Solve a nearly singular system: one factorisation of a slightly larger one, then refinement."""
    size = 1 / np.sqrt(np.diag(system))
    scaled = system * size * size[:, None]
    larger = scaled.copy()
    larger[np.diag_indices_from(larger)] += _LARGER
    factor = cho_factor(larger, check_finite=False)

    def solve(right: Vector) -> Vector:
        goal = size * right
        answer = cho_solve(factor, goal, check_finite=False)
        for _ in range(_REFINEMENTS):
            answer = answer + cho_solve(factor, goal - scaled @ answer, check_finite=False)
        return np.asarray(size * answer)

    return solve


#: Relative tolerance within which a non-negative table meets the noisy coefficients, so that no program is needed.
_MET = 1e-12


@dataclass(frozen=True, eq=False)
class Fitted:
    """The non-negative real table of the two stages, and b: 0 if the noisy coefficients belong to some table."""

    table: NDArray[np.float64]
    b: float


def fit_table(transform: Transform, noisy: Vector) -> Fitted:
    """The non-negative table of least largest deviation that is nearest to the noisy one."""
    start = transform.table_of(noisy)
    if start.min() >= 0 and np.abs(transform.forward(start) - noisy).max() <= _MET * (
        1 + np.abs(noisy).max()
    ):
        return Fitted(start, 0.0)
    b = least_deviation(transform, noisy)
    return Fitted(nearest_table(transform, noisy, b), b)


def least_deviation(transform: Transform, noisy: Vector) -> float:
    """The first stage: min b, by HiGHS on a sparse program with the closure's margins as variables."""
    wanted = transform.wanted
    cells = wanted.table_cells
    # The variables are the cells of the table, then those of each margin, then b.
    ends = cells + np.cumsum([wanted.cells(part) for part in wanted.closure])
    starts = dict(zip(wanted.closure, (cells, *ends.tolist()), strict=False))
    columns = int(ends[-1]) + 1
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
        raise DiscreetError(
            f"The linear program was not solved: {solved.message}", "Please report the table."
        )
    return max(0.0, float(solved.x[-1]) * scale)


def _sum_rows(wanted: MarginSet, part: Axes, starts: dict[Axes, int], columns: int) -> sparse.csr_array:
    """Rows for "each cell of a margin is the sum of the cells of its parent", the table or a margin."""
    parents = [other for other in wanted.closure if set(part) < set(other)]
    parent = min(parents, key=wanted.cells) if parents else tuple(range(len(wanted.shape)))
    first = starts[parent] if parents else 0
    size = wanted.cells(part)
    labels = np.arange(size).reshape(wanted.margin_shape(part))
    own = np.broadcast_to(expand_axes(labels, part, parent), wanted.margin_shape(parent))
    rows = np.r_[own.ravel(), np.arange(size)]
    places = np.r_[first + np.arange(own.size), starts[part] + np.arange(size)]
    values = np.r_[np.ones(own.size), -np.ones(size)]
    return sparse.csr_array((values, (rows, places)), shape=(size, columns))
