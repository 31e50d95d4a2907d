"""Which cells are sums of which follows from the shape; a whole whose parts are not all shown cannot add up."""

import numpy as np
import pytest

from discreet.additivity.additivity import add_up, additive_structure, sums_of_interior
from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.errors import BadRequest
from discreet.model.dataset_toml import parse_dataset
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


def test_independent_totals_are_left_as_they_are(dataset):
    shape = shape_of(dataset, rows=["sex"], columns=["age"])
    values, possible = noisy(shape)
    shown, sentence = add_up(values, shape, "independent", possible, Protection())
    assert shown is values
    assert sentence == ""
    assert not additive_structure(shape).holds(values)


@pytest.mark.parametrize("additivity", ["interior", "fitted"])
def test_after_the_other_ways_every_total_is_the_sum_of_its_parts(dataset, additivity):
    shape = shape_of(dataset, rows=["sex"], columns=["age"])
    values, possible = noisy(shape)
    shown, _ = add_up(values, shape, additivity, possible, Protection())
    assert additive_structure(shape).holds(shown)
    leaves_stay = bool((shown[:-1, :-1] == values[:-1, :-1]).all())
    assert leaves_stay == (additivity == "interior")


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


def test_a_table_without_totals_has_axes_without_a_root(dataset):
    structure = additive_structure(shape_of(dataset, rows=["sex"], totals=False))
    assert structure.axes[0].parents == (-1, -1)
    assert additive_structure(shape_of(dataset, rows=["sex"])).axes[0].parents == (2, 2, -1)


def test_a_total_with_parts_that_are_not_shown_is_refused(dataset):
    from dataclasses import replace

    shape = shape_of(dataset, rows=["age"])
    cut = replace(shape.dimensions[0], outputs=shape.dimensions[0].outputs[:-1])
    with pytest.raises(BadRequest, match='Totals of "age" cannot add up'):
        additive_structure(replace(shape, dimensions=(cut,)))


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
