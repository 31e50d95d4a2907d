from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.margins.rounding import nearest

tables = arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 4)), elements=st.floats(0, 1000))


def test_halves_go_up_even_where_a_solver_left_a_little_less():
    assert nearest(np.array([0.5, 0.499999, 1.5, 0.49])).tolist() == [1, 1, 2, 0]


@given(tables)
def test_nearest_is_within_half_a_count(table):
    assert np.abs(nearest(table) - table).max() <= 0.5 + 1e-4


def test_a_sparse_table_of_small_cells_vanishes():
    assert nearest(np.full((10, 10), 0.4)).sum() == 0
