"""Additivity through the whole flow: what adds up, what stays, what is refused, and tables of a set that agree."""

import numpy as np
import pytest

import discreet
from discreet.errors import BadRequest, Refused, UnknownVariable
from discreet.model.request import TableRequest, canonical, request_from_text
from discreet.model.shape import table_shape
from discreet.release.anchors import anchor_cells, anchor_requests


@pytest.fixture(scope="module")
def catalogue(town_workspace):
    return discreet.open(town_workspace.folder)


REQUESTS = [
    {"rows": ["sex"], "columns": ["age"]},
    {"rows": ["area"], "columns": ["age", "job"]},
    {"rows": ["area"], "levels": {"area": ["region", "area"]}, "columns": ["sex"]},
    {"rows": ["age"], "filters": {"age": ["adult", "old"]}, "columns": ["job"]},
    {"rows": ["age"], "groups": {"age": [["child", "adult"], ["old"]]}},
]


def adds_up(release) -> bool:
    values = release.values
    for axis, dimension in enumerate(release.dimensions):
        parts: dict[int, list[int]] = {}
        for place, output in enumerate(dimension.outputs):
            parts.setdefault(output.parent, []).append(place)
        for whole, places in parts.items():
            at = len(dimension.outputs) if whole < 0 else whole
            if not np.array_equal(values.take(places, axis).sum(axis), values.take(at, axis)):
                return False
    return True


@pytest.mark.parametrize("parts", REQUESTS, ids=str)
def test_totals_are_the_sums_of_their_parts_at_every_level_and_the_unadjusted_cells_stay(catalogue, parts):
    ways = ("independent", "interior", "fitted")
    tables = [catalogue.table("town", additivity=way, **parts) for way in ways]
    independent, interior, fitted = (table.release for table in tables)
    assert independent.values.tolist() == np.maximum(independent.noisy, 0).tolist()
    assert not adds_up(independent) or len(independent.dimensions) == 1
    for release in (interior, fitted):
        assert adds_up(release)
        assert release.values.min() >= 0
        assert release.noisy.tolist() == independent.noisy.tolist()
    for table, said in zip(
        tables, ("separately", "sums of the adjusted", "value in another table"), strict=True
    ):
        assert said in table.note


def test_totals_that_leave_out_parts_cannot_add_up(catalogue):
    with pytest.raises(BadRequest, match="cannot add up"):
        catalogue.table("town", rows=["age"], groups={"age": [["child"]]}, additivity="fitted")
    with pytest.raises(BadRequest, match='Did you mean "fitted"'):
        catalogue.table("town", rows=["age"], additivity="fited")


def test_a_dataset_may_declare_its_own_way(town, tmp_path):
    workspace = town.load(
        tmp_path, town.description.replace("max_variables = 3", 'max_variables = 3\nadditivity = "fitted"')
    )
    release = discreet.open(workspace.folder).table("town", rows=["area"], columns=["age"]).release
    assert adds_up(release)
    assert release.request.permalink == "rows=area&columns=age"


SET = ["area", "sex*age", "age*job"]


def ask(catalogue, fit_to=SET, **parts):
    return catalogue.table("town", additivity="fitted", fit_to=fit_to, **parts).release


def test_tables_that_share_a_margin_agree_on_it_and_without_the_set_they_need_not(catalogue):
    def jobs(fit_to):
        found = [
            ask(catalogue, fit_to, rows=["job"], columns=[other]).values for other in ("age", "sex", "area")
        ]
        return [values[:, -1].tolist() for values in found]

    one, two, three = jobs(SET)
    assert one == two == three
    one, two, three = jobs(["none"])
    assert not one == two == three  # the wrong way: each table fitted by itself


def test_a_finer_table_keeps_a_published_one_whole_and_still_adds_up(catalogue):
    published = ask(catalogue, rows=["sex"], columns=["age"])
    finer = ask(catalogue, rows=["sex"], columns=["age"], layers=["area"])
    assert (finer.values[:, :, -1] == published.values).all()
    assert (finer.values[:, :, :-1].sum(axis=2) == published.values).all()
    assert "cells equal those of the tables by area and sex x age and age x job" in finer.notes[1]


def test_groups_levels_and_filters_take_sums_of_published_cells(catalogue):
    area = ask(catalogue, rows=["area"]).values
    region = ask(catalogue, rows=["region"]).values
    assert region.tolist() == [area[:2].sum(), area[2:5].sum(), area[-1]]
    age = ask(catalogue, rows=["age"]).values
    grouped = ask(catalogue, rows=["age"], groups={"age": [["child", "old"], ["adult"]]}).values
    assert grouped[0] == age[0] + age[2]
    nested = ask(catalogue, rows=["area"], levels={"area": ["region", "area"]}).values
    assert nested.tolist() == [region[0], *area[:2], region[1], *area[2:5], area[-1]]
    old = ask(catalogue, rows=["sex"], filters={"age": ["old"]}).values
    assert old[:-1].sum() == old[-1]
    assert (old == ask(catalogue, rows=["sex"], columns=["age"]).values[:, 2]).all()


def test_a_filter_on_a_variable_that_is_not_published_leaves_nothing_to_keep(town_workspace, catalogue):
    stored = town_workspace.stored("town")
    asked = canonical(request_from_text("town", rows=["area"], filters=["sex=1"]), stored.dataset)
    published = [ask(catalogue, ["none"], rows=["area"])]
    shape = table_shape(asked, stored.dataset)
    values = np.zeros(shape.lengths, dtype=np.int64)
    assert not anchor_cells(shape, stored.dataset, published, values, values > 0).where.any()


def test_a_published_table_is_fitted_to_those_before_it_only(town_workspace):
    dataset = town_workspace.stored("town").dataset
    asked = canonical(TableRequest("town", ("job", "age"), additivity="fitted", fit_to=tuple(SET)), dataset)
    assert asked.fit_to == ("area", "sex*age", "age*job")
    assert [each.rows for each in anchor_requests(asked, dataset)] == [("area",), ("sex", "age")]


def test_a_wrong_set_is_refused_with_what_to_do(catalogue):
    with pytest.raises(BadRequest, match="for tables that are fitted"):
        catalogue.table("town", rows=["sex"], fit_to=["sex"])
    with pytest.raises(UnknownVariable, match='no variable "sexx"'):
        ask(catalogue, ["sexx*age"], rows=["sex"])
    with pytest.raises(BadRequest, match="Name each of its variables once"):
        ask(catalogue, ["sex*sex"], rows=["sex"])


def test_a_dataset_may_declare_the_set_and_a_reader_may_leave_it_out(town, tmp_path):
    text = town.description.replace(
        "max_variables = 3", 'max_variables = 3\nadditivity = "fitted"\nfit_to = ["sex*age"]'
    )
    catalogue = discreet.open(town.load(tmp_path, text).folder)
    own = catalogue.table("town", rows=["age"]).release
    assert own.request.permalink == "rows=age"
    published = catalogue.table("town", rows=["sex"], columns=["age"]).release
    assert (own.values == published.values[-1]).all()
    assert (
        catalogue.table("town", rows=["age"], fit_to=["none"]).release.request.permalink
        == "rows=age&fit_to=none"
    )


def test_a_published_table_that_the_rules_refuse_is_not_read_for_another(town, tmp_path):
    rule = '\n[[rule]]\nkind = "forbidden-combination"\nvariables = ["sex", "job"]\n'
    catalogue = discreet.open(town.load(tmp_path, town.description + rule).folder)
    with pytest.raises(Refused):
        catalogue.table("town", rows=["sex"], additivity="fitted", fit_to=["sex*job"])
    dry = catalogue.dry_run("town", rows=["sex"], additivity="fitted", fit_to=["sex*job"])
    assert not dry["allowed"]
    assert catalogue.table("town", rows=["sex"], additivity="fitted", fit_to=["sex*age"]).release.cells == 3
