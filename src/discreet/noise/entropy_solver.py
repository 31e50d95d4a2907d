"""One row of the maximum-entropy design: a small convex problem, solved through its dual.

    maximise -Σ p log p   subject to   Σ p = 1,  Σ v p = 0,  Σ v² p ≤ V (or = V),
    p ≥ 1e-8,  p(0) ≥ p_stay,  and, if monotone, p nondecreasing in v for v ≤ 0.

Given the three multipliers, θ(v) = c + a v + b v², and the best p is exp(θ) made isotonic left of zero and raised to its
lower bounds. The dual is convex and smooth in three variables with a 3 x 3 Hessian: damped Newton reaches 1e-12 in about ten
steps. If no distribution exists, a linear program finds the range of V, or the largest p_stay, for the error message.

Source: Fraser & Wooton (2005); Marley & Leaver (2011); the R package ptable 1.0.0, whose constraints these are;
Barlow & Brunk (1972), generalised isotonic regression.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: No value of the support is less likely than this (ptable's lower bound).
SMALLEST_PROBABILITY = 1e-8


@dataclass(frozen=True, slots=True)
class RowProblem:
    """The constraints of one row: its support (ascending), V, a lower bound of p(0), and monotonicity left of 0.

    With `equality` the variance must equal V; otherwise it may be smaller.
    """

    values: tuple[int, ...]
    variance: float
    p_stay: float = 0.0
    monotone: bool = True
    equality: bool = False

    @property
    def zero(self) -> int | None:
        return self.values.index(0) if 0 in self.values else None


def feasible_variances(problem: RowProblem) -> tuple[float, float] | None:
    """Smallest and largest variance that the other constraints allow, or None if they are infeasible."""
    squares = np.array(problem.values, dtype=np.float64) ** 2
    least, most = _linear(problem, squares), _linear(problem, -squares)
    return None if least is None or most is None else (least, -most)


def largest_p_stay(problem: RowProblem) -> float | None:
    """The largest p(0) that the variance and the mean allow."""
    if problem.zero is None:
        return None
    best = _linear(problem, -np.eye(len(problem.values))[problem.zero], with_variance=True)
    return None if best is None else -best


def _linear(problem: RowProblem, goal: NDArray[np.float64], *, with_variance: bool = False) -> float | None:
    """The least value of a linear goal under the constraints."""
    from scipy.optimize import linprog  # noqa: PLC0415 - only a refused design needs a linear program

    v = np.array(problem.values, dtype=np.float64)
    equal, level = [np.ones_like(v), v], [1.0, 0.0]
    chain = (problem.zero or 0) if problem.monotone else 0
    below, limit = [*-np.diff(np.eye(v.size), axis=0)[:chain]], [0.0] * chain  # p(v) - p(next v) ≤ 0
    if with_variance and problem.equality:
        equal, level = [*equal, v * v], [*level, problem.variance]
    elif with_variance:
        below, limit = [*below, v * v], [*limit, problem.variance]
    stay = 0.0 if with_variance else problem.p_stay
    bounds = [(max(SMALLEST_PROBABILITY, stay if value == 0 else 0.0), 1) for value in problem.values]
    found = linprog(goal, np.array(below) if below else None, limit or None, np.array(equal), level, bounds)
    return float(found.fun) if found.status == 0 else None


class Block(NamedTuple):
    """Positions start..stop-1 that share one log-probability; `free` if it follows the multipliers."""

    start: int
    stop: int
    level: float
    free: bool = True

    def within(self, low: float = -math.inf, high: float = math.inf) -> Block:
        """The block moved to a bound, which then fixes it."""
        return (
            self
            if low < self.level < high
            else self._replace(level=min(max(self.level, low), high), free=False)
        )


class BoundedDistribution:
    """The bounds of a row, applied to any θ.

    The maximiser of Σ p θ - Σ (p log p - p) is exp(θ) with θ made isotonic by pooling adjacent violators (means of θ) and
    raised to its lower bounds. If p(0) is held at p_stay, the values left of it are isotonic and at most p_stay.
    """

    def __init__(self, problem: RowProblem) -> None:
        self.zero = problem.zero
        self.left = (problem.zero or 0) + 1 if problem.monotone and problem.zero is not None else 0
        self.floor = math.log(SMALLEST_PROBABILITY)
        self.stay = math.log(max(problem.p_stay, SMALLEST_PROBABILITY))

    def blocks(self, theta: NDArray[np.float64]) -> list[Block]:
        """The log-probabilities for θ, as blocks from left to right."""
        levels = theta.tolist()
        chain = isotonic(levels[: self.left])
        if chain and chain[-1].level < self.stay:
            below = [block.within(high=self.stay) for block in isotonic(levels[: self.left - 1])]
            chain = [*below, Block(self.left - 1, self.left, self.stay, free=False)]
        rest = [Block(j, j + 1, levels[j]) for j in range(self.left, len(levels))]
        if not self.left and self.zero is not None:
            rest[self.zero] = rest[self.zero].within(self.stay)
        return [block.within(self.floor) for block in (*chain, *rest)]


def isotonic(levels: list[float]) -> list[Block]:
    """Pool adjacent violators: blocks of ascending means.

    >>> [(block.start, block.stop, block.level) for block in isotonic([1.0, 3.0, 2.0])]
    [(0, 1, 1.0), (1, 3, 2.5)]
    """
    blocks: list[Block] = []
    for place, level in enumerate(levels):
        block = Block(place, place + 1, level)
        while blocks and blocks[-1].level > block.level:
            left = blocks.pop()
            size, extra = left.stop - left.start, block.stop - block.start
            mean = (left.level * size + block.level * extra) / (size + extra)
            block = Block(left.start, block.stop, mean)
        blocks.append(block)
    return blocks


#: The probabilities and the multipliers.
_Solution = tuple[NDArray[np.float64], NDArray[np.float64]]

_STEPS = 100
_APPROACHES = 60
_ACCURACY = 1e-13
_ENOUGH = 1e-10
_SHORTEST = 1e-12
_RIDGE = 1e-14


def solve_row(problem: RowProblem) -> NDArray[np.float64] | None:
    """The probabilities of maximum entropy, or None if the constraints are infeasible.

    >>> solve_row(RowProblem((-1, 0, 1), variance=0.5)).round(6).tolist()
    [0.25, 0.5, 0.25]
    """
    scale = max(abs(problem.values[0]), abs(problem.values[-1])) or 1
    v = np.array(problem.values, dtype=np.float64) / scale
    target = np.array([1.0, 0.0, problem.variance / scale**2])
    features = np.stack([np.ones_like(v), v, v * v])
    distribution = BoundedDistribution(problem)
    unbounded, dual = (_Dual(features[:rows], target[:rows], distribution) for rows in (2, 3))
    free = unbounded.minimise(unbounded.start(problem.p_stay))
    if free is None:
        return None
    if not problem.equality and float(features[2] @ free[0]) <= target[2]:
        return _symmetrise(free[0], v)  # V is a bound that the solution without it already meets
    found = dual.minimise(dual.start(problem.p_stay))
    if found is None:
        span = feasible_variances(problem)
        if span is not None and span[0] < problem.variance < span[1]:
            found = _approach(dual, free)
    return None if found is None else _symmetrise(found[0], v)


def _approach(dual: _Dual, free: _Solution) -> _Solution | None:
    """Near the edge of feasibility: move the variance from that of the unconstrained solution to V, step by step."""
    multipliers, current, share = np.append(free[1], 0.0), float(dual.features[2] @ free[0]), 1.0
    for _ in range(_APPROACHES):
        aim = current + share * (float(dual.target[2]) - current)
        found = dual._replace(target=np.array([1.0, 0.0, aim])).minimise(multipliers)
        if found is None:
            share /= 2
            continue
        if share == 1.0:
            return found
        multipliers, current, share = found[1], aim, min(1.0, 2 * share)
    return None


def _symmetrise(p: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make p exactly symmetric if the support and the solution are."""
    if np.array_equal(v, -v[::-1]) and np.allclose(p, p[::-1], rtol=1e-8, atol=1e-11):
        p = (p + p[::-1]) / 2
    return np.asarray(p / p.sum(), dtype=np.float64)


class _State(NamedTuple):
    """The dual at some multipliers, with its p."""

    multipliers: NDArray[np.float64]
    value: float
    gradient: NDArray[np.float64]
    hessian: NDArray[np.float64]
    p: NDArray[np.float64]


class _Dual(NamedTuple):
    features: NDArray[np.float64]
    target: NDArray[np.float64]
    distribution: BoundedDistribution

    def start(self, p_stay: float) -> NDArray[np.float64]:
        """The discretised normal of variance V, uniform without V, scaled to the mass that p_stay leaves."""
        multipliers = np.zeros(len(self.target))
        if len(self.target) > 2:
            multipliers[2] = -0.5 / self.target[2]
        total = float(np.exp(multipliers @ self.features).sum())
        multipliers[0] = np.log(max(1 - p_stay, SMALLEST_PROBABILITY) / total)
        return multipliers

    def minimise(self, multipliers: NDArray[np.float64]) -> _Solution | None:
        """Newton: the gradient is the error of the moments, the Hessian that of the free blocks."""
        state = self.at(multipliers)
        for _ in range(_STEPS):
            error = float(np.abs(state.gradient).max())
            if error < _ACCURACY:
                return state.p, state.multipliers
            moved = self.step(state)
            if moved is None:
                return (state.p, state.multipliers) if error < _ENOUGH else None
            state = moved
        return None

    def step(self, state: _State) -> _State | None:
        """One Newton step, halved until the dual decreases; None once rounding prevents that."""
        ridge = _RIDGE * (1 + float(np.trace(state.hessian)))
        step = np.linalg.solve(state.hessian + ridge * np.eye(len(self.target)), -state.gradient)
        slope, length = float(state.gradient @ step), 1.0
        while length > _SHORTEST:
            found = self.at(state.multipliers + length * step)
            if found.value <= state.value + 1e-4 * length * slope + 1e-15 * abs(state.value):
                return found
            length /= 2
        return None

    def at(self, multipliers: NDArray[np.float64]) -> _State:
        theta = np.minimum(multipliers @ self.features, 300.0)  # a long trial step must not overflow
        blocks = self.distribution.blocks(theta)
        starts = np.array([block.start for block in blocks])
        sizes = np.diff(starts, append=len(theta))
        shared = np.array([block.level for block in blocks])
        logs = np.repeat(shared, sizes)
        p = np.exp(logs)
        free = np.array([block.free for block in blocks])
        totals = np.add.reduceat(self.features, starts, axis=1)
        hessian = (totals * (free * np.exp(shared) / sizes)) @ totals.T
        value = float(p @ (theta - logs + 1) - multipliers @ self.target)
        return _State(multipliers, value, self.features @ p - self.target, hessian, p)
