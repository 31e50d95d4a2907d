"""Withheld areas become withheld cells, and no filter, group or layout shows what the whole table withholds.

Areas that a filter names are listed, and their total is called the sum of the areas shown, in every face.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.conftest import first_refusal

import discreet
from discreet.errors import BadRequest, Refused, TableNotReleased, TooManyCells
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.hierarchy import ancestors_or_self, finer
from discreet.model.request import TableRequest, canonical
from discreet.model.shape import table_shape
from discreet.rules.noisy_table import NoisyTable
from discreet.rules.rule_set import parse_rules
from discreet.rules.suppression import LABEL, NOTE, lay_out, layout_for, list_areas
from discreet.rules.verdict import needs_table, rule_table, rule_table_shape, verdict_of

ZEROS = {"kind": "share-of-zeros", "most": 0.5}

ONES = {"kind": "share-of-ones", "most": 0.4}

GEOGRAPHIES = ["region", "area"]

OTHERS = ["sex", "age", "job"]


@st.composite
def requests(draw, dataset):
    """Any canonical request of the town without free groups of areas."""
    shown = draw(st.lists(st.sampled_from(GEOGRAPHIES + OTHERS), min_size=1, max_size=3, unique=True))
    filtered = draw(st.lists(st.sampled_from(GEOGRAPHIES + OTHERS), max_size=2, unique=True))
    filters = tuple(
        (name, tuple(draw(st.lists(st.sampled_from(dataset.variable(name).codes), min_size=1, unique=True))))
        for name in filtered
    )
    cut = draw(st.integers(0, len(shown)))
    levels = draw(st.sampled_from([(), ("region",), ("region", "area")])) if "area" in shown else ()
    request = TableRequest(
        "town", tuple(shown[:cut]), tuple(shown[cut:]), (), filters, (), draw(st.booleans())
    )
    return canonical(replace(request, levels=(("area", levels),) if levels else ()), dataset)


def areas_of_cells(request, shape, dataset):
    """For each cell, the set of areas (or regions, if no area is used) whose people it counts: the slow way."""
    finest = "area" if "area" in request.used else "region" if "region" in request.used else None
    if finest is None:
        return None
    everything = set(range(len(dataset.variable(finest))))

    def spread(name, members):
        if name not in GEOGRAPHIES:
            return everything
        owner = ancestors_or_self(dataset, finest, name)
        return {area for area in everything if owner[area] in members}

    kept = set(everything)
    for hidden in shape.filters:
        kept &= spread(hidden.name, hidden.members)
    cells = {}
    for place in itertools.product(*map(range, shape.lengths)):
        inside = set(kept)
        for dimension, number in zip(shape.dimensions, place, strict=True):
            inside &= spread(dimension.name, dimension.members()[number])
        cells[place] = inside
    return cells


@pytest.mark.slow
@settings(max_examples=150)
@given(data=st.data(), seed=st.integers(1, 10**6), mean=st.sampled_from([0.7, 1.2]))
def test_withheld_cells_agree_with_the_slow_definition(data, seed, mean, dataset, noisy, rules):
    request = data.draw(requests(dataset))
    shape = table_shape(request, dataset)
    lengths = [len(dimension.base) for dimension in rule_table_shape(request, dataset).dimensions]
    table = noisy(request, np.random.default_rng(seed).poisson(mean, lengths))
    verdict = verdict_of(rules(ZEROS, ONES), table, dataset)
    layout = lay_out(verdict, shape, dataset)
    withheld, added = layout.withheld, layout.added
    cells = areas_of_cells(request, shape, dataset)
    known = {frozenset(m): number for place in verdict.places for number, m in enumerate(place.members())}
    finest = "area" if "area" in request.used else "region"
    shows = finest in request.variables and dict(request.levels).get(finest, (finest,))[-1] == finest
    for place in itertools.product(*map(range, shape.lengths)):
        if verdict.table_error is not None:
            assert withheld[place]
        elif cells is None:
            assert not withheld[place]
        else:
            inside = cells[place]
            own = known.get(frozenset(inside))
            touched = [number for members, number in known.items() if len(members) == 1 and members <= inside]
            if own is not None or not inside:
                assert (withheld[place], added[place]) == (bool(inside) and verdict.mask[own], False)
            elif shows:  # the areas are listed: what is shown is added up
                assert (withheld[place], added[place]) == (all(verdict.mask[touched]), True)
            else:
                assert (withheld[place], added[place]) == (any(verdict.mask[touched]), False)


@pytest.mark.slow
@settings(max_examples=100)
@given(data=st.data(), seed=st.integers(1, 10**6))
def test_a_filter_a_group_and_the_layout_do_not_change_the_verdict(data, seed, dataset, noisy, rules):
    request = data.draw(requests(dataset))
    whole = rule_table(request, dataset)
    plain = TableRequest("town", rows=tuple(sorted(finest_of(request, dataset))), levels=whole.levels)
    assert rule_table(canonical(plain, dataset), dataset) == whole
    assert rule_table(whole, dataset) == whole
    verdicts = [
        verdict_of(rules(ZEROS, ONES), noisy(asked, seed), dataset)
        for asked in (request, canonical(plain, dataset))
    ]
    assert verdicts[0].as_json() == verdicts[1].as_json()
    assert np.array_equal(verdicts[0].mask, verdicts[1].mask)


def finest_of(request, dataset):
    return {name for name in request.used if not finer(dataset, name) & request.used}


@settings(max_examples=60)
@given(seed=st.integers(1, 10**6), area=st.integers(0, 4), count=st.integers(-2, 5))
def test_what_the_rules_withhold_follows_from_an_area_s_own_noisy_counts_alone(
    seed, area, count, ask, dataset, noisy, rules, by_rule
):
    request, _ = ask(rows=["area"], columns=["sex", "age"])
    interior = np.random.default_rng(seed).poisson(1, (5, 2, 3))
    changed = interior.copy()
    changed[area] = count
    one, other = (
        verdict_of(rules(ZEROS, ONES), noisy(request, cells), dataset) for cells in (interior, changed)
    )
    same = [place for place in range(5) if place != area]
    before, after = np.array(by_rule(one)), np.array(by_rule(other))
    assert np.array_equal(before[same], after[same])
    order = np.random.default_rng(seed).permutation(5)
    moved = verdict_of(rules(ZEROS, ONES), noisy(request, interior[order]), dataset)
    assert np.array_equal(np.array(by_rule(moved))[:5], before[:5][order])


@pytest.fixture(scope="module")
def north_withheld(ask, noisy, rules, dataset):
    """Area by sex by age in which N2 is too sparse, and N1 is withheld with it, for any request on these variables."""
    request, _ = ask(rows=["area"], columns=["sex", "age"])
    interior = np.full((5, 2, 3), 9)
    interior[1] = [[9, 0, 0], [0, 0, 9]]
    return verdict_of(rules(ZEROS), noisy(request, interior), dataset)


def shown(verdict, asked, dataset):
    return ~lay_out(verdict, asked[1], dataset).withheld


def test_a_withheld_area_has_no_cells_and_the_total_over_all_areas_stays(north_withheld, ask, dataset):
    asked = ask(rows=["area"], columns=["sex"], layers=["age"])
    released = shown(north_withheld, asked, dataset)
    assert not released[[0, 1]].any()
    assert released[[2, 3, 4, 5]].all()


def test_the_total_of_a_filter_to_a_withheld_area_has_no_cells(north_withheld, ask, dataset):
    asked = ask(rows=["area"], columns=["sex", "age"], filters=["area=N2"])
    assert not shown(north_withheld, asked, dataset).any()
    with pytest.raises(TableNotReleased, match="None of the areas") as raised:
        layout_for(north_withheld, asked[1], dataset, "independent")
    assert "region" in raised.value.advice


def test_a_union_is_the_sum_of_the_areas_shown_and_never_a_count(north_withheld, ask, dataset):
    asked = ask(rows=["area"], columns=["sex"], filters=["area=N1,N2,S1,S2", "age=old"])
    layout = lay_out(north_withheld, asked[1], dataset)
    assert layout.withheld[:, 0].tolist() == [True, True, False, False, False]
    assert layout.added[:, 0].tolist() == [False] * 4 + [True]
    counted = np.arange(15).reshape(5, 3) + 100  # a wrong answer would keep 112, the count of the union
    assert layout.add_shown(counted)[-1].tolist() == (counted[2] + counted[3]).tolist()
    whole = ask(rows=["area"], columns=["sex"], filters=["area=N1,N2", "age=old"])
    assert not lay_out(
        north_withheld, whole[1], dataset
    ).added.any()  # all of the north is declared: its region
    hidden = ask(rows=["sex"], columns=["age"], filters=["area=N2,S1"])
    assert not shown(north_withheld, hidden, dataset).any()


def test_where_totals_are_sums_they_are_withheld_with_the_area_and_none_is_fitted_to_a_choice(
    north_withheld, ask, dataset
):
    _, shape = ask(rows=["area"], columns=["sex"], layers=["age"])
    assert not lay_out(north_withheld, shape, dataset).withheld[5].any()
    assert lay_out(north_withheld, shape, dataset, sums=True).withheld[5].all()
    _, one = ask(rows=["area"], columns=["sex"], filters=["area=S1,S2", "age=old"])
    assert not lay_out(north_withheld, one, dataset, sums=True).withheld.any()
    with pytest.raises(TableNotReleased, match="A total of chosen areas is not published"):
        layout_for(north_withheld, one, dataset, "fitted")


MIXED = {"rows": ["area"], "columns": ["sex", "age"], "levels": ["area=region,area"]}


def test_each_level_in_one_table_gets_the_verdict_of_its_own_areas(ask, noisy, rules, dataset):
    request, _ = ask(**MIXED)
    empty = np.zeros((5, 2, 3), dtype=int)
    verdict = verdict_of(rules({**ZEROS, "level": "area"}), noisy(request, empty), dataset)
    assert verdict.mask.tolist() == [False, True, True, False, True, True, True, False]
    sparse = np.array([[[9] * 3] * 2, [[9, 0, 0], [0, 0, 9]], *[[[9] * 3] * 2] * 3])
    parts = {**MIXED, "levels": ["area=region"]}
    request, shape = ask(**parts)
    verdict = verdict_of(rules(ZEROS, ONES), noisy(request, sparse), dataset)
    assert (verdict.withheld, verdict.total) == (0, 2)
    assert not lay_out(verdict, shape, dataset).withheld.any()
    at_area = rules({"kind": "max-variables", "most": 1, "level": "area"})
    assert first_refusal(request, shape, dataset, at_area) is None
    assert first_refusal(*ask(**parts, filters=["area=N1"]), dataset, at_area) is not None
    assert first_refusal(*ask(**MIXED), dataset, at_area) is not None


def test_of_a_variable_that_is_no_geography_the_finest_level_shown_is_crossed(ask, noisy, dataset):
    plain = TableRequest("town", rows=("job",))
    assert rule_table(ask(rows=["job"], levels=["job=work,job"])[0], dataset) == plain
    coarse, _ = ask(rows=["job"], levels=["job=work"])
    assert rule_table(coarse, dataset) == coarse
    assert noisy(coarse, 1).noisy.shape == (3,)
    assert rule_table(replace(coarse, filters=(("job", ("1", "2")),)), dataset) == plain


def test_a_verdict_of_another_geography_is_refused(ask, noisy, rules, dataset):
    verdict = verdict_of(rules(ZEROS), noisy(ask(rows=["sex"])[0], 3), dataset)
    with pytest.raises(ValueError, match="another table"):
        lay_out(verdict, ask(rows=["area"])[1], dataset)


def test_all_areas_are_withheld_where_the_table_without_geography_would_be(
    ask, noisy, rules, dataset, by_rule
):
    request, shape = ask(rows=["area"], columns=["job"])
    interior = np.zeros((5, 4), dtype=int)
    interior[:, 0] = 9
    dominated = rules({"kind": "marginal-dominance", "most": 0.9})
    interior[0, 1] = interior[1, 1] = 2
    verdict = verdict_of(dominated, noisy(request, interior), dataset)
    assert by_rule(verdict) == [False, False, True, True, True, True]
    assert lay_out(verdict, shape, dataset).withheld.all()  # the areas shown would add up to the total


def test_two_geographies_get_verdicts_on_their_intersections(town):
    """Slivers between geographies that do not nest are areas of their own."""
    dataset = parse_dataset(town.description + SCHOOLS)
    request = canonical(TableRequest("town", rows=("region", "school"), columns=("sex",)), dataset)
    shape = rule_table_shape(request, dataset)
    assert [d.name for d in shape.dimensions if d.geography] == ["region", "school"]
    counts = np.full((2, 2, 2), 9)
    counts[0, 1, :] = [0, 1]
    order = [d.name for d in shape.dimensions]
    counts = counts.transpose([["region", "school", "sex"].index(name) for name in order])
    for axis in range(3):
        counts = np.concatenate([counts, counts.sum(axis=axis, keepdims=True)], axis=axis)
    table = NoisyTable(shape, counts.astype(np.int64), np.zeros(counts.shape, dtype=bool))
    verdict = verdict_of(parse_rules([{"kind": "share-of-zeros", "most": 0.4}], dataset), table, dataset)
    assert verdict.by_rule.tolist() == [[False, True, False], [False] * 3, [False] * 3]
    # One intersection needs another in its row and in its column, and these need the fourth.
    assert (verdict.withheld, verdict.total) == (4, 4)
    assert not verdict.mask[-1].any()
    assert not verdict.mask[:, -1].any()
    filters = (("region", ("N",)), ("school", ("B",)))
    only = canonical(TableRequest("town", rows=("sex",), filters=filters), dataset)
    assert lay_out(verdict, table_shape(only, dataset), dataset).withheld.all()


SCHOOLS = """
[[variable]]
name = "school"
categories = ["A", "B"]

[[variable]]
name = "class"
categories = [{ code = "a", parent = "A" }, { code = "b", parent = "B" }]

[[hierarchy]]
name = "schools"
levels = ["school", "class"]
geography = true
"""


def test_a_table_too_large_for_the_rules_is_refused_however_small_the_part(town):
    small = parse_dataset(town.description.replace("max_variables = 3", "max_variables = 3\nmax_cells = 60"))
    filters = (("age", ("old",)), ("job", ("1",)))
    request = canonical(TableRequest("town", rows=("area",), filters=filters), small)
    assert table_shape(request, small).cells == 6
    with pytest.raises(TooManyCells, match="without its filters") as raised:
        rule_table_shape(request, small)
    assert isinstance(raised.value, Refused)


def test_no_table_is_made_where_no_rule_looks_at_one(ask, rules, dataset):
    declared = rules({**ZEROS, "level": "area", "from_variables": 2}, {"kind": "max-cells", "most": 9})
    wanted = {
        True: [
            {"rows": ["area"], "columns": ["sex", "age"]},
            {"rows": ["sex"], "filters": ["area=N1", "age=old"]},
        ],
        False: [{"rows": ["area"], "columns": ["sex"]}, {"rows": ["region"], "columns": ["sex", "age"]}],
    }
    for answer, questions in wanted.items():
        assert [needs_table(declared, ask(**parts)[0], dataset) for parts in questions] == [answer] * 2
    size = {"kind": "minimum-area-size", "variable": "area", "least": 50, "figures": {"N1": 10}}
    assert needs_table(rules(size), ask(rows=["area"])[0], dataset)
    assert not needs_table(rules(size), ask(rows=["region"])[0], dataset)


RULE = '[[rule]]\nkind = "mean-cell-size"\nleast = 20\nlevel = "area"\nfrom_variables = 2\n\n[protection]\n'


@pytest.fixture(scope="module")
def catalogue(town, tmp_path_factory):
    text = town.description.replace("[protection]\n", RULE, 1)
    return discreet.open(town.load(tmp_path_factory.mktemp("listed"), text).folder)


def test_a_hidden_filter_of_several_areas_becomes_rows(ask, dataset):
    for filters, rows in (
        (["area=N1,S1"], ("sex", "area")),
        (["area=N1"], ("sex",)),
        (["region=N"], ("sex",)),
    ):
        request, _ = ask(rows=["sex"], columns=["age"], filters=filters)
        assert list_areas(request, dataset).rows == rows


@pytest.mark.parametrize("shown", [True, False])
def test_the_union_is_never_counted(catalogue, shown):
    """The wrong answer is the noisy count of the union, which `rows=sex` without a rule's variables still gives."""
    rows = ["area", "sex"] if shown else ["sex"]
    table = catalogue.table("town", rows=rows, columns=["age"], filters={"area": ["N1", "S1", "S2"]})
    release = table.release
    names = [d.name for d in release.dimensions]
    frame = table.to_pandas()
    total = frame[(frame.area == "_T") & (frame.sex == "1") & (frame.age == "adult")].value.item()
    parts = frame[(frame.area != "_T") & (frame.sex == "1") & (frame.age == "adult")].value
    assert total == parts.dropna().sum()
    assert release.dimensions[names.index("area")].labels[-1] == LABEL
    assert NOTE in release.notes


def test_a_declared_region_keeps_its_count(catalogue):
    whole = catalogue.table("town", rows=["area", "sex"], columns=["age"], filters={"area": ["N1", "N2"]})
    region = catalogue.table("town", rows=["region", "sex"], columns=["age"])
    assert whole.release.dimensions[0].labels[-1] == "Total"
    assert whole.release.value("_T", "1", "adult") == region.release.value("N", "1", "adult")


def test_a_sum_has_no_interval_of_one_count_and_is_not_fitted(catalogue):
    table = catalogue.table("town", rows=["area", "sex"], columns=["age"], filters={"area": ["N1", "S1"]})
    with pytest.raises(BadRequest, match="sum of the areas shown"):
        table.interval("_T", "1", "adult")
    with pytest.raises(Refused, match="A total of chosen areas is not published"):
        catalogue.table(
            "town", rows=["area", "sex"], columns=["age"], filters={"area": ["S1", "S2"]}, additivity="fitted"
        )
