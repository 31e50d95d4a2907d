"""Moves of slabs: the table goes on to add up, the change falls, and comes near the optimum of the integer programme."""

import numpy as np
import pytest

from discreet.additivity import slabs as module
from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.additivity.objective import objective
from discreet.additivity.slabs import chain_of, exchange, move_slabs, slabs
from discreet.additivity.top_down import top_down

from .programme import least_change_by_programme, some_table, some_tree

DEEP = AxisTree((4, 4, 5, 5, 6, 6, -1))
KINDS = {
    "three ways": ("plain", "plain", "plain"),
    "no totals": ("plain", "none", "deep"),
    "two hierarchies": ("deep", "deep"),
    "four ways": ("plain", "deep", "plain", "plain"),
}


def test_a_chain_is_a_place_with_all_that_hold_it():
    assert chain_of(DEEP, 1) == ((1, 1), (4, 1), (6, 1))
    assert chain_of(DEEP, 1, below=4) == ((1, 1),)
    assert exchange(DEEP, 0, 1) == ((0, 1), (1, -1))
    assert exchange(DEEP, 0, 2) == ((0, 1), (4, 1), (2, -1), (5, -1))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_slabs_come_within_a_few_percent_of_the_programme_and_the_way_down_does_not(kind):
    random = np.random.default_rng(12)
    before = after = least = 0.0
    for _ in range(4 if len(KINDS[kind]) < 4 else 1):
        structure = Additive(
            tuple(some_tree(random, 4 if len(KINDS[kind]) < 4 else 3, each) for each in KINDS[kind])
        )
        noisy = some_table(random, structure)
        possible = np.ones(noisy.shape, dtype=bool)
        nothing = np.zeros(noisy.shape, dtype=bool)
        goal = objective(noisy, structure, possible, kept=nothing, bounded=True, keep_zeros=False)
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
