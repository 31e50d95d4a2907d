"""From the top down: a first table that adds up, whose totals keep their wishes.

Moves of slabs: the table goes on to add up, the change falls, and comes near the optimum of the integer programme.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.additivity import multiway as module
from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.additivity.controlled_adjustment import adjust, sum_axes
from discreet.additivity.multiway import move_slabs, slabs, split_total, top_down
from discreet.additivity.network_flow import objective

from .programme import least_change_by_programme, some_table, some_tree


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
        free = top_down(noisy, structure, np.ones(noisy.shape, dtype=bool), keep_zeros=False)
        if all(tree.height == 1 for tree in structure.axes):  # the grand total keeps its wish
            assert free.flat[-1] == max(0, noisy.flat[-1])


def test_levels_of_a_hierarchy_each_keep_their_wish_from_the_top_down():
    tree = AxisTree((4, 4, 5, 5, 6, 6, -1))
    wish = np.array([3, 5, 2, 9, 10, 10, 21])
    values = top_down(wish, Additive((tree,)), wish >= 0, keep_zeros=True)
    # 10 + 10 lacks one of 21: the first of the equal districts gets it; 3 + 5 lacks three of 11.
    assert values.tolist() == [4, 7, 2, 8, 11, 10, 21]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12), st.integers(0, 200), st.booleans())
def test_parts_add_up_and_change_no_more_than_they_must(wish, total, keep_zeros):
    wish = np.array(wish)
    parts = split_total(wish, total, np.ones(wish.size, dtype=bool), keep_zeros=keep_zeros)
    assert parts.sum() == total
    assert (parts >= 0).all()
    assert np.abs(parts - wish).sum() == abs(total - wish.sum())


@pytest.mark.parametrize(
    ("wish", "total", "keep_zeros", "parts"),
    [
        # What does not divide goes to the largest, and of equals to the first.
        ([2, 7, 7, 0], 18, True, [2, 8, 8, 0]),
        ([2, 7, 7, 0], 17, True, [2, 8, 7, 0]),
        ([2, 7, 7, 0], 14, True, [2, 6, 6, 0]),
        # Zeros rise only if allowed or if nothing else can; the last cannot occur.
        ([5, 0, 0], 8, True, [8, 0, 0]),
        ([5, 0, 0], 8, False, [7, 1, 0]),
        ([0, 0, 0], 3, True, [2, 1, 0]),
    ],
)
def test_the_rule_of_ties_and_zeros(wish, total, keep_zeros, parts):
    possible = np.arange(len(wish)) < len(wish) - 1
    assert split_total(np.array(wish), total, possible, keep_zeros=keep_zeros).tolist() == parts


KINDS = {
    "three ways": ("plain", "plain", "plain"),
    "no totals": ("plain", "none", "deep"),
    "two hierarchies": ("deep", "deep"),
    "four ways": ("plain", "deep", "plain", "plain"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_slabs_come_within_a_few_percent_of_the_programme_and_the_way_down_does_not(kind):
    random, few = np.random.default_rng(12), len(KINDS[kind]) < 4
    before = after = least = 0.0
    for _ in range(4 if few else 1):
        structure = Additive(tuple(some_tree(random, 4 if few else 3, each) for each in KINDS[kind]))
        noisy = some_table(random, structure)
        possible = np.ones(noisy.shape, dtype=bool)
        goal = objective(noisy, structure, possible, kept=~possible, bounded=True, keep_zeros=False)
        start = top_down(noisy, structure, possible, keep_zeros=False)
        values = move_slabs(start, structure, goal)
        assert structure.holds(values)
        assert values.min() >= 0
        assert goal.cost(values) <= goal.cost(start)
        before, after = before + np.abs(start - noisy).sum(), after + np.abs(values - noisy).sum()
        least += least_change_by_programme(noisy, structure)
    assert least <= after <= 1.04 * least
    assert before > 1.1 * least  # the wrong answer: margins from the top down, the interior after them


def test_the_work_is_bounded_by_a_count_and_not_by_time(monkeypatch):
    random = np.random.default_rng(3)
    structure = Additive((AxisTree.plain(4),) * 3)
    noisy = some_table(random, structure)
    possible = np.ones(noisy.shape, dtype=bool)
    goal = objective(noisy, structure, possible, kept=~possible, bounded=True, keep_zeros=False)
    start = top_down(noisy, structure, possible, keep_zeros=False)
    moved = []
    monkeypatch.setattr(module, "_move", lambda *_: moved.append(1) or 0)
    monkeypatch.setattr(module, "MOST_WORK", 5 * module.EACH)
    move_slabs(start, structure, goal)
    assert len(moved) == 6
    assert len(list(slabs(structure, 0))) > 6


def aims_of(table: np.ndarray) -> dict[tuple[int, ...], np.ndarray]:
    return {margin: table.sum(axis=margin) for margin in sum_axes(table.ndim)}


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(3, 4))
@settings(max_examples=40, deadline=None)
def test_adjustment_ends_with_non_negative_integers_and_the_wanted_total(seed, ways):
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(2, 6, ways))
    wish, other = random.poisson(2, shape), random.poisson(2, shape)
    found = adjust(wish, aims_of(other), wish >= 0, keep_zeros=True)
    assert (found >= 0).all()
    assert found.sum() == other.sum()
    assert (adjust(wish, aims_of(wish), wish >= 0, keep_zeros=False) == wish).all()  # it meets its aims


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


def test_adjustment_leaves_impossible_cells_at_zero():
    random = np.random.default_rng(7)
    possible = random.random((5, 5, 5)) < 0.7
    wish, other = (random.poisson(3, (5, 5, 5)) * possible for _ in range(2))
    found = adjust(wish, aims_of(other), possible, keep_zeros=True)
    assert not found[~possible].any()
