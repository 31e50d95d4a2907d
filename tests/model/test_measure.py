"""The measure that every dataset has: records counted, named by the dataset's unit."""

from dataclasses import replace

import pytest

from discreet.model.dataset_toml import parse_dataset
from discreet.model.measure import COUNT, DEFAULT_MEASURE, counted_unit


@pytest.fixture(scope="module")
def dataset(town):
    return parse_dataset(town.description)


def test_a_title_begins_with_the_unit_and_keeps_its_other_capitals(dataset):
    assert counted_unit(dataset) == "Persons"
    assert counted_unit(replace(dataset, unit="owners of BMWs")) == "Owners of BMWs"


def test_every_dataset_has_counts_without_errors(dataset):
    assert COUNT.name == DEFAULT_MEASURE
    assert COUNT.refuse(dataset) is None
    assert COUNT.about(dataset) is None
    assert (COUNT.is_count, COUNT.has_errors) == (True, False)
