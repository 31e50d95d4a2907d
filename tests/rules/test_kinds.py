"""Small areas are refused alone and withheld among others, and a table with too many of them fails."""

import itertools
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.refusals import first_refusal

from discreet.errors import TableNotReleased
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import TableRequest, canonical
from discreet.rules.noisy_table import NoisyTable, slices_of
from discreet.rules.rule import kinds
from discreet.rules.rule_set import parse_rules
from discreet.rules.suppression import layout_for
from discreet.rules.verdict import rule_table_shape, verdict_of


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


def test_a_table_fails_when_more_than_a_share_of_its_areas_is_withheld(ask, noisy, rules, dataset):
    request, shape = ask(rows=["area"], columns=["sex", "age"])
    interior = np.full((5, 2, 3), 9)
    interior[:2] = [[9, 0, 0], [0, 0, 9]]
    zeros = {"kind": "share-of-zeros", "most": 0.5, "level": "area"}
    for most, fails in ((0.3, True), (0.4, False)):
        verdict = verdict_of(
            rules(zeros, {"kind": "blocked-areas", "most": most}), noisy(request, interior), dataset
        )
        assert (verdict.table_error is not None) is fails
        assert verdict.withheld == 2
    verdict = verdict_of(
        rules(zeros, {"kind": "blocked-areas", "most": 0.3}), noisy(request, interior), dataset
    )
    with pytest.raises(TableNotReleased, match=r"2 of 5 areas .* more than 30%"):
        layout_for(verdict, shape, dataset, "independent")


def test_minimum_area_size_withholds_small_areas_among_others(ask, noisy, rules, dataset, by_rule):
    request, _ = ask(rows=["area"])
    section = {"kind": "minimum-area-size", "variable": "area", "least": 100, "figures": {"N2": 80, "S3": 99}}
    verdict = verdict_of(rules(section), noisy(request, 1), dataset)
    assert by_rule(verdict) == [False, True, False, False, True, False]


def test_the_figures_of_a_union_are_added_up(ask, noisy, rules, dataset, by_rule):
    request, _ = ask(rows=["area"], levels=["area=region"])
    section = {"kind": "minimum-area-size", "variable": "area", "least": 100}
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
    assert finding.code == kind
    assert "1 of 2 areas" in finding.message
    assert finding.advice


@pytest.mark.parametrize("kind", SPARSE)
def test_a_table_without_geography_is_one_area(kind, ask, noisy, rules, dataset):
    request, shape = ask(rows=["sex"], columns=["age"])
    section, sparse = SPARSE[kind]
    declared = rules({"kind": kind, **section})
    failed = verdict_of(declared, noisy(request, sparse), dataset)
    assert (failed.passed, failed.withheld, failed.total) == (0, 1, 1)
    with pytest.raises(TableNotReleased, match="too sparse") as raised:
        layout_for(failed, shape, dataset, "independent")
    assert "In this table" in raised.value.message
    assert raised.value.advice
    passed = verdict_of(declared, noisy(request, DENSE), dataset)
    assert not layout_for(passed, shape, dataset, "independent").withheld.any()


def test_every_kind_on_counts_is_tested_here():
    looking = {kind.kind for kind in kinds().values() if kind.implements("withholds")}
    assert looking == {*SPARSE, "minimum-area-size"}


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
    zeros = {"kind": "share-of-zeros", "most": 0.5}
    empty = 0 * np.array(1)
    by_area, _ = ask(rows=["area"], columns=["sex"])
    by_region, _ = ask(rows=["region"], columns=["sex"])
    small = rules({**zeros, "level": "area"})
    verdict = verdict_of(small, noisy(by_area, empty), dataset)
    assert by_rule(verdict) == [True] * 5 + [False]  # the total is no small area
    assert verdict_of(small, noisy(by_region, empty), dataset).withheld == 0
    crossed = rules({**zeros, "from_variables": 2})
    assert verdict_of(crossed, noisy(by_area, empty), dataset).withheld == 0
    assert verdict_of(rules(zeros), noisy(by_area, empty), dataset).mask.all()


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
        largest = [
            max(cells.take(i, axis).sum() for i in range(cells.shape[axis]))
            for axis in range(cells.ndim)
            if cells.shape[axis] > 1
        ]
        return any(one > section["most"] * max(total, 0) for one in largest)
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
    section = dict(SPARSE[kind][0])
    table = noisy(
        request,
        rng.poisson(mean, (5, *noisy(request, 1).noisy.shape[1:])).astype(int)[
            (slice(None), *(slice(-1),) * len(names))
        ]
        - (rng.random() < 0.3),
    )
    (rule,) = rules({"kind": kind, **section})
    found = rule.withholds(slices_of(table, dataset))
    inside = tuple(slice(-1) for _ in names)
    for area in range(len(found)):
        expected = slow(kind, section, table.noisy[area][inside], ~table.impossible[area][inside])
        assert found[area] == expected
