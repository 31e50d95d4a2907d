from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.margins.closure import MarginSet
from discreet.margins.linear_program import fit_table, least_deviation
from discreet.margins.transforms import EfronSteinTransform

from .conftest import margin_sets, problem, slow_deviation
from .test_transforms import dense


@settings(max_examples=25, deadline=None)
@given(margin_sets(variables=(2, 4), categories=(2, 4), cells=60), st.booleans(), st.integers(0, 999))
def test_the_sparse_program_has_the_optimum_of_the_dense_one(wanted, fourier, seed):
    transform, noisy = problem(wanted, fourier, seed)
    expected, _ = slow_deviation(dense(transform), noisy)
    assert least_deviation(transform, noisy) == pytest.approx(expected, abs=1e-6)


def test_coefficients_of_a_table_come_back_without_a_program():
    wanted = MarginSet(("A", "B"), (3, 4), ((0, 1),))
    counts = np.arange(12.0).reshape(3, 4)
    transform = EfronSteinTransform(wanted)
    fitted = fit_table(transform, transform.forward(counts))
    assert fitted.b == 0.0
    assert fitted.table == pytest.approx(counts)


@pytest.mark.slow
def test_ten_thousand_cells_pass_both_stages():
    wanted = MarginSet(tuple("ABCD"), (10,) * 4, tuple(combinations(range(4), 2)))
    transform, noisy = problem(wanted, fourier=False, seed=5, noise=0.01)
    fitted = fit_table(transform, noisy)
    assert fitted.table.shape == (10,) * 4
    assert fitted.table.min() >= 0
    reached = np.abs(transform.forward(fitted.table) - noisy).max()
    assert math.isclose(reached, fitted.b, rel_tol=1e-3, abs_tol=1e-5)
