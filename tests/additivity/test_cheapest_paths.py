"""Units move along cheapest paths, and a table that is not the cheapest is not said to be."""

from __future__ import annotations

import numpy as np

from discreet.additivity.cheapest_paths import Costs, flow_out


def test_a_costlier_table_is_not_proven():
    wish = np.array([[3, 3], [3, 3]])
    detour = wish + np.array([[1, -1], [-1, 1]])
    costs = Costs(wish, np.ones((2, 2), dtype=np.int64), wish >= 0)
    _, optimal, met, _ = flow_out(costs, detour, np.zeros(4, dtype=np.int64))
    assert met
    assert not optimal


def test_units_flow_to_where_they_lack_and_the_least_change_is_proven():
    wish = np.array([[3, 3], [3, 3]])
    costs = Costs(wish, np.ones((2, 2), dtype=np.int64), wish >= 0)
    cells, optimal, met, moved = flow_out(costs, wish.copy(), np.array([1, 0, 0, 1]))
    assert (met, optimal, moved) == (True, True, 1)
    assert cells.tolist() == [[3, 4], [3, 3]]


def test_a_cell_that_may_not_rise_is_gone_around():
    wish = np.array([[3, 0], [3, 3]])
    possible = np.array([[True, False], [True, True]])
    costs = Costs(wish, np.ones((2, 2), dtype=np.int64), possible)
    cells, _, met, _ = flow_out(costs, wish.copy(), np.array([1, 0, 0, 1]))
    assert met
    assert cells.tolist() == [[4, 0], [2, 4]]
