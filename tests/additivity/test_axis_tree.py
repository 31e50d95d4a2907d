import numpy as np
import pytest

from discreet.additivity.axis_tree import Additive, AxisTree

GEOGRAPHY = AxisTree((4, 4, 5, 5, 6, 6, -1))
RAGGED = AxisTree((3, 3, 4, 4, -1))


def test_a_cut_is_the_whole_at_a_level_with_leaves_from_above():
    assert GEOGRAPHY.cut(0).tolist() == [6]
    assert GEOGRAPHY.cut(1).tolist() == [4, 5]
    assert GEOGRAPHY.cut(2).tolist() == [0, 1, 2, 3]
    assert RAGGED.cut(1).tolist() == [2, 3]
    assert RAGGED.cut(2).tolist() == [0, 1, 2]
    assert [g.tolist() for g in GEOGRAPHY.groups(2)] == [[0, 1], [2, 3]]
    assert [g.tolist() for g in RAGGED.groups(2)] == [[2], [0, 1]]  # a shallow leaf is its own part


def test_adding_up_equals_the_sum_over_the_leaves_under_each_position():
    random = np.random.default_rng(1)
    leaves = random.integers(0, 9, (4, 3))
    full = Additive((GEOGRAPHY, AxisTree.plain(3))).add_up(leaves)
    under = [[0], [1], [2], [3], [0, 1], [2, 3], [0, 1, 2, 3]]
    for position, members in enumerate(under):
        assert full[position, :3].tolist() == leaves[members].sum(axis=0).tolist()
        assert full[position, 3] == leaves[members].sum()
    structure = Additive((GEOGRAPHY, AxisTree.plain(3)))
    assert structure.holds(full)
    full[4, 1] += 1
    assert not structure.holds(full)


def test_a_mark_on_a_whole_marks_its_parts_and_marks_on_all_parts_mark_the_whole():
    structure = Additive((GEOGRAPHY,))
    marks = np.zeros(7, dtype=bool)
    marks[4] = marks[2] = marks[3] = True
    assert structure.impossible(marks).all()
    assert not structure.impossible(None).any()


REFUSED = {
    (): "at least one",
    (2, -1): "must be a position",
    (1, 0): "part of itself",
    (0,): "part of itself",
}


@pytest.mark.parametrize("parents", REFUSED)
def test_a_tree_that_is_none_is_refused(parents):
    with pytest.raises(ValueError, match=REFUSED[parents]):
        AxisTree(parents)
