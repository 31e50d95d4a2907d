"""One row of the maximum-entropy design: a small convex problem, solved through its dual.

    maximise -Σ p log p   subject to   Σ p = 1,  Σ v p = 0,  Σ v² p ≤ V (or = V),
    p ≥ 1e-8,  p(0) ≥ p_stay,  and, if monotone, p nondecreasing in v for v ≤ 0.

Given the three multipliers, θ(v) = c + a v + b v² and the best p is exp(θ) made isotonic left of zero (pool
adjacent violators, on θ) and clipped at its lower bounds. The dual is therefore convex and smooth in three
numbers, with a 3 x 3 Hessian: damped Newton reaches 1e-12 in about ten steps, a tenth of a millisecond each.

Comes from: `maximum_entropy`. Goes to: the rows of its small-count design.
Source: Fraser & Wooton (2005); Marley & Leaver (2011); the R package ptable; Barlow & Brunk (1972) for the
isotonic form of the inner problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

#: No value of the support is less likely than this (ptable's lower bound).
SMALLEST_PROBABILITY = 1e-8
_STEPS = 200
_ACCURACY = 1e-13


@dataclass(frozen=True, slots=True)
class RowProblem:
    """What one row must satisfy.

    Args:
        values: The support, ascending.
        variance: V.
        p_stay: Lower bound of p(0), or 0.
        monotone: Whether p rises towards 0 from the left; without effect where 0 is not in the support.
        equality: Whether the variance must equal V, or may stay below it.
    """

    values: tuple[int, ...]
    variance: float
    p_stay: float = 0.0
    monotone: bool = True
    equality: bool = False

    @property
    def zero(self) -> int | None:
        """Where noise 0 stands in the support."""
        return self.values.index(0) if 0 in self.values else None


def solve_row(problem: RowProblem) -> NDArray[np.float64] | None:
    """The probabilities of maximum entropy, or None where the constraints leave none.

    >>> solve_row(RowProblem((-1, 0, 1), variance=0.5)).round(6).tolist()
    [0.25, 0.5, 0.25]
    """
    scale = max(abs(problem.values[0]), abs(problem.values[-1])) or 1
    v = np.array(problem.values, dtype=np.float64) / scale
    target = np.array([1.0, 0.0, problem.variance / scale**2])
    features = np.stack([np.ones_like(v), v, v * v])
    bound = _Bounds(problem)
    found = None if problem.equality else _newton(features[:2], target[:2], bound)
    if found is None or float(features[2] @ found[0]) > target[2]:
        # As a bound, V matters only where the law without it would vary more.
        found = _newton(features, target, bound)
    return None if found is None else _polished(found[0], v)


def _polished(p: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Exactly symmetric where the support and the solution are."""
    if np.array_equal(v, -v[::-1]) and np.allclose(p, p[::-1], rtol=1e-8, atol=1e-11):
        p = (p + p[::-1]) / 2
    return np.asarray(p / p.sum(), dtype=np.float64)


class _Bounds:
    """The inner problem: from θ to the best p within the bounds, and the groups that move together."""

    def __init__(self, problem: RowProblem) -> None:
        self.zero = problem.zero
        self.chain = problem.monotone and self.zero is not None
        self.floor = float(np.log(SMALLEST_PROBABILITY))
        self.stay = float(np.log(problem.p_stay)) if problem.p_stay > SMALLEST_PROBABILITY else self.floor

    def pooled(self, theta: NDArray[np.float64]) -> tuple[NDArray[np.float64], list[tuple[int, int]]]:
        """The logarithm of p and the free groups [start, stop) of places that share one value.

        With a bound on p(0), the others left of it are isotonic among themselves and at most p_stay; that is
        the projection, for a bound common to a chain only clips it.
        """
        logs, groups = theta.copy(), []
        left = (self.zero or 0) + 1 if self.chain else 0
        blocks = _isotonic(theta[:left])
        if self.zero is not None and self.stay > self.floor:
            blocks = self._with_stay(theta, blocks, left)
        for start, stop, level in blocks:
            logs[start:stop] = level
            groups.append((start, stop))
        groups.extend((j, j + 1) for j in range(left, len(theta)))
        if not self.chain and self.zero is not None:
            logs[self.zero] = max(logs[self.zero], self.stay)
        lower = np.full(len(theta), self.floor)
        if self.zero is not None:
            lower[self.zero] = self.stay
        logs = np.maximum(logs, self.floor)
        free = [
            (s, t) for s, t in groups if logs[s] > max(self.floor, lower[s]) and not self._capped(logs, s, t)
        ]
        return logs, free

    def _with_stay(
        self, theta: NDArray[np.float64], blocks: list[tuple[int, int, float]], left: int
    ) -> list[tuple[int, int, float]]:
        """The chain's blocks when p(0) may not fall below p_stay."""
        if not self.chain or blocks[-1][2] >= self.stay:
            return blocks
        below = [(s, t, min(level, self.stay)) for s, t, level in _isotonic(theta[: left - 1])]
        return [*below, (left - 1, left, self.stay)]

    def _capped(self, logs: NDArray[np.float64], start: int, stop: int) -> bool:
        """Whether a group is held at p_stay, from below or, through the chain, from above."""
        if self.zero is None or self.stay <= self.floor:
            return False
        if self.chain:
            return stop <= self.zero + 1 and logs[self.zero] <= self.stay and logs[start] >= self.stay
        return start == self.zero and logs[start] <= self.stay


def _isotonic(theta: NDArray[np.float64]) -> list[tuple[int, int, float]]:
    """Pool adjacent violators: blocks (start, stop, mean) with ascending means."""
    blocks: list[tuple[int, int, float]] = []
    for place, level in enumerate(theta.tolist()):
        block = (place, place + 1, level)
        while blocks and blocks[-1][2] > block[2]:
            start, middle, mean = blocks.pop()
            size, extra = middle - start, block[1] - block[0]
            block = (start, block[1], (mean * size + block[2] * extra) / (size + extra))
        blocks.append(block)
    return blocks


def _newton(
    features: NDArray[np.float64], target: NDArray[np.float64], bounds: _Bounds
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Minimise the dual; its gradient is the moments' error, its Hessian that of the free groups."""
    multipliers = _start(features, target)
    state = _dual(multipliers, features, target, bounds)
    for _ in range(_STEPS):
        value, gradient, hessian, p = state
        if float(np.abs(gradient).max()) < _ACCURACY:
            return p, multipliers
        ridge = 1e-14 * (1 + float(np.trace(hessian)))
        step = np.linalg.solve(hessian + ridge * np.eye(len(target)), -gradient)
        slope, length = float(gradient @ step), 1.0
        while length > 1e-12:
            candidate = multipliers + length * step
            state = _dual(candidate, features, target, bounds)
            if state[0] <= value + 1e-4 * length * slope + 1e-15 * abs(value):
                break
            length /= 2
        else:
            return (p, multipliers) if float(np.abs(gradient).max()) < 1e-10 else None
        multipliers = candidate
    return None


def _start(features: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """The discretised normal of variance V, near the answer of a wide support; uniform without V."""
    multipliers = np.zeros(len(target))
    if len(target) > 2:
        multipliers[2] = -0.5 / target[2]
    theta = multipliers @ features
    multipliers[0] = -float(np.log(np.exp(theta).sum()))
    return multipliers


def _dual(
    multipliers: NDArray[np.float64],
    features: NDArray[np.float64],
    target: NDArray[np.float64],
    bounds: _Bounds,
) -> tuple[float, NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Value, gradient and Hessian of the dual, and the p that belongs to the multipliers."""
    theta = np.minimum(multipliers @ features, 300.0)
    logs, free = bounds.pooled(theta)
    p = np.exp(logs)
    value = float(p @ (theta - logs + 1) - multipliers @ target)
    if free:
        starts = np.array([start for start, _ in free])
        sizes = np.array([stop - start for start, stop in free], dtype=np.float64)
        totals = np.stack([features[:, start:stop].sum(axis=1) for start, stop in free], axis=1)
        hessian = (totals * (p[starts] / sizes)) @ totals.T
    else:
        hessian = np.zeros((len(target), len(target)))
    return value, features @ p - target, hessian, p


def feasible_variances(problem: RowProblem) -> tuple[float, float] | None:
    """Smallest and largest variance that the row's other constraints allow, or None if they allow no row."""
    ends = [_linear(problem, sign * np.array(problem.values, dtype=np.float64) ** 2) for sign in (1, -1)]
    if ends[0] is None or ends[1] is None:
        return None
    return ends[0], -ends[1]


def largest_p_stay(problem: RowProblem) -> float | None:
    """The largest p(0) that the variance and the mean allow."""
    zero = problem.zero
    if zero is None:
        return None
    goal = np.zeros(len(problem.values))
    goal[zero] = -1
    best = _linear(problem, goal, with_variance=True)
    return None if best is None else -best


def _linear(problem: RowProblem, goal: NDArray[np.float64], *, with_variance: bool = False) -> float | None:
    """The least value of a linear goal over the rows that satisfy the constraints."""
    from scipy.optimize import linprog  # noqa: PLC0415 - only a refused design needs a linear program

    v = np.array(problem.values, dtype=np.float64)
    equal, level = [np.ones_like(v), v], [1.0, 0.0]
    below, limit = _chain_rows(problem), [0.0] * len(_chain_rows(problem))
    if with_variance and problem.equality:
        equal, level = [*equal, v * v], [*level, problem.variance]
    elif with_variance:
        below, limit = [*below, v * v], [*limit, problem.variance]
    bounds: Sequence[tuple[float, float]] = [
        (
            max(SMALLEST_PROBABILITY, problem.p_stay)
            if value == 0 and not with_variance
            else SMALLEST_PROBABILITY,
            1,
        )
        for value in problem.values
    ]
    found = linprog(goal, np.array(below) if below else None, limit or None, np.array(equal), level, bounds)
    return float(found.fun) if found.status == 0 else None


def _chain_rows(problem: RowProblem) -> list[NDArray[np.float64]]:
    """The monotonicity constraints p(v) - p(next v) ≤ 0 as rows of a matrix."""
    if not problem.monotone or problem.zero is None:
        return []
    step = np.eye(len(problem.values))
    return [step[j] - step[j + 1] for j in range(problem.zero)]
