from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.additivity.controlled_adjustment import PASSES
from discreet.additivity.fitted import fitted

OPTIONS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def trees(draw, leaves: int) -> AxisTree:
    """No total, a total, or levels under a total; leaves may stand at different depths."""
    kind = draw(st.sampled_from(["none", "plain", "nested"]))
    if kind != "nested" or leaves < 2:
        return AxisTree.plain(leaves, total=kind != "none")
    groups = draw(st.integers(1, min(3, leaves)))
    total = leaves + groups
    places = [draw(st.integers(0, groups)) for _ in range(leaves)]
    parents = [total if place == groups else leaves + place for place in places]
    # A group that got no part is a leaf of its own.
    return AxisTree((*parents, *(total,) * groups, -1))


@st.composite
def noisy_tables(draw) -> tuple[np.ndarray, Additive]:
    """Tables of 2 to 5 ways with their own noise on every cell; some cells are negative."""
    ways = draw(st.integers(2, 5))
    most = {2: 7, 3: 5, 4: 3, 5: 3}[ways]
    structure = Additive(tuple(draw(trees(draw(st.integers(1, most)))) for _ in range(ways)))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = tuple(tree.leaves.size for tree in structure.axes)
    true = structure.add_up(random.poisson(draw(st.sampled_from([0.3, 2, 20])), shape))
    return true + random.integers(-4, 5, true.shape) * (true > 0), structure


@pytest.mark.slow
@given(noisy_tables(), st.booleans())
@OPTIONS
def test_every_total_equals_the_sum_of_its_parts_and_nothing_is_negative(table, keep_zeros):
    noisy, structure = table
    values, _ = fitted(noisy, structure, keep_zeros=keep_zeros)
    assert structure.holds(values)
    assert (values >= 0).all()
    assert values.dtype == np.int64


@pytest.mark.slow
@given(noisy_tables())
@OPTIONS
def test_the_same_cells_give_the_same_values_whatever_their_memory_order(table):
    noisy, structure = table
    before = noisy.copy()
    first, report = fitted(noisy, structure)
    second, again = fitted(np.asfortranarray(noisy), structure)
    assert (first == second).all()
    assert report == again
    assert (noisy == before).all()


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(1, 5))
@OPTIONS
def test_the_grand_total_keeps_its_noisy_value_unless_that_is_negative(seed, ways):
    random = np.random.default_rng(seed)
    structure = Additive(tuple(AxisTree.plain(int(n)) for n in random.integers(1, 4, ways)))
    noisy = random.integers(-5, 15, structure.shape)
    values, _ = fitted(noisy, structure)
    assert values.flat[-1] == max(noisy.flat[-1], 0)


@given(noisy_tables())
@OPTIONS
def test_an_additive_table_is_left_alone(table):
    noisy, structure = table
    additive = structure.add_up(np.maximum(structure.leaf_cells(noisy), 0))
    values, report = fitted(additive, structure)
    assert (values == additive).all()
    assert report.optimal
    assert report.margins_met
    assert report.largest_change == 0


@pytest.mark.slow
@given(noisy_tables(), st.integers(0, 2**32))
@OPTIONS
def test_structural_zeros_stay_zero(table, seed):
    noisy, structure = table
    random = np.random.default_rng(seed)
    impossible = random.random(noisy.shape) < 0.2
    values, _ = fitted(noisy, structure, impossible=impossible)
    assert structure.holds(values)
    assert (values >= 0).all()
    assert not values[impossible].any()


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_noise_far_above_the_counts_is_fitted_in_steps_larger_than_one(seed, ways):
    random = np.random.default_rng(seed)
    structure = Additive(tuple(AxisTree.plain(int(n)) for n in random.integers(2, 6, ways)))
    shape = tuple(tree.leaves.size for tree in structure.axes)
    noisy = structure.add_up(random.poisson(5, shape)) + random.integers(-(10**6), 10**6, structure.shape)
    values, report = fitted(noisy, structure, keep_zeros=False)
    assert structure.holds(values)
    assert (values >= 0).all()
    assert report.optimal or ways > 2


def test_the_report_measures_the_change_of_all_cells():
    noisy = np.array([[4, 2, 7], [3, 0, 3], [6, 3, 9]])
    values, report = fitted(noisy, Additive((AxisTree.plain(2), AxisTree.plain(2))))
    change = np.abs(values - noisy)
    assert report.method == "transportation"
    assert report.largest_change == change.max() == 1
    assert report.mean_change == pytest.approx(3 / 9)
    assert report.share_changed == pytest.approx(3 / 9)
    assert "33% of the cells" in report.sentence()


def test_a_two_way_table_with_totals_meets_its_margins_at_a_proven_optimum():
    random = np.random.default_rng(3)
    structure = Additive((AxisTree.plain(9), AxisTree.plain(7)))
    true = structure.add_up(random.poisson(6, (9, 7)))
    _, report = fitted(true + random.integers(-4, 5, true.shape) * (true > 0), structure)
    assert report.optimal
    assert report.margins_met


def test_a_margin_is_the_same_in_every_table_that_shows_all_of_it():
    random = np.random.default_rng(4)
    ages = Additive((AxisTree.plain(6),))
    by_age = np.append(random.integers(5, 50, 6), 170)
    alone, _ = fitted(by_age, ages)
    for columns in (2, 5):
        noisy = np.empty((7, columns + 1), dtype=np.int64)
        noisy[:, -1] = by_age
        noisy[:, :-1] = random.integers(0, 40, (7, columns))
        values, _ = fitted(noisy, Additive((AxisTree.plain(6), AxisTree.plain(columns))))
        assert (values[:, -1] == alone).all()


def test_levels_of_a_hierarchy_each_keep_their_own_noise_from_the_top_down():
    tree = AxisTree((4, 4, 5, 5, 6, 6, -1))
    noisy = np.array([3, 5, 2, 9, 10, 10, 21])
    values, report = fitted(noisy, Additive((tree,)))
    # 10 + 10 lacks one of 21: the first of the equal districts gets it; 3 + 5 lacks three of 11.
    assert values.tolist() == [4, 7, 2, 8, 11, 10, 21]
    assert report.method == "split"


@pytest.mark.slow
def test_a_hundred_thousand_cells_finish_within_the_pass_limit():
    random = np.random.default_rng(5)
    for shape in ((316, 316), (46, 46, 46), (17, 17, 17, 17)):
        structure = Additive(tuple(AxisTree.plain(n) for n in shape))
        true = structure.add_up(random.poisson(2, shape))
        noisy = true + random.integers(-3, 4, true.shape) * (true > 0)
        values, report = fitted(noisy, structure)
        assert structure.holds(values)
        assert (values >= 0).all()
        assert report.passes < PASSES
        # Totals are held: in all tables the one-way margins move by a rounding, not by the cells' noise.
        one_way = tuple(slice(-1, None) for _ in shape[1:])
        assert np.abs(values - noisy)[(slice(None), *one_way)].max() <= 2


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(2, 5))
@settings(max_examples=4, deadline=None)
def test_over_a_batch_of_tables_fitted_is_closer_than_proportional_rounding(seed, ways):
    random = np.random.default_rng(seed)
    ours = theirs = 0
    for _ in range(12):
        most = {2: 14, 3: 7, 4: 4, 5: 3}[ways]
        leaves = random.integers(2, most + 1, ways)
        structure = Additive(tuple(_random_tree(random, int(n)) for n in leaves))
        true = structure.add_up(random.poisson(random.gamma(0.6, 10, leaves)))
        noisy = np.maximum(true + random.integers(-3, 4, true.shape) * (true > 0), 0)
        ours += np.abs(fitted(noisy, structure)[0] - noisy).sum()
        theirs += np.abs(proportional_rounding(noisy, structure) - noisy).sum()
    assert ours < theirs


@given(st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_a_two_way_table_is_never_farther_than_proportional_fitting_rounded_to_the_same_margins(seed):
    random = np.random.default_rng(seed)
    structure = Additive((AxisTree.plain(5), AxisTree.plain(6)))
    true = structure.add_up(random.poisson(5, (5, 6)))
    noisy = np.maximum(true + random.integers(-3, 4, true.shape) * (true > 0), 0)
    values, _ = fitted(noisy, structure, keep_zeros=False)
    proportional = _rounded_to_margins(noisy[:-1, :-1], values[:-1, -1], values[-1, :-1])
    assert np.abs(values[:-1, :-1] - noisy[:-1, :-1]).sum() <= np.abs(proportional - noisy[:-1, :-1]).sum()


def _random_tree(random: np.random.Generator, leaves: int) -> AxisTree:
    if leaves < 4 or random.random() < 0.5:
        return AxisTree.plain(leaves)
    half = leaves // 2
    return AxisTree((leaves,) * half + (leaves + 1,) * (leaves - half) + (leaves + 2, leaves + 2, -1))


def _rounded_to_margins(seed: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Iterative proportional fitting, then down to integers, then units from the north-west corner."""
    cells = seed + 0.5
    for _ in range(50):
        cells *= (rows / cells.sum(axis=1))[:, None]
        cells *= columns / np.maximum(cells.sum(axis=0), 1e-300)
    down = np.floor(cells).astype(np.int64)
    down = np.minimum(down, rows[:, None])
    lack_rows, lack_columns = rows - down.sum(axis=1), columns - down.sum(axis=0)
    for i, j in product(range(rows.size), range(columns.size)):
        units = min(lack_rows[i], lack_columns[j])
        down[i, j] += units
        lack_rows[i] -= units
        lack_columns[j] -= units
    assert not lack_rows.any()
    assert not lack_columns.any()
    return down


def shared_out(total: int, wish: np.ndarray) -> np.ndarray:
    """Whole numbers that add up to a total, in proportion to the wish; largest remainders get the rest."""
    weights = np.maximum(wish, 0)
    if not weights.sum():
        weights = np.ones_like(weights)
    parts = total * weights // weights.sum()
    remainders = total * weights % weights.sum()
    parts[np.argsort(-remainders, kind="stable")[: total - parts.sum()]] += 1
    return parts


def proportional_rounding(noisy: np.ndarray, structure) -> np.ndarray:
    """Axis after axis, level after level, each fitted cell shared out among its noisy parts."""
    wish = noisy
    roots = np.ix_(*(tree.cut(0) for tree in structure.axes))
    fitted = np.maximum(noisy[roots], 0)
    levels = [0] * len(structure.axes)
    for axis, tree in enumerate(structure.axes):
        for level in range(1, tree.height + 1):
            levels[axis] = level
            finer = np.ix_(*(t.cut(n) for t, n in zip(structure.axes, levels, strict=True)))
            fitted = _finer(fitted, wish[finer], axis, tree.groups(level))
    return structure.add_up(fitted)


def _finer(fitted: np.ndarray, wish: np.ndarray, axis: int, groups: list[np.ndarray]) -> np.ndarray:
    finer = np.zeros_like(wish)
    for place in product(*(range(n) for n in fitted.shape)):
        parts = list(place)
        parts[axis] = groups[place[axis]]
        finer[tuple(parts)] = shared_out(int(fitted[place]), wish[tuple(parts)])
    return finer
