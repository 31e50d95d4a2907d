"""One row of the maximum-entropy design: a small convex problem, solved through its dual.

    maximise -Σ p log p   subject to   Σ p = 1,  Σ v p = 0,  Σ v² p ≤ V (or = V),
    p ≥ 1e-8,  p(0) ≥ p_stay,  and, if monotone, p nondecreasing in v for v ≤ 0.

Given the three multipliers, θ(v) = c + a v + b v² and the best p is exp(θ) made isotonic left of zero and
raised to its lower bounds (`bounded_law`). The dual is therefore convex and smooth in three
numbers, with a 3 x 3 Hessian: damped Newton reaches 1e-12 in about ten steps, a tenth of a millisecond each.

Source: Fraser & Wooton (2005); Marley & Leaver (2011); the R package ptable 1.0.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.noise.bounded_law import BoundedLaw
from discreet.noise.row_problem import SMALLEST_PROBABILITY, RowProblem, feasible_variances

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    _Solution = tuple[NDArray[np.float64], NDArray[np.float64]]

_STEPS = 100
_APPROACHES = 60
_ACCURACY = 1e-13
_ENOUGH = 1e-10
_SHORTEST = 1e-12
_RIDGE = 1e-14


def solve_row(problem: RowProblem) -> NDArray[np.float64] | None:
    """The probabilities of maximum entropy, or None where the constraints leave none.

    >>> solve_row(RowProblem((-1, 0, 1), variance=0.5)).round(6).tolist()
    [0.25, 0.5, 0.25]
    """
    scale = max(abs(problem.values[0]), abs(problem.values[-1])) or 1
    v = np.array(problem.values, dtype=np.float64) / scale
    target = np.array([1.0, 0.0, problem.variance / scale**2])
    features = np.stack([np.ones_like(v), v, v * v])
    law = BoundedLaw(problem)
    free = _newton(features[:2], target[:2], law, _start(features[:2], target[:2], problem.p_stay))
    if free is None:
        return None
    if not problem.equality and float(features[2] @ free[0]) <= target[2]:
        return _polished(free[0], v)  # as a bound, V matters only where the law without it would vary more
    found = _newton(features, target, law, _start(features, target, problem.p_stay))
    if found is None and _has_a_law(problem):
        found = _approach(features, target, law, free)
    return None if found is None else _polished(found[0], v)


def _has_a_law(problem: RowProblem) -> bool:
    span = feasible_variances(problem)
    return span is not None and span[0] < problem.variance < span[1]


def _approach(
    features: NDArray[np.float64], target: NDArray[np.float64], law: BoundedLaw, free: _Solution
) -> _Solution | None:
    """Near the edge of what is feasible: lead the variance from that of the free law to V, step by step."""
    multipliers, current = np.append(free[1], 0.0), float(features[2] @ free[0])
    share = 1.0
    for _ in range(_APPROACHES):
        aim = current + share * (float(target[2]) - current)
        found = _newton(features, np.array([1.0, 0.0, aim]), law, multipliers)
        if found is None:
            share /= 2
            continue
        if share == 1.0:
            return found
        multipliers, current, share = found[1], aim, min(1.0, 2 * share)
    return None


def _polished(p: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
    """Exactly symmetric where the support and the solution are."""
    if np.array_equal(v, -v[::-1]) and np.allclose(p, p[::-1], rtol=1e-8, atol=1e-11):
        p = (p + p[::-1]) / 2
    return np.asarray(p / p.sum(), dtype=np.float64)


class _Dual(NamedTuple):
    """The dual at some multipliers, and the p that belongs to them."""

    value: float
    gradient: NDArray[np.float64]
    hessian: NDArray[np.float64]
    p: NDArray[np.float64]


def _newton(
    features: NDArray[np.float64],
    target: NDArray[np.float64],
    law: BoundedLaw,
    multipliers: NDArray[np.float64],
) -> _Solution | None:
    """Minimise the dual; its gradient is the moments' error, its Hessian that of the free groups."""
    state = _dual(multipliers, features, target, law)
    for _ in range(_STEPS):
        if float(np.abs(state.gradient).max()) < _ACCURACY:
            return state.p, multipliers
        moved = _step(multipliers, state, lambda at: _dual(at, features, target, law))
        if moved is None:
            return (state.p, multipliers) if float(np.abs(state.gradient).max()) < _ENOUGH else None
        multipliers, state = moved
    return None


def _step(
    multipliers: NDArray[np.float64], state: _Dual, dual: Callable[[NDArray[np.float64]], _Dual]
) -> tuple[NDArray[np.float64], _Dual] | None:
    """One Newton step, halved until the dual falls; None where rounding leaves nothing to gain."""
    ridge = _RIDGE * (1 + float(np.trace(state.hessian)))
    step = np.linalg.solve(state.hessian + ridge * np.eye(len(multipliers)), -state.gradient)
    slope, length = float(state.gradient @ step), 1.0
    while length > _SHORTEST:
        candidate = multipliers + length * step
        found = dual(candidate)
        if found.value <= state.value + 1e-4 * length * slope + 1e-15 * abs(state.value):
            return candidate, found
        length /= 2
    return None


def _start(features: NDArray[np.float64], target: NDArray[np.float64], p_stay: float) -> NDArray[np.float64]:
    """The discretised normal of variance V, near the answer of a wide support; uniform without V.

    Scaled to the mass that p_stay leaves.
    """
    multipliers = np.zeros(len(target))
    if len(target) > 2:
        multipliers[2] = -0.5 / target[2]
    total = float(np.exp(multipliers @ features).sum())
    multipliers[0] = np.log(max(1 - p_stay, SMALLEST_PROBABILITY) / total)
    return multipliers


def _dual(
    multipliers: NDArray[np.float64],
    features: NDArray[np.float64],
    target: NDArray[np.float64],
    law: BoundedLaw,
) -> _Dual:
    """Value, gradient and Hessian of the dual, and the p that belongs to the multipliers."""
    theta = np.minimum(multipliers @ features, 300.0)  # a long trial step must not overflow
    blocks = law.blocks(theta)
    starts = np.array([block.start for block in blocks])
    sizes = np.diff(starts, append=len(theta))
    shared = np.array([block.level for block in blocks])
    logs = np.repeat(shared, sizes)
    p = np.exp(logs)
    free = np.array([block.free for block in blocks])
    totals = np.add.reduceat(features, starts, axis=1)
    hessian = (totals * (free * np.exp(shared) / sizes)) @ totals.T
    value = float(p @ (theta - logs + 1) - multipliers @ target)
    return _Dual(value, features @ p - target, hessian, p)
