"""The nearest table without negative numbers: it adds up, keeps its total, and nothing nearer does."""

import numpy as np
from scipy.optimize import minimize

from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.additivity.non_negative import nearest_non_negative

TWO = Additive((AxisTree.plain(4), AxisTree.plain(3)))


def table(seed):
    rng = np.random.default_rng(seed)
    leaves = rng.normal(4, 8, (4, 3))
    whole = np.zeros((5, 4))
    whole[:4, :3] = leaves
    whole[4, :3], whole[:4, 3], whole[4, 3] = leaves.sum(0), leaves.sum(1), leaves.sum()
    return whole


def test_it_adds_up_and_keeps_its_grand_total():
    """Wrong alternative: cells clipped one by one, which raises every sum."""
    for seed in range(20):
        values = table(seed)
        found, lowered = nearest_non_negative(values, TWO, np.zeros(values.shape, np.bool_))
        assert found.dtype == np.int64
        assert (found >= 0).all()
        assert TWO.holds(found)
        assert found[-1, -1] == max(0, round(values[-1, -1]))
        assert (np.abs(found[:4, :3] - np.maximum(values[:4, :3] - lowered, 0)) <= 1).all()
        assert np.maximum(values[:4, :3], 0).sum() > found[-1, -1]


def test_nothing_nearer_has_the_same_sum():
    values = table(3)[:4, :3].ravel()
    found, lowered = nearest_non_negative(table(3), TWO, np.zeros((5, 4), np.bool_))
    nearest = np.maximum(values - lowered, 0)
    best = minimize(
        lambda x: ((x - values) ** 2).sum(),
        np.full(12, values.sum() / 12),
        jac=lambda x: 2 * (x - values),
        bounds=[(0, None)] * 12,
        constraints={"type": "eq", "fun": lambda x: x.sum() - values.sum(), "jac": lambda x: np.ones(12)},
    )
    assert np.abs(best.x - nearest).max() < 1e-2
    assert found[-1, -1] == round(values.sum())


def test_cells_that_cannot_occur_stay_zero():
    impossible = np.zeros((5, 4), np.bool_)
    impossible[0, 0] = impossible[2, 1] = True
    found, _ = nearest_non_negative(table(5), TWO, impossible)
    assert found[0, 0] == found[2, 1] == 0
    assert TWO.holds(found)
