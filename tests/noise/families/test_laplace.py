from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InfeasibleDesign
from discreet.noise import laplace
from discreet.noise.families.laplace import end_probability, ideal_laplace, last_key_m, smallest_m


@settings(max_examples=60, deadline=None)
@given(epsilon=st.floats(0.01, 8), m=st.integers(1, 15))
def test_every_ratio_within_the_support_is_e_to_the_epsilon(epsilon, m):
    row = ideal_laplace(epsilon, m).last
    assert row.values == tuple(range(-m, m + 1))
    for a, b in zip(row.probabilities[:m], row.probabilities[1 : m + 1], strict=True):
        assert b / a == pytest.approx(math.exp(epsilon), rel=1e-12)
    assert row.probabilities[-1] == pytest.approx(end_probability(epsilon, m), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(epsilon=st.floats(0.02, 5), exponent=st.floats(-12, -0.5))
def test_a_delta_finds_the_smallest_m_that_keeps_it(epsilon, exponent):
    delta = 10**exponent
    m = smallest_m(epsilon, delta)
    assert end_probability(epsilon, m) <= delta
    assert m == 1 or end_probability(epsilon, m - 1) > delta


@pytest.mark.parametrize("modulus", [2**8, 2**16, 2**32, 2**64])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_without_m_the_law_is_cut_where_the_keys_end_and_the_cut_is_said(epsilon, modulus):
    ideal = ideal_laplace(epsilon, modulus=modulus)
    m = last_key_m(epsilon, modulus)
    untruncated = math.tanh(epsilon / 2)
    assert untruncated * math.exp(-epsilon * (m + 1)) * modulus < 1
    assert f"±{m}" in ideal.notes[0]
    assert laplace(epsilon=epsilon, modulus=modulus).largest == m


def test_the_exact_hit_of_the_untruncated_law_is_tanh_of_half_epsilon():
    assert float(laplace(epsilon=1, modulus=2**64).row(0).probabilities()[0]) == pytest.approx(
        math.tanh(0.5), rel=1e-15
    )


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ({"epsilon": 0, "m": 3}, "above 0"),
        ({"epsilon": math.inf, "m": 3}, "finite"),
        ({"epsilon": 1, "m": 0}, "between 1"),
        ({"epsilon": 1, "m": 3, "delta": 0.1}, "not both"),
        ({"epsilon": 1, "delta": 0.0}, "between 0 and 1"),
        ({"epsilon": 50, "m": 7}, "less likely than any key"),
        ({"epsilon": 1e-5}, "at most"),
        ({"epsilon": 1, "modulus": 2}, "no room"),
    ],
)
def test_wishes_without_a_table_are_refused(wish, reason):
    with pytest.raises(InfeasibleDesign, match=reason):
        laplace(**wish)
