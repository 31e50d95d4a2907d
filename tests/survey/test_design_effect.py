"""Design effects, and what small cells are told."""

import numpy as np
import pytest

from discreet.survey.design_effect import SMALL, design_effects, told_effects


def effect(variance, count, weighted, shown=None):
    arrays = (np.array([float(variance)]), np.array([count]), np.array([float(weighted)]))
    return float(design_effects(*arrays, np.array([float(weighted if shown is None else shown)]))[0])


def test_people_of_equal_weight_have_no_design_effect_and_unequal_ones_have_kishs():
    assert effect(50 * 9, 50, 150) == pytest.approx(1)
    weights = np.array([1.0, 1, 4])
    assert effect((weights**2).sum(), 3, weights.sum()) == pytest.approx(3 * 18 / 36)


def test_a_form_that_misses_the_weighted_count_has_that_error_too():
    """Ten people of weight 9 shown as if they weighed 3: wrong by 60 of 30, whatever the sampling."""
    assert effect(0, 10, 90, shown=30) == pytest.approx(10 * (60 / 30) ** 2)
    assert effect(810, 10, 90, shown=30) > effect(0, 10, 90, shown=30)


def test_an_empty_cell_has_none():
    assert effect(0, 0, 0) == 0


def test_small_cells_are_told_nothing_of_their_own():
    """Two samples that differ inside small cells only are told the same."""
    noisy, shown = np.array([SMALL - 1, 3, 200, SMALL]), np.full(4, True)
    one = told_effects(np.array([1.0, 40.0, 2.0, 1.5]), noisy, 1.1, shown)
    other = told_effects(np.array([7.0, 1.0, 2.0, 1.5]), noisy, 1.1, shown)
    assert one.tolist() == other.tolist() == [2.0, 2.0, 2.0, 1.5]


def test_small_cells_have_at_least_the_declared_effect():
    assert told_effects(np.array([0.2, 0.1]), np.array([900, 2]), 1.4, np.full(2, True)).tolist() == [
        0.2,
        1.4,
    ]


def test_the_effect_of_a_cell_that_cannot_occur_is_nobodys():
    shown = np.array([True, False])
    assert told_effects(np.array([1.0, 50.0]), np.array([2, 100]), 1.0, shown).tolist() == [1.0, 50.0]
