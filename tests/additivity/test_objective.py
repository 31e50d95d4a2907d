"""What is minimised: plain change first; ties never outweigh one unit of it, and kept cells outweigh everything."""

import numpy as np

from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.additivity.fitted import fitted
from discreet.additivity.objective import objective

ONE = Additive((AxisTree.plain(3),))


def goal_of(noisy, structure=ONE, **options):
    everything = {"kept": np.zeros(noisy.shape, dtype=bool), "bounded": True, "keep_zeros": True} | options
    return objective(noisy, structure, np.ones(noisy.shape, dtype=bool), **everything)


def test_all_ties_together_weigh_less_than_one_unit_of_change():
    noisy = np.array([9, 0, 4, 40])
    goal = goal_of(noisy)
    most = int((goal.weight - goal.weight.min() + goal.rise + 2).max())
    change = np.abs(ONE.add_up(noisy[:3]) - noisy).sum()
    assert most * change < goal.weight.min()


def test_a_kept_cell_weighs_more_than_a_change_of_all_others():
    noisy = np.array([9, 0, 4, 40])
    kept = np.array([False, False, False, True])
    goal = goal_of(noisy, kept=kept)
    assert goal.weight[-1] > goal.weight[:-1].sum() + goal.rise.sum()
    assert goal.free.tolist() == (~kept).tolist()


def test_of_equal_changes_leaf_cells_give_way_before_totals():
    """3 + 5 + 2 = 10 and the total is 13: three units, in the parts or in the total. The total is kept."""
    values, report = fitted(np.array([3, 5, 2, 13]), ONE)
    assert report.optimal
    assert values.tolist() == [4, 6, 3, 13]


def test_of_equal_changes_zeros_stay_where_that_is_asked_for():
    assert fitted(np.array([3, 0, 2, 7]), ONE)[0].tolist() == [4, 0, 3, 7]
    first = fitted(np.array([3, 0, 2, 8]), ONE, keep_zeros=False)[0]
    assert first.tolist() == [4, 1, 3, 8]


def test_where_64_bits_would_not_hold_the_ties_they_are_left_out():
    noisy = np.array([2**45, 0, 4, 2**50])
    goal = goal_of(noisy, kept=noisy == 4)
    assert goal.step == 0
    assert (goal.weight[goal.free] == 1).all()
