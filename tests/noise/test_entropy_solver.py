"""A row of maximum entropy meets its constraints, and infeasible constraints are reported with the allowed range."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, isotonic_regression, minimize

from discreet.noise import entropy_solver as solver


def test_the_limits_of_a_row_come_from_its_constraints():
    problem = solver.RowProblem((-1, 0, 1, 2, 3, 4, 5), variance=3.0, monotone=False, equality=True)
    low, high = solver.feasible_variances(problem)
    assert low == pytest.approx(0, abs=1e-5)
    assert high == pytest.approx(5, abs=1e-5)  # five sixths at -1, one sixth at 5
    assert solver.largest_p_stay(problem) == pytest.approx(0.4, abs=1e-5)
    assert solver.largest_p_stay(solver.RowProblem((-1, 2), variance=2.0)) is None
    assert solver.feasible_variances(solver.RowProblem((1, 2), variance=2.0)) is None


@settings(max_examples=100, deadline=None)
@given(levels=st.lists(st.floats(-20, 20), min_size=1, max_size=12))
def test_pooling_equals_isotonic_regression(levels):
    ours = [block.level for block in solver.isotonic(levels) for _ in range(block.start, block.stop)]
    assert np.allclose(ours, isotonic_regression(levels).x)


def slow_row(problem):
    """The obvious way: a general-purpose solver on the primal problem."""
    v = np.array(problem.values, dtype=float)
    equal, level = [np.ones_like(v), v], [1, 0]
    rows, low, high = [v * v], [-np.inf], [problem.variance]
    if problem.equality:
        equal, level = [*equal, rows.pop()], [*level, problem.variance]
        low, high = [], []
    if problem.monotone and problem.zero is not None:
        for j in range(problem.zero):
            step = np.zeros_like(v)
            step[j], step[j + 1] = -1, 1
            rows, low, high = [*rows, step], [*low, 0], [*high, np.inf]
    bounds = [(max(solver.SMALLEST_PROBABILITY, problem.p_stay if x == 0 else 0), 1) for x in problem.values]
    constraints = [LinearConstraint(np.array(equal), level, level)]
    if rows:
        constraints.append(LinearConstraint(np.array(rows), low, high))
    found = minimize(
        lambda p: float(p @ np.log(p)),
        np.full(len(v), 1 / len(v)),
        jac=lambda p: np.log(p) + 1,
        bounds=bounds,
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    return found.x if found.success else None


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    D=st.integers(2, 6),
    i=st.integers(1, 8),
    js=st.integers(0, 1),
    share=st.floats(0.05, 0.95),
    p_stay=st.sampled_from([0.0, 0.0, 0.2, 0.45]),
    monotone=st.booleans(),
    equality=st.booleans(),
)
def test_the_dual_newton_row_equals_a_general_purpose_solver(D, i, js, share, p_stay, monotone, equality):
    values = tuple(j - i for j in range(max(i - D, 0), i + D + 1) if j == 0 or j > js)
    if len(values) < 3 or values[0] >= 0:
        return
    span = solver.feasible_variances(solver.RowProblem(values, 1.0, p_stay, monotone))
    if span is None:
        return
    problem = solver.RowProblem(values, span[0] + share * (span[1] - span[0]), p_stay, monotone, equality)
    fast, slow = solver.solve_row(problem), slow_row(problem)
    assert fast is not None
    assert float(fast @ np.array(values)) == pytest.approx(0, abs=1e-10)
    second = float(fast @ np.array(values) ** 2)
    assert (
        second == pytest.approx(problem.variance, abs=1e-8) if equality else second <= problem.variance + 1e-9
    )
    if slow is not None:
        assert float(fast @ np.log(fast)) <= float(slow @ np.log(slow)) + 1e-7
        assert np.allclose(fast, slow, atol=2e-4)
