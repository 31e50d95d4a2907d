from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.margins.closure import MarginSet
from discreet.margins.importance import overall_error
from discreet.margins.independent import independent
from discreet.margins.optimum import optimum
from discreet.margins.residual_basis import GaussianOptimum

from .conftest import margin_sets


@settings(max_examples=25, deadline=None)
@given(
    margin_sets(),
    st.sampled_from([0.1, 1.0, 6.0]),
    st.sampled_from([0.0, 1e-5]),
    st.sampled_from(["add-remove", "replace-one"]),
)
def test_the_optimum_is_never_worse_than_independent_noise(wanted, epsilon, delta, neighbours):
    best = overall_error(optimum(wanted, epsilon, delta, neighbours=neighbours))
    for consistent in (False, True):
        plain = independent(wanted, epsilon, delta, neighbours=neighbours, consistent=consistent)
        assert best <= overall_error(plain) * (1 + 1e-3)


def test_one_margin_takes_laplace_and_many_take_gaussian_noise():
    one = MarginSet(("A", "B"), (3, 4), ((0, 1),))
    many = MarginSet(tuple("ABCDEFG"), (11, 2, 21, 5, 12, 9, 5), tuple(combinations(range(7), 2)))
    assert not isinstance(optimum(one, 1.0, 1e-6), GaussianOptimum)
    best = optimum(many, 1.0, 1e-6)
    assert isinstance(best, GaussianOptimum)
    assert overall_error(best) == pytest.approx(11.76, abs=0.01)
