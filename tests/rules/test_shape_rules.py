"""Every rule has a code, a sentence and advice, and looks at the shape alone."""

import inspect

import pytest

from discreet.errors import Refused
from discreet.model.dataset_toml import parse_dataset
from discreet.model.request import canonical, request_from_text
from discreet.model.shape import table_shape
from discreet.rules.shape_rules import SHAPE_RULES, refuse_by_shape

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
    refuse_by_shape(request, table_shape(request, dataset), dataset)


@pytest.mark.parametrize("code", REFUSED)
def test_a_refusal_has_its_code_and_following_the_advice_leads_to_an_allowed_table(dataset, code):
    with pytest.raises(Refused) as raised:
        check(dataset, REFUSED[code])
    assert raised.value.code == code
    assert raised.value.message
    assert raised.value.advice
    check(dataset, FOLLOWED[code])


def test_every_rule_is_tested_here():
    assert len(SHAPE_RULES) == len(REFUSED)


def test_a_rule_sees_nothing_but_the_request_its_shape_and_the_description():
    for rule in SHAPE_RULES:
        assert list(inspect.signature(rule).parameters) == ["request", "shape", "dataset"]
