from __future__ import annotations

import numpy as np

from discreet.additivity.additivity import sums_of_interior
from discreet.additivity.axis_tree import Additive, AxisTree


def test_leaf_cells_keep_their_values_and_totals_become_their_sums():
    structure = Additive((AxisTree((2, 2, 4, 4, -1)), AxisTree.plain(2)))
    random = np.random.default_rng(2)
    noisy = random.integers(-3, 30, structure.shape)
    values = sums_of_interior(noisy, structure)
    assert structure.holds(values)
    assert (structure.leaf_cells(values) == structure.leaf_cells(noisy)).all()


def test_an_axis_without_a_total_is_left_as_it_is():
    noisy = np.array([[1, 2, 9], [3, 4, 9]])
    structure = Additive((AxisTree.plain(2, total=False), AxisTree.plain(2)))
    assert sums_of_interior(noisy, structure).tolist() == [[1, 2, 3], [3, 4, 7]]
