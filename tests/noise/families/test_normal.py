from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InfeasibleDesign
from discreet.noise import normal
from discreet.noise.design import symmetric_delta
from discreet.noise.families.maxent import ideal_symmetric
from discreet.noise.families.normal import end_probability, ideal_normal, match_m


@settings(max_examples=60, deadline=None)
@given(epsilon=st.floats(0.05, 4), m=st.integers(1, 30))
def test_its_delta_is_the_end_probability_and_nothing_more(epsilon, m):
    assert symmetric_delta(m, epsilon / (2 * m + 1), epsilon) == pytest.approx(end_probability(epsilon, m))
    assert ideal_normal(epsilon, m).last.probabilities[0] == pytest.approx(end_probability(epsilon, m))


def test_it_is_the_maximum_entropy_law_of_its_variance():
    row = ideal_normal(1.0, 10).last
    twin = ideal_symmetric(10, row.variance()).last
    assert row.probabilities == pytest.approx(twin.probabilities, rel=1e-9)


def test_a_delta_finds_its_m():
    assert normal(epsilon=1.0, delta=0.001).largest == match_m(1.0, 0.001)


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ({"epsilon": 1}, "needs m or delta"),
        ({"epsilon": 1, "m": 3, "delta": 0.1}, "not both"),
        ({"epsilon": -1, "m": 3}, "above 0"),
        ({"epsilon": 1, "delta": 2}, "between 0 and 1"),
        ({"epsilon": 1e-3, "delta": 1e-9}, "beyond"),
    ],
)
def test_wishes_without_a_table_are_refused(wish, reason):
    with pytest.raises(InfeasibleDesign, match=reason):
        normal(**wish)
