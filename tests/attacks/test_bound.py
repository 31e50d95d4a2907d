"""The bounds: never below what an exact audit gives, attained where they should be."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.bound import error_bound, exact_bound, optimum, success_bound
from discreet.noise import laplace, normal
from discreet.privacy.audit import delta


@given(st.floats(0.05, 4.0))
def test_the_success_bound_is_attained_by_randomised_response(epsilon):
    truthful = 1 / (1 + math.exp(-epsilon))
    assert success_bound(epsilon) == pytest.approx(truthful)


@given(st.floats(0.1, 3.0), st.integers(1, 6))
def test_the_optimum_is_half_of_one_plus_the_exact_total_variation(epsilon, m):
    table = laplace(epsilon=epsilon, m=m)
    exact = float(delta(table, epsilon=0.0, neighbours="replace-one"))
    assert optimum([table.rows[0]]) == pytest.approx((1 + exact) / 2, abs=1e-9)


def test_the_optimum_of_several_tables_is_the_exact_composition():
    table = normal(epsilon=1.0, m=3)
    exact = float(delta(table, epsilon=0.0, neighbours="replace-one", cells=2))
    assert optimum([table.rows[0]] * 2) == pytest.approx((1 + exact) / 2, abs=1e-9)


@pytest.mark.slow
@given(st.floats(0.05, 1.5), st.integers(1, 6))
def test_no_optimum_passes_the_bound_of_its_epsilon(epsilon, tables):
    rows = [laplace(epsilon=epsilon, modulus=2**64).rows[0]] * tables
    assert optimum(rows) <= success_bound(2 * epsilon * tables) + 1e-9


@given(st.floats(0.2, 3.0))
def test_laplace_noise_attains_the_exact_hit_and_the_error_bound(epsilon):
    row = laplace(epsilon=epsilon, modulus=2**64).rows[0]
    assert float(row.probabilities()[0]) == pytest.approx(math.tanh(epsilon / 2), abs=1e-9)
    assert exact_bound(epsilon) == pytest.approx(math.tanh(epsilon / 2), rel=1e-6)
    assert error_bound(epsilon) == pytest.approx(math.sqrt(float(row.variance())), rel=1e-6)


def test_a_delta_loosens_the_bounds_and_never_past_one():
    assert success_bound(1.0, 0.1) > success_bound(1.0)
    assert exact_bound(1.0, 0.05) > exact_bound(1.0)
    assert success_bound(800.0, 0.5) == 1.0
    assert exact_bound(1.0, 1.0) == 1.0


def test_a_truncated_table_may_hit_more_often_than_its_epsilon_says_but_not_than_epsilon_and_delta():
    table = laplace(epsilon=1.0, m=2)
    hit = float(table.rows[0].probabilities()[0])
    assert hit > exact_bound(1.0)
    assert hit <= exact_bound(1.0, float(delta(table, epsilon=1.0)))
