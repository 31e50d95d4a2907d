from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InfeasibleDesign
from discreet.noise import abs_noise
from discreet.noise.design import symmetric_delta
from discreet.noise.families.abs import guide_delta, guide_gamma, ideal_abs
from discreet.noise.families.maxent import symmetric_gamma


@settings(max_examples=60, deadline=None)
@given(epsilon=st.floats(0.05, 3), D=st.integers(1, 40))
def test_gamma_lies_in_the_range_where_only_the_end_value_exceeds_epsilon(epsilon, D):
    gamma = guide_gamma(epsilon, D)
    assert epsilon / (2 * D + 1) <= gamma < epsilon / (2 * D - 1)
    assert symmetric_delta(D, gamma, epsilon) == pytest.approx(guide_delta(epsilon, D), rel=1e-9)


def test_the_guide_takes_the_smallest_support_that_reaches_delta():
    ideal = ideal_abs(0.5, delta=1e-4)
    assert guide_delta(0.5, ideal.parameters["D"]) <= 1e-4 < guide_delta(0.5, ideal.parameters["D"] - 1)


def test_its_variance_leads_back_to_its_gamma():
    ideal = ideal_abs(1.0, 11)
    assert symmetric_gamma(11, ideal.parameters["V"]) == pytest.approx(ideal.parameters["gamma"], rel=1e-10)


def test_the_papers_ceiling_is_the_default_and_exact_removes_its_bias():
    assert abs_noise(epsilon=1, D=10).row(0).mean() < 0
    assert abs_noise(epsilon=1, D=10, rounding="exact").row(0).mean() == 0


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ({"epsilon": 1}, "needs D or delta"),
        ({"epsilon": 1, "D": 3, "delta": 0.1}, "not both"),
        ({"epsilon": 1, "D": 0}, "between 1"),
        ({"epsilon": 1e-3, "delta": 1e-9}, "beyond"),
    ],
)
def test_wishes_without_a_table_are_refused(wish, reason):
    with pytest.raises(InfeasibleDesign, match=reason):
        abs_noise(**wish)
