"""Small areas are refused alone and withheld among others, and a table with too many of them fails."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.conftest import first_refusal

from discreet.api.server_url import parse_table_query
from discreet.errors import TableNotReleased
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.rules.noisy_table import NoisyTable, slices_of
from discreet.rules.rule import kinds
from discreet.rules.rule_set import parse_rules
from discreet.rules.suppression import layout_for
from discreet.rules.verdict import rule_table_shape, verdict_of

SIZE = {"kind": "minimum-area-size", "variable": "area", "least": 100, "figures": {"N2": 80, "S3": 99}}
REGION_SIZE = {**SIZE, "variable": "region", "figures": {"N": 50}}
TOGETHER = {"kind": "forbidden-combination", "variables": ["age", "job"]}
BY_REGION = {"kind": "forbidden-combination", "variables": ["region", "job"]}
NO_JOBS = {"kind": "max-variables", "most": 0, "level": "region"}
NEEDS = {"kind": "mandatory-variables", "variable": "job", "needs": ["region"]}
NO_GROUPS = {"kind": "free-groups", "allowed": False}
NESTED = {"kind": "nested-groups", "fewer_than": 2, "variables": ["area"]}
FILTERS = {**NESTED, "filters": True}
#: By what a rule must see: its section, requests that it refuses, and requests that it allows.
REQUESTS = {
    "small areas alone, and not among others or above": (
        SIZE,
        ["rows=area&filter=area=N2"],
        ["rows=area&columns=sex", "rows=area&filter=area=N1,N2", "rows=region"],
    ),
    "an area within a small one": (REGION_SIZE, ["rows=sex&filter=area=N1"], ["rows=sex&filter=area=S1"]),
    "filters": (
        TOGETHER,
        ["rows=sex&filter=age=old&filter=job=1", "rows=sex&filter=age=adult,old&filter=job=0,1"],
        [],
    ),
    "finer levels of a variable": (BY_REGION, ["rows=area&columns=job"], []),
    "finer levels of its own": (NO_JOBS, ["rows=area&columns=job"], ["rows=job"]),
    "the table, and not a filter": (
        NEEDS,
        ["rows=sex&filter=job=1"],
        ["rows=job&columns=region", "rows=job&columns=area", "rows=sex"],
    ),
    "every variable, and no single category": (
        NO_GROUPS,
        ["rows=age&group=age=child%2Bold"],
        ["rows=job&group=job=0,1"],
    ),
    "groups only": (NESTED, [], ["rows=sex&filter=area=S1,S2"]),
    "filters as unions": (
        FILTERS,
        ["rows=sex&filter=area=S1,S2", "rows=sex&filter=area=N1,N2,S1", "rows=sex&filter=area=N1,N2,S1,S2"],
        ["rows=sex&filter=area=N1,N2", "rows=sex&filter=area=N1", "rows=sex&filter=area=N1,S1"],
    ),
    "the total of a filter that is shown": (
        FILTERS,
        ["rows=area&filter=area=S1,S2"],
        ["rows=area&filter=area=S1,S2&totals=no"],
    ),
    "a difference in categories": (
        {"kind": "nested-groups", "fewer_than": 3},
        ["rows=job&group=job=1%2B2"],
        ["rows=job&group=job=0,1"],
    ),
}


@pytest.mark.parametrize("sees", REQUESTS)
def test_a_rule_refuses_what_evades_it_and_nothing_else(sees, rules, dataset):
    section, refused, allowed = REQUESTS[sees]
    for query in (*refused, *allowed):
        request = canonical(parse_table_query("town", query), dataset)
        found = first_refusal(request, table_shape(request, dataset), dataset, rules(section))
        assert (found is not None) == (query in refused), query


def test_a_table_fails_when_more_than_a_share_of_its_areas_is_withheld(ask, noisy, rules, dataset):
    request, shape = ask(rows=["area"], columns=["sex", "age"])
    interior = np.full((5, 2, 3), 9)
    interior[:2] = [[9, 0, 0], [0, 0, 9]]
    zeros = {"kind": "share-of-zeros", "most": 0.5, "level": "area"}
    for most in (0.4, 0.3):
        declared = rules(zeros, {"kind": "blocked-areas", "most": most})
        verdict = verdict_of(declared, noisy(request, interior), dataset)
        assert (verdict.withheld, verdict.table_error is not None) == (2, most == 0.3)
    with pytest.raises(TableNotReleased, match=r"2 of 5 areas .* more than 30%"):
        layout_for(verdict, shape, dataset, "independent")


def test_small_areas_are_withheld_and_the_figures_of_a_union_are_added_up(
    ask, noisy, rules, dataset, by_rule
):
    section = {"kind": "minimum-area-size", "variable": "area", "least": 100}
    request, _ = ask(rows=["area"])
    verdict = verdict_of(rules({**section, "figures": {"N2": 80, "S3": 99}}), noisy(request, 1), dataset)
    assert by_rule(verdict) == [False, True, False, False, True, False]
    request, _ = ask(rows=["area"], levels=["area=region"])
    for figures, withheld in (
        ({"N1": 40, "N2": 59}, True),
        ({"N1": 40, "N2": 60}, False),
        ({"N1": 40}, False),
    ):
        verdict = verdict_of(rules({**section, "figures": figures}), noisy(request, 1), dataset)
        assert by_rule(verdict) == [withheld, False, False]


def test_a_coarser_area_that_holds_a_small_one_alone_is_small(town):
    """The same people under another name: the wrong rule looks at the areas of its own level alone."""
    lone = parse_dataset(town.description.replace('"North two", parent = "N"', '"North two", parent = "S"'))
    request = canonical(TableRequest("town", rows=("region",), columns=("sex",)), lone)
    section = {"kind": "minimum-area-size", "variable": "area", "least": 100, "figures": {"N1": 80, "S1": 70}}
    (rule,) = parse_rules([section], lone)
    assert rule.concerns(request, lone)
    shape = rule_table_shape(request, lone)
    table = NoisyTable(shape, np.full(shape.lengths, 50), np.zeros(shape.lengths, dtype=bool))
    assert rule.withholds(slices_of(table, lone)).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("used", "account", "refused"), [(3, "ada", True), (2, "ada", False), (None, None, True)]
)
def test_groups_beyond_the_accounts_number_are_refused_and_nobody_keeps_the_answer(
    rules, ask, dataset, used, account, refused
):
    """Nobody signed in has no groups where they are counted."""
    counted = rules({"kind": "free-groups", "per_account": 3})
    asked = []
    metered = {"meter": lambda *given: asked.append(given) or used, "account": account} if account else {}
    refusal = first_refusal(*ask(rows=["job"], groups=["job=0+1,2"]), dataset, counted, **metered)
    assert (refusal is not None) == refused
    assert not refused or (refusal.code, refusal.cacheable) == ("too-many-groups", False)
    assert asked == [("job", "ada")] * bool(account)


#: Two areas of region, by sex (down) and age (along): the first is dense, the second is sparse.
DENSE = [[9, 9, 9], [9, 9, 9]]

#: kind: (its section, the counts of an area that it withholds).
SPARSE = {
    "share-of-zeros": ({"most": 0.5}, [[9, 0, 0], [0, 0, 9]]),
    "share-of-ones": ({"most": 0.5, "up_to": 2}, [[9, 1, 2], [1, 1, 9]]),
    "marginal-dominance": ({"most": 0.8}, [[90, 9, 9], [90, 9, 9]]),
    "attribute-disclosure": ({"most": 0.0}, [[9, 0, 9], [9, 9, 9]]),
    "mean-cell-size": ({"least": 5}, [[5, 5, 5], [5, 5, 4]]),
}


@pytest.mark.parametrize("kind", SPARSE)
def test_a_rule_withholds_the_sparse_area_and_not_the_dense_one(kind, two_regions, rules, dataset):
    table, _ = two_regions
    section, sparse = SPARSE[kind]
    verdict = verdict_of(rules({"kind": kind, **section}), table(DENSE, sparse), dataset)
    assert verdict.by_rule[:2].tolist() == [False, True]
    finding = verdict.rules[0]
    assert finding["code"] == kind
    assert "1 of 2 areas" in finding["message"]
    assert finding["advice"]
    looking = {each.kind for each in kinds().values() if each.implements("withholds")}
    assert looking == {*SPARSE, "minimum-area-size"}  # every kind on counts is tested here


@pytest.mark.parametrize("kind", SPARSE)
def test_a_table_without_geography_is_one_area(kind, ask, noisy, rules, dataset):
    request, shape = ask(rows=["sex"], columns=["age"])
    section, sparse = SPARSE[kind]
    declared = rules({"kind": kind, **section})
    failed = verdict_of(declared, noisy(request, sparse), dataset)
    assert (failed.passed, failed.withheld, failed.total) == (0, 1, 1)
    with pytest.raises(TableNotReleased, match=r"^In this table") as raised:
        layout_for(failed, shape, dataset, "independent")
    assert raised.value.advice == "Take a variable out, filters included."
    passed = verdict_of(declared, noisy(request, DENSE), dataset)
    assert not layout_for(passed, shape, dataset, "independent").withheld.any()


def test_a_refusal_has_one_reason_and_does_not_repeat_its_title(ask, noisy, rules, dataset):
    """Wrong alternative: the reasons of all rules in one breath, after the words of the title."""
    request, shape = ask(rows=["sex"], columns=["age"])
    section, sparse = SPARSE["share-of-zeros"]
    failed = verdict_of(rules({"kind": "share-of-zeros", **section}), noisy(request, sparse), dataset)
    other = {"code": "mean-cell-size", "message": "In this table the mean is low.", "advice": "Another."}
    failed = replace(failed, rules=(*failed.rules, other))
    with pytest.raises(TableNotReleased) as raised:
        layout_for(failed, shape, dataset, "independent")
    assert raised.value.message == failed.rules[0]["message"]
    assert raised.value.title not in raised.value.message


def test_structural_zeros_are_not_sparse(ask, noisy, rules, dataset):
    request, _ = ask(rows=["age"], columns=["job"])
    full = np.array([[9, 0, 0, 0], [9, 9, 9, 9], [9, 9, 9, 9]])
    declared = rules({"kind": "share-of-zeros", "most": 0.0}, {"kind": "attribute-disclosure"})
    assert verdict_of(declared, noisy(request, full), dataset).withheld == 0
    full[1, 3] = 0
    assert verdict_of(declared, noisy(request, full), dataset).withheld == 1


def test_a_rule_may_look_at_small_areas_only_and_at_tables_with_enough_variables(
    ask, noisy, rules, dataset, by_rule
):
    nobody = np.array(0)
    areas, regions = (noisy(ask(rows=[rows], columns=["sex"])[0], nobody) for rows in ("area", "region"))

    def judged(table, **more):
        return verdict_of(rules({"kind": "share-of-zeros", "most": 0.5, **more}), table, dataset)

    assert by_rule(judged(areas, level="area")) == [True] * 5 + [False]  # the total is no small area
    assert judged(regions, level="area").withheld == judged(areas, from_variables=2).withheld == 0
    assert judged(areas).mask.all()


def slow(kind, section, cells, possible):
    """Whether one area is withheld, by the definition: `cells` an array of any dimension, totals added here."""
    places = [p for p in itertools.product(*map(range, cells.shape)) if possible[p]]
    total = sum(cells[p] for p in itertools.product(*map(range, cells.shape)))
    if kind == "share-of-zeros":
        return sum(cells[p] <= 0 for p in places) > section["most"] * len(places)
    if kind == "share-of-ones":
        populated = [cells[p] for p in places if cells[p] > 0]
        return sum(c <= section["up_to"] for c in populated) > section["most"] * len(populated)
    if kind == "mean-cell-size":
        return total < section["least"] * len(places)
    if kind == "marginal-dominance":
        axes = [axis for axis in range(cells.ndim) if cells.shape[axis] > 1]
        sums = [cells.take(place, axis).sum() for axis in axes for place in range(cells.shape[axis])]
        return any(each > section["most"] * max(total, 0) for each in sums)
    rows = telling = 0
    for axis in range(cells.ndim):
        for others in itertools.product(*(range(n) for a, n in enumerate(cells.shape) if a != axis)):
            row = [(*others[:axis], i, *others[axis:]) for i in range(cells.shape[axis])]
            able = [p for p in row if possible[p]]
            full = sum(cells[p] > 0 for p in able)
            if len(able) > 1 and full:
                rows += 1
                telling += full == 1
    return telling > section["most"] * rows


@settings(max_examples=60)
@given(seed=st.integers(1, 10**6), mean=st.sampled_from([0.3, 1, 4]), kind=st.sampled_from(sorted(SPARSE)))
def test_every_rule_agrees_with_its_slow_definition(seed, mean, kind, ask, noisy, rules, dataset):
    rng = np.random.default_rng(seed)
    names = rng.permutation(["sex", "age", "job"])[: rng.integers(1, 4)].tolist()
    request, _ = ask(rows=["area"], columns=names)
    section = SPARSE[kind][0]
    inside = (slice(-1),) * len(names)
    lengths = (5, *(length - 1 for length in noisy(request, 1).noisy.shape[1:]))
    table = noisy(request, rng.poisson(mean, lengths) - int(rng.random() < 0.3))
    (rule,) = rules({"kind": kind, **section})
    found = rule.withholds(slices_of(table, dataset))
    for area in range(len(found)):
        expected = slow(kind, section, table.noisy[area][inside], ~table.impossible[area][inside])
        assert found[area] == expected
