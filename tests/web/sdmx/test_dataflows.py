"""Dataflows by name: datasets whose ids begin alike, variables that there are, and versions.

The key: codes by position, all where a position is empty, and the variables of the table.

Data: the question of a key, the format that a client wants, and advice where a rule refuses.
"""

import csv
import io
import json

import pytest

from discreet.errors import BadRequest, NotFound, TooManyVariables, UnknownCategory
from discreet.model.sdmx import flow_of
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.sdmx.dataflows import (
    check_version,
    choose_data_format,
    dataset_of,
    document,
    find_flow,
    open_flow,
    parse_data_query,
    parse_key,
    table_variables,
    whole_flows,
)
from discreet.workspace.demo import spudlandia_batches, spudlandia_description
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace


@pytest.fixture
def town_door(town_workspace):
    return DatasetRegistry(town_workspace).door("town")


def test_the_longest_dataset_id_is_meant():
    """Wrong alternative: the first that fits, for which `census-dp` is a variable `dp` of `census`."""
    ids = ["census", "census-dp", "cen"]
    names = ["census", "census-sex", "census-dp", "census-dp-sex-age"]
    assert [dataset_of(ids, name) for name in names] == ["census", "census", "census-dp", "census-dp"]
    for name in ("censuses", "sex-census", "", "-", "cens"):
        with pytest.raises(NotFound):
            dataset_of(ids, name)


def test_a_table_has_its_variables_in_the_order_of_its_name(town_door):
    found = find_flow(town_door, "town-sex-age")
    assert found.flow.dimensions == ("sex", "age")
    assert not found.is_whole
    assert find_flow(town_door, "town").is_whole


@pytest.mark.parametrize(
    ("name", "said"), [("town-sexx", '"sex"'), ("town-sex-sex", "once"), ("town-sex-", "variable")]
)
def test_a_table_that_there_is_not_is_not_found(town_door, name, said):
    with pytest.raises(NotFound, match=said):
        find_flow(town_door, name)


@pytest.mark.parametrize(
    "reference", ["people-sex", "ANY,people-sex", "ANY,people-sex,7.0.0", "A,people-sex,latest"]
)
def test_a_reference_may_name_agency_and_version(small_workspace, reference):
    door, found = open_flow(DatasetRegistry(small_workspace), reference)
    assert (door.dataset.id, found.flow.reference) == ("people", "DISCREET:people-sex(7.0.0)")


def test_another_version_is_not_found():
    check_version("7.0.0", "+")
    with pytest.raises(NotFound, match=r"7\.0\.0"):
        check_version("7.0.0", "6.0.0")


def test_a_survey_has_a_dataflow_for_each_measure(tmp_path):
    """Wrong alternative: counts alone, and no sampling error ever reaches a client of SDMX."""
    load_dataset(tmp_path, spudlandia_description(), spudlandia_batches())
    door = DatasetRegistry(Workspace(tmp_path)).door("spudlandia")
    assert [each.flow.id for each in whole_flows(door)] == ["spudlandia", "spudlandia-weighted"]
    found = find_flow(door, "spudlandia-weighted-age")
    assert (found.flow.dimensions, found.measure.name, found.is_whole) == (("age",), "weighted", False)
    assert found.label.endswith(": Persons represented: Age in years")
    query = parse_data_query(door, found, "all")
    release = door.answer(query.checked)
    assert flow_of(release) == found.flow
    observation = json.loads(b"".join(document(release, query, choose_data_format(""))))["dataSets"][0][
        "observations"
    ]["0"]
    assert observation[0] == release.values[0]
    assert len(observation) == 6, "status, confidentiality, and errors in their places"


@pytest.fixture
def people(small_workspace):
    return lambda name: find_flow(DatasetRegistry(small_workspace).door("people"), name)


def test_an_empty_position_means_all_and_a_plus_joins(people):
    flow = people("people-sex-age-region")
    assert parse_key(flow, "2+1..R1") == {"sex": ("1", "2"), "region": ("R1",)}
    assert parse_key(flow, "*._T+65$2B.") == {"age": ("65+", "_T")}
    assert parse_key(flow, "all") == parse_key(flow, "..") == {}


@pytest.mark.parametrize(
    ("key", "error", "said"),
    [
        ("1", BadRequest, "sex.age"),
        ("1..", BadRequest, "2 dimensions"),
        ("3.", UnknownCategory, '"sex" has no code "3"'),
        (".65+", UnknownCategory, '"age" has no code ""'),
        ("1+.", UnknownCategory, "sex"),
    ],
)
def test_a_key_that_does_not_fit_is_refused(people, key, error, said):
    with pytest.raises(error, match=said):
        parse_key(people("people-sex-age"), key)


def test_in_the_dataflow_of_a_dataset_totals_are_no_variables(people):
    whole = people("people")
    assert table_variables(whole, parse_key(whole, "_T._T.1+_T.._T._T")) == ("sex", "age")
    assert table_variables(whole, parse_key(whole, "_T._T._T._T._T._T")) == ("region",)
    assert len(table_variables(whole, {})) == 6


def test_a_table_keeps_its_variables_so_that_slices_agree(people):
    """Wrong alternative: `_T` leaves a variable out of a named table too, and a fitted total then differs by slice."""
    table = people("people-sex-age")
    assert table_variables(table, parse_key(table, "_T.65$2B")) == ("sex", "age")


@pytest.mark.parametrize(
    ("accept", "name"),
    [
        ("", "sdmx-json"),
        ("*/*", "sdmx-json"),
        ("application/vnd.sdmx.data+csv;version=2.0.0", "sdmx-csv"),
        ("text/csv", "sdmx-csv"),
        ("application/json;q=0.5, text/csv;q=0.4", "sdmx-json"),
        ("application/json;q=0.5, text/csv", "sdmx-csv"),
        ("text/csv;q=0, */*;q=0.1", "sdmx-json"),
        ("application/vnd.sdmx.structurespecificdata+xml;version=2.1", "sdmx-json"),
        ("text/csv;q=high", "sdmx-csv"),
    ],
)
def test_accept_chooses_the_format(accept, name):
    assert choose_data_format(accept).name == name


def test_a_key_shows_cells_of_the_whole_table(small_workspace):
    """Wrong alternative: a filter on sex, whose total counts men only."""
    doors = DatasetRegistry(small_workspace)
    door, flow = open_flow(doors, "people-sex-age")
    query = parse_data_query(door, flow, "1+_T.")
    whole = door.answer(query.checked)
    rows = list(
        csv.DictReader(io.StringIO(b"".join(document(whole, query, choose_data_format("text/csv"))).decode()))
    )
    assert {row["sex"] for row in rows} == {"1", "_T"}
    ages = {"65$2B": "65+"}
    for row in rows:
        assert int(row["OBS_VALUE"]) == whole.value(row["sex"], ages.get(row["age"], row["age"]))
    total = next(row for row in rows if row["sex"] == row["age"] == "_T")
    assert int(total["OBS_VALUE"]) > 500, "everybody, not men"


def test_a_refusal_says_what_to_write_in_sdmx(small_workspace):
    door, flow = open_flow(DatasetRegistry(small_workspace), "people")
    with pytest.raises(TooManyVariables) as refused:
        parse_data_query(door, flow, "..1...")
    assert "Write _T in the key" in refused.value.advice
    assert '"people-sex-age"' in refused.value.advice
