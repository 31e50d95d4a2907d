"""Every declared rule is read or refused with advice, and following a refusal's advice leads to a table."""

import inspect
from dataclasses import FrozenInstanceError, fields
from typing import ClassVar

import pytest

from discreet.errors import BadDescription, Refused
from discreet.rules.advice import nearest_allowed
from discreet.rules.declared import KINDS, SHAPE_KINDS, TABLE_KINDS, first_refusal, refuse_by_rules

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

    instead = nearest_allowed(request, dataset, declared, refusal_of)
    assert instead not in {None, request}
    assert refusal_of(instead) is None


def test_every_kind_by_shape_is_tested_here():
    assert {kind.kind for kind in SHAPE_KINDS} == set(PAIRS)
    assert len(KINDS) == len(SHAPE_KINDS) + len(TABLE_KINDS)


@pytest.mark.parametrize("kind", SHAPE_KINDS, ids=lambda k: k.kind)
def test_a_rule_by_shape_sees_the_request_its_shape_and_the_description_alone(kind):
    assert list(inspect.signature(kind.refuse).parameters) == ["self", "request", "shape", "dataset"]


def test_rules_are_values(rules):
    (rule,) = rules({"kind": "max-variables", "most": 2})
    assert (rule,) == rules({"kind": "max-variables", "most": 2})
    with pytest.raises(FrozenInstanceError):
        rule.most = 3


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({}, "kind None"),
        ({"kind": "max-variable", "most": 2}, 'Did you mean "max-variables"'),
        ({"kind": "max-variables"}, "lacks `most`"),
        ({"kind": "max-variables", "most": -1}, "at least 0"),
        ({"kind": "max-variables", "most": True}, "whole number"),
        ({"kind": "max-variables", "most": 2, "levle": "area"}, 'Did you mean "level"'),
        ({"kind": "max-variables", "most": 2, "level": "sex"}, "Known: area, region"),
        ({"kind": "max-cells", "most": 0}, "at least 1"),
        ({"kind": "forbidden-combination", "variables": ["age"]}, "two or more"),
        ({"kind": "forbidden-combination", "variables": ["age", "age"]}, "once"),
        ({"kind": "forbidden-combination", "variables": "age"}, "List one or more"),
        ({"kind": "forbidden-combination", "variables": ["age", "jobb"]}, 'Did you mean "job"'),
        ({"kind": "mandatory-variables", "variable": "jobb", "needs": ["age"]}, 'Did you mean "job"'),
        ({"kind": "minimum-area-size", "variable": "area", "least": 9, "figures": {}}, "Write figures"),
        (
            {"kind": "minimum-area-size", "variable": "area", "least": 9, "figures": {"N1": -1}},
            "whole number",
        ),
        ({"kind": "minimum-area-size", "variable": "area", "least": 9, "figures": {"N9": 1}}, "Did you mean"),
        ({"kind": "free-groups", "allowed": "no"}, "true or false"),
        ({"kind": "nested-groups", "fewer_than": 1}, "at least 2"),
        ({"kind": "share-of-zeros", "most": 1.5}, "between 0 and 1"),
        ({"kind": "share-of-ones", "most": 0.5, "up_to": 0}, "at least 1"),
        ({"kind": "mean-cell-size", "least": 0}, "above 0"),
        ({"kind": "mean-cell-size", "least": 1, "rescue": float("inf")}, "above 0"),
        ({"kind": "mean-cell-size", "least": 1, "rescues": ["max-cells"]}, "share-of-zeros"),
        ({"kind": "blocked-areas", "most": "half"}, "between 0 and 1"),
    ],
)
def test_a_section_that_cannot_be_used_is_refused_with_advice(section, says, rules):
    with pytest.raises(BadDescription, match=says) as raised:
        rules(section)
    assert raised.value.advice


def test_a_level_needs_a_geography(dataset):
    from dataclasses import replace

    from discreet.rules.declared import parse_rules

    flat = replace(dataset, hierarchies=())
    with pytest.raises(BadDescription, match="no geography"):
        parse_rules([{"kind": "max-cells", "most": 9, "level": "area"}], flat)


def test_every_key_of_every_rule_has_a_reader():
    for kind in KINDS.values():
        assert all("reader" in each.metadata for each in fields(kind)), kind


def test_rules_are_evaluated_in_their_order(rules, ask, dataset):
    first = {"kind": "max-cells", "most": 5}
    second = {"kind": "max-variables", "most": 1}
    asked = ask(rows=["sex"], columns=["age"])
    assert first_refusal(*asked, dataset, rules(first, second)).code == "too-many-cells"
    assert first_refusal(*asked, dataset, rules(second, first)).code == "too-many-variables"


def test_the_limits_of_the_protection_hold_without_any_rule(ask, dataset):
    asked = ask(rows=["area"], groups=["area=N1+S1"])
    assert first_refusal(*asked, dataset).code == "groups-on-geography"


@pytest.mark.parametrize(
    "filters", [["age=old", "job=1"], ["age=adult,old", "job=0,1,2"]], ids=["one", "many"]
)
def test_a_filter_does_not_evade_a_combination(filters, rules, ask, dataset):
    forbidden = rules({"kind": "forbidden-combination", "variables": ["age", "job"]})
    assert (
        first_refusal(*ask(rows=["sex"], filters=filters), dataset, forbidden).code == "forbidden-combination"
    )


def test_a_rule_on_a_coarse_level_holds_for_the_finer_ones(rules, ask, dataset):
    forbidden = rules({"kind": "forbidden-combination", "variables": ["region", "job"]})
    assert first_refusal(*ask(rows=["area"], columns=["job"]), dataset, forbidden) is not None
    at_region = rules({"kind": "max-variables", "most": 0, "level": "region"})
    assert first_refusal(*ask(rows=["area"], columns=["job"]), dataset, at_region) is not None
    assert first_refusal(*ask(rows=["job"]), dataset, at_region) is None


def test_what_is_mandatory_must_stand_in_the_table(rules, ask, dataset):
    needs = rules({"kind": "mandatory-variables", "variable": "job", "needs": ["region"]})
    assert first_refusal(*ask(rows=["sex"], filters=["job=1"]), dataset, needs) is not None
    assert first_refusal(*ask(rows=["job"], columns=["region"]), dataset, needs) is None
    assert first_refusal(*ask(rows=["job"], columns=["area"]), dataset, needs) is None
    assert first_refusal(*ask(rows=["sex"]), dataset, needs) is None


class TestFreeGroups:
    grouped: ClassVar = {"rows": ["job"], "groups": ["job=0+1,2"]}

    def test_groups_beyond_the_accounts_number_are_refused_and_nobody_keeps_the_answer(
        self, rules, ask, dataset
    ):
        counted = rules({"kind": "free-groups", "per_account": 3})
        asked = []

        def meter(variable, account):
            asked.append((variable, account))
            return 3

        refusal = first_refusal(*ask(**self.grouped), dataset, counted, meter=meter, account="ada")
        assert (refusal.code, refusal.cacheable) == ("too-many-groups", False)
        assert asked == [("job", "ada")]
        allowed = first_refusal(*ask(**self.grouped), dataset, counted, meter=lambda _v, _a: 2, account="ada")
        assert allowed is None

    def test_nobody_signed_in_has_no_groups_where_they_are_counted(self, rules, ask, dataset):
        counted = rules({"kind": "free-groups", "per_account": 3})
        refusal = first_refusal(*ask(**self.grouped), dataset, counted)
        assert (refusal.code, refusal.cacheable) == ("too-many-groups", False)

    def test_single_categories_are_no_groups(self, rules, ask, dataset):
        none = rules({"kind": "free-groups", "allowed": False})
        assert first_refusal(*ask(rows=["job"], groups=["job=0,1"]), dataset, none) is None

    def test_a_rule_without_a_list_is_about_every_variable(self, rules, ask, dataset):
        none = rules({"kind": "free-groups", "allowed": False})
        assert first_refusal(*ask(rows=["age"], groups=["age=child+old"]), dataset, none) is not None


class TestNestedGroups:
    def test_filters_count_as_unions_where_the_rule_says_so(self, rules, ask, dataset):
        section = {"kind": "nested-groups", "fewer_than": 2, "variables": ["area"]}
        with_filters = rules({**section, "filters": True})
        almost_south = {"rows": ["sex"], "filters": ["area=S1,S2"]}
        assert first_refusal(*ask(**almost_south), dataset, rules(section)) is None
        refusal = first_refusal(*ask(**almost_south), dataset, with_filters)
        assert "'S' of \"region\"" in refusal.message
        north_and_one = {"rows": ["sex"], "filters": ["area=N1,N2,S1"]}
        assert first_refusal(*ask(**north_and_one), dataset, with_filters) is not None
        all_but_one = {"rows": ["sex"], "filters": ["area=N1,N2,S1,S2"]}
        assert first_refusal(*ask(**all_but_one), dataset, with_filters) is not None
        for allowed in ("area=N1,N2", "area=N1", "area=N1,S1"):
            assert first_refusal(*ask(rows=["sex"], filters=[allowed]), dataset, with_filters) is None

    def test_without_totals_a_shown_filter_is_no_union(self, rules, ask, dataset):
        section = {"kind": "nested-groups", "fewer_than": 2, "filters": True}
        shown = {"rows": ["area"], "filters": ["area=S1,S2"]}
        assert first_refusal(*ask(**shown), dataset, rules(section)) is not None
        assert first_refusal(*ask(**shown, totals=False), dataset, rules(section)) is None

    def test_the_difference_is_counted_in_categories(self, rules, ask, dataset):
        asked = ask(rows=["job"], groups=["job=1+2"])
        assert first_refusal(*asked, dataset, rules({"kind": "nested-groups", "fewer_than": 2})) is None
        assert first_refusal(*asked, dataset, rules({"kind": "nested-groups", "fewer_than": 3})) is not None


class TestMinimumAreaSize:
    section: ClassVar = {
        "kind": "minimum-area-size",
        "variable": "area",
        "least": 100,
        "figures": {"N2": 80, "S3": 99},
    }

    def test_a_table_with_other_areas_in_it_is_not_refused(self, rules, ask, dataset):
        declared = rules(self.section)
        assert first_refusal(*ask(rows=["area"], columns=["sex"]), dataset, declared) is None
        assert first_refusal(*ask(rows=["area"], filters=["area=N1,N2"]), dataset, declared) is None
        assert first_refusal(*ask(rows=["area"], filters=["area=N2"]), dataset, declared) is not None

    def test_coarser_levels_are_not_its_business(self, rules, ask, dataset):
        assert first_refusal(*ask(rows=["region"]), dataset, rules(self.section)) is None

    def test_an_area_within_a_small_one_is_small(self, rules, ask, dataset):
        section = {**self.section, "variable": "region", "figures": {"N": 50}}
        assert first_refusal(*ask(rows=["sex"], filters=["area=N1"]), dataset, rules(section)) is not None
        assert first_refusal(*ask(rows=["sex"], filters=["area=S1"]), dataset, rules(section)) is None


def test_nothing_is_advised_where_nothing_is_allowed(ask, dataset):
    request, _ = ask(rows=["sex"])
    assert nearest_allowed(request, dataset, (), lambda _: Refused("No.")) is None
