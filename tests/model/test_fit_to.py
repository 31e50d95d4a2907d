"""The set of published tables has one order and one spelling."""

import pytest

from discreet.errors import BadDescription, BadRequest
from discreet.model.dataset_toml import parse_dataset
from discreet.model.fit_to import MOST_TABLES, canonical_fit_to, variables_of


@pytest.fixture(scope="module")
def dataset(town):
    return parse_dataset(town.description)


def test_small_tables_come_first_and_each_once(dataset):
    words = ["job*sex", " area", "sex * job", "age"]
    assert canonical_fit_to(words, dataset) == canonical_fit_to(reversed(words), dataset)
    found = canonical_fit_to(words, dataset)
    assert len(found) == 3
    assert [len(variables_of(word)) for word in found] == [1, 1, 2]


def test_none_stands_alone(dataset):
    assert canonical_fit_to(["none"], dataset) == ("none",)
    assert canonical_fit_to([], dataset) == ()


def test_a_set_has_a_largest_size(dataset):
    names = [variable.name for variable in dataset.variables]
    words = [f"{one}*{two}" for one in names for two in names if one != two]
    with pytest.raises(BadRequest, match=f"Give at most {MOST_TABLES}"):
        canonical_fit_to(words, dataset)


def test_a_description_names_known_variables_in_a_list(town):
    for line, message in {'["sexx"]': 'names the variable "sexx"', '"sex"': "Give a list"}.items():
        with pytest.raises(BadDescription, match=message):
            parse_dataset(town.description.replace("[protection]\n", f"[protection]\nfit_to = {line}\n", 1))
