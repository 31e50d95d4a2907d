"""Every rule of [protection] has a code, a sentence and advice, and looks at the shape alone."""

import inspect

import pytest

from discreet.errors import Refused
from discreet.model.dataset_toml import parse_dataset
from discreet.model.request import canonical, request_from_text
from discreet.model.shape import table_shape
from discreet.rules.declared import refuse_by_rules
from discreet.rules.protection_rules import protection_rules

REFUSED = {
    "too-many-variables": {"rows": ["sex", "age"], "filters": ["job=1"]},
    "groups-on-geography": {"rows": ["area"], "groups": ["area=N1+S1"]},
    "too-many-cells": {"rows": ["area"], "columns": ["age", "sex"]},
}
FOLLOWED = {
    "too-many-variables": {"rows": ["sex", "age"]},
    "groups-on-geography": {"rows": ["region"]},
    "too-many-cells": {"rows": ["region"], "columns": ["age"]},
}


@pytest.fixture(scope="module")
def dataset(town):
    return parse_dataset(town.description.replace("max_variables = 3", "max_variables = 2\nmax_cells = 60"))


def check(dataset, parts):
    request = canonical(request_from_text("town", **parts), dataset)
    refuse_by_rules(request, table_shape(request, dataset), dataset)


@pytest.mark.parametrize("code", REFUSED)
def test_a_refusal_has_its_code_and_following_the_advice_leads_to_an_allowed_table(dataset, code):
    with pytest.raises(Refused) as raised:
        check(dataset, REFUSED[code])
    assert raised.value.code == code
    assert raised.value.message
    assert raised.value.advice
    check(dataset, FOLLOWED[code])


def test_every_rule_is_tested_here(dataset):
    assert [rule.refusal_code() for rule in protection_rules(dataset)] == list(REFUSED)


def test_under_dp_only_the_number_of_cells_is_limited(private_town):
    (rule,) = protection_rules(parse_dataset(private_town.description))
    assert rule.refusal_code() == "too-many-cells"


def test_a_rule_sees_nothing_but_the_request_its_shape_and_the_description(dataset):
    for rule in protection_rules(dataset):
        assert list(inspect.signature(rule.refuse).parameters) == ["request", "shape", "dataset"]
