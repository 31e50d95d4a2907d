from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.workspace.demo.apportion import apportion

weights = st.lists(st.floats(0.01, 100), min_size=1, max_size=30).map(np.array)


@settings(max_examples=60, deadline=None)
@given(total=st.integers(0, 10**9), weights=weights)
def test_shares_add_up_and_lie_within_one_of_their_quota(total, weights):
    shares = apportion(total, weights)
    assert int(shares.sum()) == total
    assert np.abs(shares - total * weights / weights.sum()).max() < 1 + 1e-6


def test_the_largest_fractions_get_the_units_left_over():
    assert apportion(10, np.array([1.49, 4.25, 4.26])).tolist() == [2, 4, 4]
