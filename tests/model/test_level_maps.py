"""Levels of a hierarchy translate into each other, down always and up only where nothing is lost."""

import numpy as np
import pytest

from discreet.model.dataset_toml import parse_dataset
from discreet.model.level_maps import ancestors, express, inside, is_at_least_as_fine, is_level_of


@pytest.fixture(scope="module")
def dataset(town):
    return parse_dataset(town.description)


def test_each_area_has_its_region_and_a_region_has_no_area(dataset):
    assert ancestors(dataset, "area", "region").tolist() == [0, 0, 1, 1, 1]
    assert ancestors(dataset, "region", "area") is None
    assert ancestors(dataset, "area", "sex") is None
    assert is_at_least_as_fine(dataset, "area", "region")
    assert not is_at_least_as_fine(dataset, "region", "area")
    assert is_level_of(dataset, "region", "area")
    assert not is_level_of(dataset, "region", "sex")


def test_labels_go_down_to_every_part_and_up_only_where_parts_agree(dataset):
    assert express(dataset, "region", np.array([7, 8]), "area").tolist() == [7, 7, 8, 8, 8]
    assert express(dataset, "area", np.array([7, 7, 8, 8, 8]), "region").tolist() == [7, 8]
    assert express(dataset, "area", np.array([7, 6, 8, 8, 8]), "region") is None
    assert express(dataset, "area", np.arange(5), "sex") is None


def test_a_region_is_inside_only_if_all_its_areas_are_kept(dataset):
    kept = np.array([True, True, True, False, True])
    assert inside(dataset, "area", kept, "region").tolist() == [True, False]
    assert inside(dataset, "region", np.array([False, True]), "area").tolist() == [False] * 2 + [True] * 3
    assert inside(dataset, "area", kept, "sex") is None
