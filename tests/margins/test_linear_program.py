"""The nearest table that reaches b: against a slow active-set method, wherever the solver stopped."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from discreet.margins.holistic import Holistic
from discreet.margins.integer_noise import SeededNoise
from discreet.margins.linear_program import fit_table, least_deviation, nearest_table
from discreet.margins.margin_set import MarginSet, margin_tables

from .conftest import margin_sets, problem, slow_deviation
from .test_bases import dense


@settings(max_examples=25, deadline=None)
@given(margin_sets(variables=(2, 4), categories=(2, 4), cells=60), st.booleans(), st.integers(0, 999))
def test_the_sparse_program_has_the_optimum_of_the_dense_one(wanted, fourier, seed):
    transform, noisy = problem(wanted, fourier, seed)
    expected, _ = slow_deviation(dense(transform), noisy)
    assert least_deviation(transform, noisy) == pytest.approx(expected, abs=1e-6)


def slow_nearest(matrix, noisy, start, b):
    """Lawson and Hanson's least distance, min ‖x‖ with G x ≥ h, as non-negative least squares."""
    rows, cells = matrix.shape
    inequalities = np.vstack([np.eye(cells), matrix, -matrix])
    limits = np.r_[-start, noisy - b - matrix @ start, matrix @ start - noisy - b]
    scale = max(1.0, np.abs(limits).max())
    system = np.vstack([inequalities.T, limits / scale])
    goal = np.r_[np.zeros(cells), 1.0]
    multipliers, _ = nnls(system, goal, maxiter=100 * (cells + rows))
    residual = system @ multipliers - goal
    return start - scale * residual[:-1] / residual[-1]


@pytest.mark.parametrize("seed", [32, 70, 100])
def test_predictor_steps_that_cycle_are_centred(seed):
    """Three of the seeds at which the method went round in circles and gave up, with a little more room than b."""
    transform, noisy = problem(MarginSet(("a", "b"), (2, 2), ((0,),)), True, seed)
    room = least_deviation(transform, noisy) + 1e-3
    fast, slow = (
        nearest_table(transform, noisy, room).ravel(),
        slow_nearest(dense(transform), noisy, transform.table_of(noisy).ravel(), room),
    )
    assert fast == pytest.approx(slow, abs=1e-3)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(margin_sets(variables=(2, 4), categories=(2, 4), cells=60), st.booleans(), st.integers(0, 999))
def test_the_second_stage_is_the_nearest_of_all_tables_that_reach_b(wanted, fourier, seed):
    transform, noisy = problem(wanted, fourier, seed)
    matrix = dense(transform)
    fitted = fit_table(transform, noisy)
    start = transform.table_of(noisy).ravel()
    assert fitted.table.min() >= 0
    assert np.abs(matrix @ fitted.table.ravel() - noisy).max() <= fitted.b + 1e-5
    # with a little more room, a slow active-set method has the same answer
    room = fitted.b + 1e-3
    fast = nearest_table(transform, noisy, room).ravel()
    slow = slow_nearest(matrix, noisy, start, room)
    assert np.linalg.norm(fast - start) <= np.linalg.norm(np.maximum(slow, 0) - start) + 1e-3
    assert fast == pytest.approx(slow, abs=2e-2 * (1 + np.abs(slow).max()) ** 0.5)


def test_a_table_whose_multipliers_are_in_the_thousands_is_solved_too():
    wanted = MarginSet(tuple("ABC"), (5, 4, 4), ((0, 1, 2),))
    exact = margin_tables(np.random.default_rng(0).poisson(1.0, wanted.shape), wanted)
    released = Holistic(wanted, "efron-stein", 0.05).release(exact, SeededNoise(2))
    assert released.table.min() >= 0
    assert released.lp_b > 100
