"""One row of the maximum-entropy design as a problem: what it must satisfy, and whether anything can.

    Σ p = 1,  Σ v p = 0,  Σ v² p ≤ V (or = V),  p ≥ 1e-8,  p(0) ≥ p_stay,  p nondecreasing in v for v ≤ 0.

Where no law exists a linear program finds the range of V, or the largest p_stay, that the row would allow:
a refusal names them.

Source: the R package ptable 1.0.0, whose constraints these are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: No value of the support is less likely than this (ptable's lower bound).
SMALLEST_PROBABILITY = 1e-8


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
    bounds = [
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
