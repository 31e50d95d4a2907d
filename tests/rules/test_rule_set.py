"""Every declared rule is read or refused with advice, and following a refusal's advice leads to a table.

Every rule of [protection] has a code, a sentence and advice, and looks at the shape alone.
"""

import inspect

import pytest

from discreet.errors import BadDescription, Refused
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import canonical, request_from_text
from discreet.model.shape import table_shape
from discreet.rules.alternatives import find_alternatives
from discreet.rules.rule import kinds
from discreet.rules.rule_set import parse_rules, protection_rules, refuse_by_rules

REFUSING = [kind for kind in kinds().values() if kind.refuses()]

#: kind: (its section, the code of its refusal, a refused request, the same with the advice followed).
PAIRS = {
    "max-variables": (
        {"most": 1, "level": "area"},
        "too-many-variables",
        {"rows": ["area"], "columns": ["sex"], "filters": ["job=1"]},
        {"rows": ["region"], "columns": ["sex"], "filters": ["job=1"]},
    ),
    "max-cells": (
        {"most": 40},
        "too-many-cells",
        {"rows": ["area"], "columns": ["sex", "age"]},
        {"rows": ["region"], "columns": ["sex", "age"]},
    ),
    "forbidden-combination": (
        {"variables": ["age", "job"], "level": "area"},
        "forbidden-combination",
        {"rows": ["sex"], "columns": ["job"], "filters": ["area=N1", "age=old"]},
        {"rows": ["sex"], "columns": ["job"], "filters": ["region=N", "age=old"]},
    ),
    "mandatory-variables": (
        {"variable": "job", "needs": ["age"]},
        "mandatory-variables",
        {"rows": ["sex"], "columns": ["job"], "filters": ["age=old"]},
        {"rows": ["sex"], "columns": ["job", "age"]},
    ),
    "minimum-area-size": (
        {"variable": "area", "least": 100, "figures": {"N2": 80, "S3": 99, "S1": 100}},
        "minimum-area-size",
        {"rows": ["sex"], "filters": ["area=N2,S3"]},
        {"rows": ["sex"], "filters": ["area=S1"]},
    ),
    "free-groups": (
        {"variables": ["job"], "allowed": False},
        "too-many-groups",
        {"rows": ["job"], "groups": ["job=1+2"]},
        {"rows": ["job"], "columns": ["age"], "groups": ["age=adult+old"]},
    ),
    "nested-groups": (
        {"fewer_than": 2},
        "nested-groups",
        {"rows": ["job"], "groups": ["job=0+1+2"]},
        {"rows": ["job"], "groups": ["job=1+2"]},
    ),
}


def first_refusal(*asked):
    try:
        refuse_by_rules(*asked)
    except Refused as refusal:
        return refusal
    return None


@pytest.mark.parametrize("kind", PAIRS)
def test_a_rule_refuses_with_its_code_and_its_advice_followed_gives_a_table(kind, rules, ask, dataset):
    section, code, refused, followed = PAIRS[kind]
    declared = rules({"kind": kind, **section})
    with pytest.raises(Refused) as raised:
        refuse_by_rules(*ask(**refused), dataset, declared)
    assert raised.value.code == code
    assert raised.value.message
    assert raised.value.advice
    assert raised.value.cacheable
    refuse_by_rules(*ask(**refused), dataset, ())
    refuse_by_rules(*ask(**followed), dataset, declared)


@pytest.mark.parametrize("kind", PAIRS)
def test_the_advice_can_be_followed_by_one_click(kind, rules, ask, dataset):
    section, _, refused, _ = PAIRS[kind]
    declared = rules({"kind": kind, **section})
    request, _ = ask(**refused)

    def refusal_of(asked):
        from discreet.model.shape import table_shape

        return first_refusal(asked, table_shape(asked, dataset), dataset, declared)

    instead = next(find_alternatives(request, dataset, declared, refusal_of), None)
    assert instead not in {None, request}
    assert refusal_of(instead) is None


def test_every_kind_by_shape_is_tested_here():
    assert {kind.kind for kind in REFUSING} == set(PAIRS)


@pytest.mark.parametrize("kind", REFUSING, ids=lambda k: k.kind)
def test_a_rule_by_shape_sees_the_request_its_shape_and_the_description_alone(kind):
    assert list(inspect.signature(kind.refuse).parameters) == ["self", "request", "shape", "dataset"]


def test_free_groups_are_no_rule_under_dp(private_town):
    from discreet.model.description.dataset_toml import parse_dataset

    with pytest.raises(BadDescription, match="need no rule"):
        parse_rules([{"kind": "free-groups"}], parse_dataset(private_town.description))


def test_rules_are_evaluated_in_their_order(rules, ask, dataset):
    first = {"kind": "max-cells", "most": 5}
    second = {"kind": "max-variables", "most": 1}
    asked = ask(rows=["sex"], columns=["age"])
    assert first_refusal(*asked, dataset, rules(first, second)).code == "too-many-cells"
    assert first_refusal(*asked, dataset, rules(second, first)).code == "too-many-variables"


def test_the_limits_of_the_protection_hold_without_any_rule(ask, dataset):
    asked = ask(rows=["area"], groups=["area=N1+S1"])
    assert first_refusal(*asked, dataset).code == "groups-on-geography"


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
