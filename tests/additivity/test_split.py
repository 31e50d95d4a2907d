from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.additivity.split import split


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12), st.integers(0, 200), st.booleans())
def test_parts_add_up_and_change_no_more_than_they_must(wish, total, keep_zeros):
    wish = np.array(wish)
    parts = split(wish, total, np.ones(wish.size, dtype=bool), keep_zeros=keep_zeros)
    assert parts.sum() == total
    assert (parts >= 0).all()
    assert np.abs(parts - wish).sum() == abs(total - wish.sum())


def test_what_does_not_divide_goes_to_the_largest_and_of_equals_to_the_first():
    possible = np.ones(4, dtype=bool)
    assert split(np.array([2, 7, 7, 0]), 18, possible, keep_zeros=True).tolist() == [2, 8, 8, 0]
    assert split(np.array([2, 7, 7, 0]), 17, possible, keep_zeros=True).tolist() == [2, 8, 7, 0]
    assert split(np.array([2, 7, 7, 0]), 14, possible, keep_zeros=True).tolist() == [2, 6, 6, 0]


def test_zeros_rise_only_if_allowed_or_if_nothing_else_can():
    possible = np.array([True, True, False])
    assert split(np.array([5, 0, 0]), 8, possible, keep_zeros=True).tolist() == [8, 0, 0]
    assert split(np.array([5, 0, 0]), 8, possible, keep_zeros=False).tolist() == [7, 1, 0]
    assert split(np.array([0, 0, 0]), 3, possible, keep_zeros=True).tolist() == [2, 1, 0]
