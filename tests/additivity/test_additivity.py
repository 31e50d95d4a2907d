"""Which cells are sums of which follows from the shape; no layout of a table shows another number."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from discreet.additivity.additivity import add_up, additive_structure, nearest_non_negative
from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.additivity.fitting import PublishedCells, fit_totals
from discreet.errors import BadRequest
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.protection import Protection
from discreet.model.request import request_from_text
from discreet.model.shape import table_shape

#: A false alarm has a probability of 6e-5: four standard errors.
FALSE_ALARM, Z = 6e-5, 4


@pytest.fixture(scope="module")
def dataset(town):
    return parse_dataset(town.description)


def shape_of(dataset, **parts):
    return table_shape(request_from_text("town", **parts), dataset)


def noisy(shape):
    values = np.random.RandomState(3).poisson(20, shape.lengths)
    return values, np.zeros(shape.lengths, dtype=bool)


@pytest.mark.parametrize("additivity", ["independent", "interior", "fitted"])
def test_every_total_is_the_sum_of_its_parts_unless_totals_are_independent(dataset, additivity):
    shape = shape_of(dataset, rows=["sex"], columns=["age"])
    values, possible = noisy(shape)
    shown, sentence = add_up(values, shape, additivity, possible, Protection())
    assert (shown is values) == (additivity == "independent")
    assert (sentence != "") == (additivity == "fitted")
    assert additive_structure(shape).holds(shown) == (additivity != "independent")
    leaves_stay = bool((shown[:-1, :-1] == values[:-1, :-1]).all())
    assert leaves_stay == (additivity != "fitted")


def test_totals_are_sums_of_signed_cells_and_not_of_cells_raised_to_zero(dataset):
    """Nobody, under noise: raised to zero first, cells would add up to many."""
    random = np.random.default_rng(14)
    shape = shape_of(dataset, rows=["sex"], columns=["age"])
    noisy = np.round(random.laplace(0, 40, (2000, *shape.lengths))).astype(np.int64)
    nobody = np.zeros(shape.lengths, dtype=bool)
    totals = [add_up(each, shape, "interior", nobody, Protection())[0][-1, -1] for each in noisy]
    cells = shape.cells - sum(shape.lengths) + 1
    error = 40 * np.sqrt(2 * cells / len(noisy))
    assert abs(np.mean(totals)) < Z * error
    raised = np.maximum(noisy[:, :-1, :-1], 0).sum(axis=(1, 2))  # the wrong way: clip first, add last
    assert np.mean(raised) > 5 * Z * error


def test_a_total_with_parts_that_are_not_shown_is_refused(dataset):
    shape = shape_of(dataset, rows=["age"])
    cut = replace(shape.dimensions[0], outputs=shape.dimensions[0].outputs[:-1])
    with pytest.raises(BadRequest, match='Totals of "age" cannot add up'):
        additive_structure(replace(shape, dimensions=(cut,)))


NAMES = ("sex", "age", "job")


@pytest.fixture(scope="module")
def shapes(dataset):
    """The shape of one table in three orders of its variables."""
    orders = (NAMES, NAMES[::-1], ("age", "sex", "job"))
    return {order: shape_of(dataset, rows=order[:1], columns=order[1:]) for order in orders}


def laid_out(cells, order):
    return np.ascontiguousarray(cells.transpose([NAMES.index(name) for name in order]))


def noisy_cells(seed, lengths):
    """A table of small counts with noise: several tables that add up are equally near."""
    random = np.random.default_rng(seed)
    return random.poisson(3, lengths) + random.integers(-2, 3, lengths)


@pytest.mark.slow
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
@settings(max_examples=4, deadline=None)
def test_every_layout_of_a_table_is_fitted_to_the_same_numbers(shapes, seed, anchored, impossible):
    lengths = shapes[NAMES].lengths
    cells, nowhere = noisy_cells(seed, lengths), np.zeros(lengths, dtype=bool)
    nowhere[0, 0, 0] = impossible
    kept = np.zeros(lengths, dtype=bool)
    kept[..., -1] = anchored
    found = []
    for order, shape in shapes.items():
        there = PublishedCells(laid_out(kept, order), laid_out(cells, order)) if anchored else None
        shown, said = add_up(
            laid_out(cells, order), shape, "fitted", laid_out(nowhere, order), Protection(), there
        )
        assert additive_structure(shape).holds(shown)
        found.append((shown.transpose([order.index(name) for name in NAMES]).tolist(), said))
    assert all(each == found[0] for each in found)


def test_fitted_as_it_is_laid_out_a_table_has_other_numbers(shapes):
    """The wrong way, which the property above rejects: some table differs by its layout."""
    turned = NAMES[::-1]

    def differs(seed):
        cells = noisy_cells(seed, shapes[NAMES].lengths)
        own, _ = fit_totals(cells, additive_structure(shapes[NAMES]))
        other, _ = fit_totals(laid_out(cells, turned), additive_structure(shapes[turned]))
        return (own != other.transpose()).any()

    assert any(differs(seed) for seed in range(10))


TWO = Additive((AxisTree.plain(4), AxisTree.plain(3)))


def table(seed):
    leaves = np.random.default_rng(seed).normal(4, 8, (4, 3))
    rows = np.concatenate([leaves, leaves.sum(0, keepdims=True)])
    return np.concatenate([rows, rows.sum(1, keepdims=True)], axis=1)


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
        impossible = np.zeros((5, 4), np.bool_)
        impossible[0, 0] = impossible[2, 1] = True
        found, _ = nearest_non_negative(values, TWO, impossible)
        assert found[0, 0] == found[2, 1] == 0
        assert TWO.holds(found)


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
