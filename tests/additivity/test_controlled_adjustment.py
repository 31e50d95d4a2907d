from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.additivity.controlled_adjustment import adjust, sum_axes


def aims_of(table: np.ndarray) -> dict[tuple[int, ...], np.ndarray]:
    return {margin: table.sum(axis=margin) for margin in sum_axes(table.ndim)}


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(3, 4))
@settings(max_examples=40, deadline=None)
def test_it_ends_with_non_negative_integers_and_the_wanted_total(seed, ways):
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(2, 6, ways))
    wish, other = random.poisson(2, shape), random.poisson(2, shape)
    found = adjust(wish, aims_of(other), wish >= 0, keep_zeros=True)
    assert (found >= 0).all()
    assert found.sum() == other.sum()


@given(st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_a_wish_that_meets_its_aims_is_left_alone(seed):
    random = np.random.default_rng(seed)
    wish = random.poisson(3, (3, 4, 2))
    found = adjust(wish, aims_of(wish), wish >= 0, keep_zeros=False)
    assert (found == wish).all()


def test_margins_come_much_nearer_than_those_of_the_wish():
    random = np.random.default_rng(6)
    wish = random.poisson(4, (12, 12, 12))
    other = np.maximum(wish + random.integers(-3, 4, wish.shape), 0)
    found = adjust(wish, aims_of(other), wish >= 0, keep_zeros=False)
    left = sum(np.abs(found.sum(axis=a) - other.sum(axis=a)).sum() for a in range(3))
    lacking = sum(np.abs(wish.sum(axis=a) - other.sum(axis=a)).sum() for a in range(3))
    assert left < lacking / 10
    for axes in ((0, 1), (0, 2), (1, 2)):
        assert (found.sum(axis=axes) == other.sum(axis=axes)).all()


def test_impossible_cells_stay_zero():
    random = np.random.default_rng(7)
    possible = random.random((5, 5, 5)) < 0.7
    wish, other = (random.poisson(3, (5, 5, 5)) * possible for _ in range(2))
    found = adjust(wish, aims_of(other), possible, keep_zeros=True)
    assert not found[~possible].any()
