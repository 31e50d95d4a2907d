from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from discreet.noise.bounded_law import BoundedLaw, isotonic
from discreet.noise.row_problem import (
    SMALLEST_PROBABILITY,
    RowProblem,
)


@settings(max_examples=100, deadline=None)
@given(levels=st.lists(st.floats(-20, 20), min_size=1, max_size=12))
def test_pooling_equals_isotonic_regression(levels):
    ours = [block.level for block in isotonic(levels) for _ in range(block.start, block.stop)]
    assert np.allclose(ours, isotonic_regression(levels).x)


@settings(max_examples=100, deadline=None)
@given(
    theta=st.lists(st.floats(-25, 5), min_size=7, max_size=7),
    p_stay=st.sampled_from([0.0, 0.3, 0.9]),
    monotone=st.booleans(),
)
def test_the_law_respects_its_bounds(theta, p_stay, monotone):
    law = BoundedLaw(RowProblem(tuple(range(-3, 4)), 1.0, p_stay, monotone))
    logs = [block.level for block in law.blocks(np.array(theta)) for _ in range(block.start, block.stop)]
    assert len(logs) == 7
    assert min(logs) >= math.log(SMALLEST_PROBABILITY)
    assert math.exp(logs[3]) >= p_stay - 1e-12
    if monotone:
        assert logs[:4] == sorted(logs[:4])


def test_free_blocks_follow_theta_where_nothing_binds():
    law = BoundedLaw(RowProblem((-1, 0, 1), 1.0))
    blocks = law.blocks(np.array([-2.0, -1.0, -3.0]))
    assert [block.level for block in blocks] == [-2.0, -1.0, -3.0]
    assert all(block.free for block in blocks)
