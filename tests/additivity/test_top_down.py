"""From the top down: a first table that adds up, whose totals keep their wishes."""

import numpy as np

from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.additivity.top_down import top_down

from .programme import some_table, some_tree


def test_it_adds_up_without_negative_numbers_and_keeps_structural_zeros():
    random = np.random.default_rng(2)
    for ways in (1, 2, 3, 4):
        structure = Additive(tuple(some_tree(random, 3) for _ in range(ways)))
        noisy = some_table(random, structure)
        possible = ~structure.impossible(random.random(noisy.shape) < 0.2)
        values = top_down(noisy, structure, possible, keep_zeros=True)
        assert structure.holds(values)
        assert values.min() >= 0
        assert not values[~possible].any()


def test_levels_of_a_hierarchy_each_keep_their_wish_from_the_top_down():
    tree = AxisTree((4, 4, 5, 5, 6, 6, -1))
    wish = np.array([3, 5, 2, 9, 10, 10, 21])
    values = top_down(wish, Additive((tree,)), wish >= 0, keep_zeros=True)
    # 10 + 10 lacks one of 21: the first of the equal districts gets it; 3 + 5 lacks three of 11.
    assert values.tolist() == [4, 7, 2, 8, 11, 10, 21]


def test_the_grand_total_of_three_ways_keeps_its_wish():
    random = np.random.default_rng(4)
    structure = Additive((AxisTree.plain(3),) * 3)
    noisy = some_table(random, structure)
    values = top_down(noisy, structure, np.ones(noisy.shape, dtype=bool), keep_zeros=False)
    assert values[-1, -1, -1] == max(0, noisy[-1, -1, -1])
