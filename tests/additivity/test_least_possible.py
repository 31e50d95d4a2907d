"""The bound of a table that is no network: no table passes it, and it is near what HiGHS finds in whole numbers."""

import numpy as np
import pytest

from discreet.additivity import least_possible as module
from discreet.additivity.axis_tree import Additive
from discreet.additivity.least_possible import least_possible
from discreet.additivity.objective import objective

from .programme import least_change_by_programme, some_table, some_tree


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
    goal = objective(
        noisy, structure, np.ones(table.shape, dtype=bool), kept=kept, bounded=True, keep_zeros=False
    )
    least = round(least_change_by_programme(noisy, structure, kept=kept))
    assert 0 < least_possible(structure, goal) <= least


def test_a_table_without_any_total_is_bounded_by_its_cells():
    structure = Additive(tuple(some_tree(np.random.default_rng(1), 2, "none") for _ in range(3)))
    noisy = np.full(structure.shape, -1)
    possible = np.ones(noisy.shape, dtype=bool)
    goal = objective(noisy, structure, possible, kept=~possible, bounded=True, keep_zeros=False)
    assert least_possible(structure, goal) == 8
