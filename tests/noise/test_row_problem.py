"""Which variances and chances of no change a row's constraints allow."""

from __future__ import annotations

import pytest

from discreet.noise.row_problem import (
    RowProblem,
    feasible_variances,
    largest_p_stay,
)


def test_the_limits_of_a_row_come_from_its_constraints():
    problem = RowProblem((-1, 0, 1, 2, 3, 4, 5), variance=3.0, monotone=False, equality=True)
    low, high = feasible_variances(problem)
    assert low == pytest.approx(0, abs=1e-5)
    assert high == pytest.approx(5, abs=1e-5)  # five sixths at -1, one sixth at 5
    assert largest_p_stay(problem) == pytest.approx(0.4, abs=1e-5)
    assert largest_p_stay(RowProblem((-1, 2), variance=2.0)) is None
    assert feasible_variances(RowProblem((1, 2), variance=2.0)) is None
