"""Which cells are sums of which follows from the shape; a whole whose parts are not all shown cannot add up."""

import numpy as np
import pytest

from discreet.additivity.additivity import add_up, additive_structure, sums_of_interior
from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.errors import BadRequest
from discreet.model.dataset_toml import parse_dataset
from discreet.model.request import request_from_text
from discreet.model.shape import table_shape


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
    shown, sentence = add_up(values, shape, "independent", possible)
    assert shown is values
    assert sentence == ""
    assert not additive_structure(shape).holds(values)


@pytest.mark.parametrize("additivity", ["interior", "fitted"])
def test_after_the_other_ways_every_total_is_the_sum_of_its_parts(dataset, additivity):
    shape = shape_of(dataset, rows=["sex"], columns=["age"])
    values, possible = noisy(shape)
    shown, _ = add_up(values, shape, additivity, possible)
    assert additive_structure(shape).holds(shown)
    assert (shown[-1, -1] == values[-1, -1]) == (additivity == "fitted")


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
