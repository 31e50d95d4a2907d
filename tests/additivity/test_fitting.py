"""The bound of a table that is no network: no table passes it, and it is near what HiGHS finds in whole numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.additivity import fitting as module
from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.additivity.fitting import PublishedCells, fit_totals, least_possible
from discreet.additivity.multiway import top_down
from discreet.additivity.network_flow import objective

from .programme import least_change_by_programme, some_table, some_tree

OPTIONS = settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def noisy_tables(draw) -> tuple[np.ndarray, Additive]:
    """Tables of 2 to 4 ways with their own noise on every cell; some cells are negative, some noise is far above counts."""
    ways = draw(st.integers(2, 4))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    most = {2: 7, 3: 5, 4: 3}[ways]
    structure = Additive(tuple(some_tree(random, draw(st.integers(1, most))) for _ in range(ways)))
    shape = tuple(tree.leaves.size for tree in structure.axes)
    true = structure.add_up(random.poisson(draw(st.sampled_from([0.3, 2, 20])), shape))
    noise = draw(st.sampled_from([4, 4, 10**6]))
    return true + random.integers(-noise, noise + 1, true.shape) * (true > 0), structure


@pytest.mark.slow
@given(noisy_tables(), st.booleans(), st.integers(0, 2**32))
@settings(parent=OPTIONS, max_examples=16)
def test_every_total_is_the_sum_of_its_parts_nothing_is_negative_and_structural_zeros_stay(
    table, keep_zeros, seed
):
    noisy, structure = table
    before = noisy.copy()
    impossible = np.random.default_rng(seed).random(noisy.shape) < 0.2 * (seed % 2)
    values, _ = fit_totals(noisy, structure, keep_zeros=keep_zeros, impossible=impossible)
    assert structure.holds(values)
    assert (values >= 0).all()
    assert not values[impossible].any()
    assert values.dtype == np.int64
    again, _ = fit_totals(np.asfortranarray(noisy), structure, keep_zeros=keep_zeros, impossible=impossible)
    assert (again == values).all(), "whatever the order in memory"
    assert (noisy == before).all()


@given(noisy_tables())
@settings(parent=OPTIONS, max_examples=10)
def test_an_additive_table_is_left_alone(table):
    noisy, structure = table
    additive = structure.add_up(np.maximum(structure.leaf_cells(noisy), 0))
    values, report = fit_totals(additive, structure)
    assert (values == additive).all()
    assert (report.optimal, report.missed, report.largest_change) == (True, 0, 0)


def test_the_report_measures_the_change_of_all_cells():
    noisy = np.array([[4, 2, 7], [3, 0, 3], [6, 3, 9]])
    values, report = fit_totals(noisy, Additive((AxisTree.plain(2), AxisTree.plain(2))))
    change = np.abs(values - noisy)
    assert report.method == "network"
    assert report.largest_change == change.max() == 1
    assert report.mean_change == pytest.approx(3 / 9)
    assert report.share_changed == pytest.approx(3 / 9)
    assert "33% of the cells (20% of the totals)" in report.sentence()
    assert report.sentence().endswith("The sum of all changes is the least possible.")


def test_a_table_of_two_ways_with_a_hierarchy_at_most_is_the_optimum_of_the_integer_programme():
    """The wrong answer, margins from the top down and the interior after them, changes more."""
    random = np.random.default_rng(30)
    ours = least = two_stage = 0.0
    for _ in range(25):
        rows, columns = some_tree(random, 5), some_tree(random, 4, str(random.choice(["plain", "none"])))
        structure = Additive((rows, columns) if random.random() < 0.5 else (columns, rows))
        noisy = some_table(random, structure)
        values, report = fit_totals(noisy, structure, keep_zeros=bool(random.integers(2)))
        assert report.optimal
        assert structure.holds(values)
        change = np.abs(values - noisy).sum()
        optimum = least_change_by_programme(noisy, structure)
        assert change == pytest.approx(optimum)
        everything = np.ones(noisy.shape, dtype=bool)
        ours, least = ours + change, least + optimum
        two_stage += np.abs(top_down(noisy, structure, everything, keep_zeros=False) - noisy).sum()
    assert ours == pytest.approx(least)
    assert two_stage > 1.05 * least


def test_without_the_bound_at_zero_values_may_be_negative_and_the_optimum_is_another():
    random = np.random.default_rng(31)
    for kinds in (("plain", "plain"), ("plain",) * 3):
        structure = Additive(tuple(some_tree(random, 4, kind) for kind in kinds))
        true = structure.add_up(random.poisson(0.4, (4,) * len(kinds)))
        noisy = true + random.integers(-6, 7, structure.shape)
        values, report = fit_totals(noisy, structure, bounded=False, keep_zeros=False)
        assert structure.holds(values)
        assert values.min() < 0
        least = least_change_by_programme(noisy, structure, bounded=False)
        assert least <= np.abs(values - noisy).sum() <= (1 + report.gap) * least + 1e-6
        assert least < least_change_by_programme(noisy, structure, bounded=True)


@pytest.mark.slow
def test_the_gap_of_a_table_that_is_no_network_is_never_too_small():
    random = np.random.default_rng(32)
    proven = 0
    for kinds in [("plain",) * 3, ("deep", "deep"), ("deep", "plain", "plain")] * 2:
        structure = Additive(tuple(some_tree(random, 4, kind) for kind in kinds))
        noisy = some_table(random, structure)
        values, report = fit_totals(noisy, structure)
        change, least = np.abs(values - noisy).sum(), least_change_by_programme(noisy, structure)
        assert report.method == "slabs"
        assert change <= (1 + report.gap) * least + 1e-6
        assert report.gap < 0.1
        assert report.optimal == (report.gap == 0)
        proven += report.optimal
        if report.gap:
            assert f"at most {report.gap:.1%} above the least possible" in report.sentence()
    assert proven > 0


def test_kept_cells_keep_their_published_values_and_the_rest_is_the_optimum_beside_them():
    random = np.random.default_rng(33)
    structure = Additive((AxisTree.plain(4), AxisTree.plain(5)))
    noisy = some_table(random, structure)
    published = structure.add_up(random.poisson(4, (4, 5)))
    where = np.zeros(noisy.shape, dtype=bool)
    where[-1], where[:, -1] = True, True
    values, report = fit_totals(noisy, structure, kept=PublishedCells(where, published, ("sex", "age")))
    assert (values[where] == published[where]).all()
    assert (report.kept, report.missed) == (where.sum(), 0)
    wished = np.where(where, published, noisy)
    least = least_change_by_programme(wished, structure, kept=where)
    assert np.abs(values - noisy)[~where].sum() == pytest.approx(least)
    assert f"{where.sum()} cells equal those of the tables by sex and age." in report.sentence()
    free, _ = fit_totals(noisy, structure)
    assert (free[where] != published[where]).any()  # the wrong way: without them the totals are others


def test_totals_that_cannot_be_kept_are_missed_and_the_sentence_says_so():
    structure = Additive((AxisTree.plain(2), AxisTree.plain(2)))
    noisy = structure.add_up(np.array([[3, 2], [4, 1]]))
    where = np.zeros((3, 3), dtype=bool)
    where[0, -1] = True
    impossible = np.zeros((3, 3), dtype=bool)
    impossible[0, :2] = True
    kept = PublishedCells(where, noisy, ("sex",))
    _, report = fit_totals(noisy, structure, impossible=impossible, kept=kept)
    assert report.missed == 1
    assert report.gap is None
    assert "Totals were missed: 1 of 1 cells differ from the tables by sex" in report.sentence()


@pytest.mark.slow
def test_a_hundred_thousand_cells_are_fitted():
    random = np.random.default_rng(5)
    for shape in ((316, 316), (46, 46, 46)):
        structure = Additive(tuple(AxisTree.plain(n) for n in shape))
        true = structure.add_up(random.poisson(2, shape))
        noisy = true + random.integers(-3, 4, true.shape) * (true > 0)
        values, report = fit_totals(noisy, structure)
        assert structure.holds(values)
        assert values.min() >= 0
        assert report.gap == 0 if len(shape) == 2 else report.gap < 0.2


@pytest.mark.parametrize("kinds", [("plain",) * 3, ("deep", "deep"), ("deep", "plain", "none")], ids=str)
@pytest.mark.parametrize("bounded", [True, False])
def test_no_table_passes_the_bound_and_the_bound_is_near(kinds, bounded, monkeypatch):
    random = np.random.default_rng(21)
    for _ in range(3):
        structure = Additive(tuple(some_tree(random, 4, kind) for kind in kinds))
        noisy = some_table(random, structure)
        everything = np.ones(noisy.shape, dtype=bool)
        goal = objective(noisy, structure, everything, kept=~everything, bounded=bounded, keep_zeros=False)
        least = round(least_change_by_programme(noisy, structure, bounded=bounded))
        bound = least_possible(structure, goal)
        assert 0.98 * least - 1 <= bound <= least
        with monkeypatch.context() as without:
            without.setattr(module, "MOST_CELLS", 0)
            assert least_possible(structure, goal) <= bound


def test_kept_cells_count_in_no_bound():
    random = np.random.default_rng(22)
    structure = Additive(tuple(some_tree(random, 3, "plain") for _ in range(3)))
    table = structure.add_up(random.integers(1, 9, (3, 3, 3)))
    kept = np.zeros(table.shape, dtype=bool)
    kept[-1] = True
    noisy = np.where(kept, table, table + random.integers(-2, 3, table.shape))
    everything = np.ones(table.shape, dtype=bool)
    goal = objective(noisy, structure, everything, kept=kept, bounded=True, keep_zeros=False)
    least = round(least_change_by_programme(noisy, structure, kept=kept))
    assert 0 < least_possible(structure, goal) <= least
