"""Rules are parsed or refused with advice; a refusal has its code, and its advice leads to a table."""

import inspect
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from tests.rules.conftest import first_refusal
from tests.web.detectors.readers import census, sliver_dataset

from discreet.api.server_url import parse_table_query
from discreet.errors import BadDescription, Refused
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.hierarchy import level_groups, level_names
from discreet.model.request import canonical
from discreet.model.shape import table_shape
from discreet.rules.kinds.groups import close_groups
from discreet.rules.rule import drop_one_variable, kinds, use_larger_areas
from discreet.rules.rule_set import find_alternatives, parse_rules, protection_rules, refuse_by_rules

REFUSING = [kind for kind in kinds().values() if kind.refuses()]

#: kind: (its section, the code of its refusal, a refused request, the same with the advice followed).
PAIRS = {
    "max-variables": (
        {"most": 1, "level": "area"},
        "too-many-variables",
        "rows=area&columns=sex&filter=job=1",
        "rows=region&columns=sex&filter=job=1",
    ),
    "max-cells": ({"most": 40}, "too-many-cells", "rows=area&columns=sex,age", "rows=region&columns=sex,age"),
    "forbidden-combination": (
        {"variables": ["age", "job"], "level": "area"},
        "forbidden-combination",
        "rows=sex&columns=job&filter=area=N1&filter=age=old",
        "rows=sex&columns=job&filter=region=N&filter=age=old",
    ),
    "mandatory-variables": (
        {"variable": "job", "needs": ["age"]},
        "mandatory-variables",
        "rows=sex&columns=job&filter=age=old",
        "rows=sex&columns=job,age",
    ),
    "minimum-area-size": (
        {"variable": "area", "least": 100, "figures": {"N2": 80, "S3": 99, "S1": 100}},
        "minimum-area-size",
        "rows=sex&filter=area=N2,S3",
        "rows=sex&filter=area=S1",
    ),
    "free-groups": (
        {"variables": ["job"], "allowed": False},
        "too-many-groups",
        "rows=job&group=job=1%2B2",
        "rows=job&columns=age&group=age=adult%2Bold",
    ),
    "nested-groups": (
        {"fewer_than": 2},
        "nested-groups",
        "rows=job&group=job=0%2B1%2B2",
        "rows=job&group=job=1%2B2",
    ),
}


def asked_of(dataset, query):
    return canonical(parse_table_query("town", query), dataset)


@pytest.fixture
def refusal_by(dataset):
    """The refusal of a request by declared rules."""
    return lambda declared: lambda asked: first_refusal(asked, table_shape(asked, dataset), dataset, declared)


@pytest.mark.parametrize("kind", PAIRS)
def test_a_rule_refuses_with_its_code_and_its_advice_followed_gives_a_table(kind, rules, dataset, refusal_by):
    section, code, refused, followed = PAIRS[kind]
    declared = rules({"kind": kind, **section})
    request = asked_of(dataset, refused)
    refusal_of = refusal_by(declared)
    refusal = refusal_of(request)
    assert (refusal.code, refusal.cacheable) == (code, True)
    assert refusal.message
    assert refusal.advice
    assert refusal_by(())(request) is None
    assert refusal_of(asked_of(dataset, followed)) is None
    instead = next(find_alternatives(request, dataset, declared, refusal_of), None)  # by one click
    assert instead not in {None, request}
    assert refusal_of(instead) is None


def test_every_kind_by_shape_is_tested_here_and_sees_request_shape_and_description_alone():
    assert {kind.kind for kind in REFUSING} == set(PAIRS)
    for kind in REFUSING:
        assert list(inspect.signature(kind.refuse).parameters) == ["self", "request", "shape", "dataset"]


def test_rules_are_evaluated_in_their_order(rules, ask, dataset):
    first = {"kind": "max-cells", "most": 5}
    second = {"kind": "max-variables", "most": 1}
    asked = ask(rows=["sex"], columns=["age"])
    assert first_refusal(*asked, dataset, rules(first, second)).code == "too-many-cells"
    assert first_refusal(*asked, dataset, rules(second, first)).code == "too-many-variables"


#: Refused by [protection] alone: the code of the refusal, a request, the same with the advice followed.
PROTECTED = {
    "too-many-variables": ("rows=sex,age&filter=job=1", "rows=sex,age"),
    "groups-on-geography": ("rows=area&group=area=N1%2BS1", "rows=region"),
    "too-many-cells": ("rows=area&columns=age,sex", "rows=region&columns=age"),
}


@pytest.fixture(scope="module")
def strict(town):
    return parse_dataset(town.description.replace("max_variables = 3", "max_variables = 2\nmax_cells = 60"))


@pytest.mark.parametrize("code", PROTECTED)
def test_a_rule_of_the_protection_refuses_and_its_advice_followed_gives_a_table(strict, code):
    refused, followed = (asked_of(strict, query) for query in PROTECTED[code])
    refusal = first_refusal(refused, table_shape(refused, strict), strict)
    assert refusal.code == code
    assert refusal.message
    assert refusal.advice
    refuse_by_rules(followed, table_shape(followed, strict), strict)


def test_every_rule_of_the_protection_is_tested_here_and_sees_the_shape_alone(strict, private_town):
    assert [rule.refusal_code() for rule in protection_rules(strict)] == list(PROTECTED)
    for rule in protection_rules(strict):
        assert list(inspect.signature(rule.refuse).parameters) == ["request", "shape", "dataset"]
    (rule,) = protection_rules(parse_dataset(private_town.description))
    assert rule.refusal_code() == "too-many-cells"  # under dp only the number of cells is limited


def test_an_allowed_request_is_its_own_advice_and_the_nearest_edit_wins(ask, dataset, rules, refusal_by):
    request, _ = ask(rows=["sex", "age", "job"])
    assert list(find_alternatives(request, dataset, (), lambda _: None)) == [request]
    assert not list(find_alternatives(request, dataset, (), lambda _: Refused("Nothing is allowed.")))
    declared = rules({"kind": "max-variables", "most": 2})
    found = find_alternatives(request, dataset, declared, refusal_by(declared))
    used = ["".join(sorted(name[0] for name in each.used)) for each in found]
    # The longest variable goes first.
    assert used[0] == "as"
    assert set(used) == {"as", "js", "aj"}
    # A search that went on from what is allowed would offer tables of one variable, too.


@pytest.mark.parametrize(
    ("section", "says"),
    [
        ({"kind": "max-variable", "most": 2}, 'Did you mean "max-variables"'),
        ({"kind": "max-variables"}, "lacks `most`"),
        ({"kind": "max-variables", "most": -1}, "at least 0"),
        ({"kind": "max-variables", "most": 2, "levle": "area"}, 'Did you mean "level"'),
        ({"kind": "max-variables", "most": 2, "level": "sex"}, "Known: area, region"),
        ({"kind": "max-cells", "most": 0}, "at least 1"),
        ({"kind": "forbidden-combination", "variables": ["age"]}, "two or more"),
        ({"kind": "forbidden-combination", "variables": ["age", "age"]}, "once"),
        ({"kind": "forbidden-combination", "variables": "age"}, "List one or more"),
        ({"kind": "mandatory-variables", "variable": "jobb", "needs": ["age"]}, 'Did you mean "job"'),
        ({"kind": "minimum-area-size", "variable": "area", "least": 9, "figures": {}}, "Write figures"),
        ({"kind": "minimum-area-size", "variable": "area", "least": 9, "figures": {"N9": 1}}, "Did you mean"),
        ({"kind": "free-groups", "allowed": "no"}, "true or false"),
        ({"kind": "nested-groups", "fewer_than": 1}, "at least 2"),
        ({"kind": "share-of-zeros", "most": 1.5}, "between 0 and 1"),
        ({"kind": "mean-cell-size", "least": 1, "rescue": float("inf")}, "above 0"),
        ({"kind": "mean-cell-size", "least": 1, "rescues": ["max-cells"]}, "share-of-zeros"),
    ],
)
def test_a_section_that_cannot_be_used_is_refused_with_advice(section, says, rules):
    with pytest.raises(BadDescription, match=says) as raised:
        rules(section)
    assert raised.value.advice


def test_a_level_needs_a_geography_and_free_groups_are_no_rule_under_dp(dataset, private_town):
    flat = replace(dataset, hierarchies=())
    with pytest.raises(BadDescription, match="no geography"):
        parse_rules([{"kind": "max-cells", "most": 9, "level": "area"}], flat)
    with pytest.raises(BadDescription, match="need no rule"):
        parse_rules([{"kind": "free-groups"}], parse_dataset(private_town.description))


MIXED = {"rows": ["area"], "columns": ["sex", "age"], "levels": ["area=region,area"]}


def test_larger_areas_are_larger_whatever_the_levels(ask, dataset):
    (fewer,) = use_larger_areas(ask(**MIXED)[0], dataset)
    assert fewer.levels == (("area", ("region",)),)
    (none,) = use_larger_areas(fewer, dataset)
    assert (none.variables, none.levels) == (("sex", "age"), ())
    (region,) = use_larger_areas(ask(rows=["area"], columns=["sex"])[0], dataset)
    assert region.variables == ("region", "sex")


def test_a_hidden_filter_goes_first_and_then_the_longest_variable_and_never_the_geography(ask, dataset):
    request, _ = ask(rows=["area"], columns=["sex", "job"], filters=["age=old"])
    left = [edit.used for edit in drop_one_variable(request, dataset)]
    assert left == [request.used - {gone} for gone in ("age", "job", "sex")]


def by_sets(dataset, name, people, fewer_than):
    """The slow, obvious way."""
    everybody = ("total", "everybody", set(range(len(people))))
    groups = [
        (level, group.code, set(group.members))
        for level in level_names(dataset, name)
        for group in level_groups(dataset, name, level)
    ]
    for (one, code, a), (other, close, b) in combinations([*groups, everybody], 2):
        apart = int(sum(people[list(a ^ b)]))
        if one != other and 0 < apart < fewer_than and people[list(a & b)].sum() > 0:
            yield frozenset([(one, code), (other, close)]), apart


@pytest.mark.parametrize("of", ["ones", "people"])
@pytest.mark.parametrize(("dataset", "name"), [(sliver_dataset(), "ward"), (census(), "district")])
def test_it_finds_what_comparing_sets_finds(dataset, name, of):
    number = len(dataset.variable(name))
    people = np.ones(number, int) if of == "ones" else np.random.default_rng(3).integers(0, 4, number)
    found = {
        (frozenset([(one, code), (other, close)]), apart)
        for one, code, other, close, apart in close_groups(dataset, name, people, 3)
    }
    assert found == set(by_sets(dataset, name, people, 3))
    assert found or dataset.id == "census"
