"""The table list, metadata, code lists and types of PxWebApi."""

import datetime as dt
import re
from dataclasses import replace

import pytest
from jsonstat_validator import validate_jsonstat
from tests.web.api.test_openapi import EXAMPLES
from tests.web.api.test_schemas import assert_as_described

from discreet.formats import formats
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.variable import Category, Variable
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.pxweb import table_list as tables
from discreet.web.pxweb.metadata import (
    code_lists,
    contents_name,
    contents_of,
    describe_dimensions,
    dimension_of,
    metadata_document,
)
from discreet.web.pxweb.output import FORMATS
from discreet.web.pxweb.routes import pxweb_router
from discreet.web.release_cache import ReleaseCache
from discreet.workspace.options import read_options


def test_a_survey_has_its_measures_and_their_errors(px_doors):
    codes = [content.code for content in contents_of(px_doors.door("survey").dataset)]
    assert codes == ["count", "weighted", "weighted_relative_standard_error", "weighted_noise_share"]
    assert [content.code for content in contents_of(px_doors.door("town").dataset)] == ["count"]


def test_the_name_is_no_variable_of_the_dataset(px_doors):
    dataset = px_doors.door("town").dataset
    own = Variable("contentscode", "Contents", (Category("1", "One"),))
    assert contents_name(dataset) == "ContentsCode"
    assert contents_name(replace(dataset, variables=(*dataset.variables, own))) == "ContentsCode_"


def test_errors_are_the_numbers_that_our_own_json_has(px, px_app):
    """Wrong alternative: the values once more, under the name of their errors."""
    data = px("/tables/survey/data?valuecodes[sex]=*&valuecodes[ContentsCode]=weighted*")
    own = px.client.get("/api/datasets/survey/table?rows=sex&measure=weighted").json()
    assert data["size"] == [3, 3]
    assert data["value"][0::3] == own["value"]
    assert data["value"][1::3] == own["extension"]["relative_standard_error"]
    assert data["value"][2::3] == own["extension"]["noise_share"]


@pytest.fixture
def dataset(town):
    return parse_dataset(town.description)


def test_every_level_is_a_code_list(dataset):
    assert [(each.id, each.type, each.levels) for each in code_lists(dataset, "area")] == [
        ("vs_town_area", "Valueset", ()),
        ("agg_town_area.region", "Aggregation", ("region",)),
        ("vs_town_area.region-area", "Valueset", ("region", "area")),
    ]
    assert [each.id for each in code_lists(dataset, "age")] == ["vs_town_age", "agg_town_age.grown"]
    assert code_lists(dataset, "sex") == []


@pytest.mark.slow
def test_a_document_maps_every_value_to_categories(px):
    grown = px("/codelists/agg_town_age.grown")
    assert [(value["code"], value["valueMap"]) for value in grown["values"]] == [
        ("grown", ["adult", "old"]),
        ("_T", ["child", "adult", "old"]),
    ]
    assert grown["type"] == "Aggregation"


def test_values_are_those_that_the_data_have(px):
    """Wrong alternative: values of the level alone, of which the total that the data have is none."""
    for variable, name in (
        ("area", "agg_town_area.region"),
        ("area", "vs_town_area.region-area"),
        ("job", "agg_town_job.work"),
    ):
        listed = [value["code"] for value in px(f"/codelists/{name}")["values"]]
        data = px(f"/tables/town/data?valuecodes[{variable}]=*&codelist[{variable}]={name}")
        assert list(data["dimension"][variable]["category"]["index"]) == listed


def test_ids_are_found_in_any_case_and_unknown_ones_are_not_found(px):
    assert px("/codeLists/AGG_Town_area.region")["id"] == "agg_town_area.region"
    assert px.refusal("/codelists/agg_town_sex")[:2] == (404, "not-found")


#: What PxWebApi's own schema allows at the top.
TOP = {
    "version",
    "class",
    "href",
    "label",
    "source",
    "updated",
    "link",
    "note",
    "role",
    "id",
    "size",
    "dimension",
    "extension",
    "value",
    "status",
}


def test_every_variable_can_be_eliminated_and_nothing_may_be_added_up(px):
    document = px("/tables/town/metadata?outputFormat=json-stat2&defaultSelection=False")
    assert set(document) <= TOP
    assert document["id"] == ["region", "area", "sex", "age", "job", "ContentsCode"]
    assert document["extension"]["px"]["aggregallowed"] is False
    assert document["extension"]["noteMandatory"] == {"0": True}
    assert "randomly adjusted" in document["note"][0]
    assert document["role"] == {"geo": ["region", "area"], "metric": ["ContentsCode"]}
    for name, dimension in document["dimension"].items():
        if name != "ContentsCode":
            assert dimension["extension"]["elimination"] is True
            assert dimension["extension"]["eliminationValueCode"] in dimension["category"]["index"]
        assert dimension["extension"]["codelists"] == dimension["extension"]["codeLists"]
    validate_jsonstat(document)


def test_a_code_list_shows_what_lies_within_what(px):
    document = px("/tables/town/metadata?codelist[AREA]=vs_town_area.region-area")
    assert document["dimension"]["area"]["category"]["child"] == {"N": ["N1", "N2"], "S": ["S1", "S2", "S3"]}


def test_metadata_of_a_selection_has_what_its_data_have(px):
    default, data = px("/tables/town/metadata?defaultSelection=true"), px("/tables/town/data")
    assert default["dimension"] == data["dimension"]
    body = {
        "tableId": "town",
        "selection": {"selection": [{"variableCode": "age", "valueCodes": ["BOTTOM(2)"]}]},
    }
    query = px("/savedqueries", body)["id"]
    assert (
        px(f"/tables/town/metadata?savedQuery={query}")["dimension"]
        == px(f"/savedqueries/{query}/data")["dimension"]
    )


def test_labels_of_dimensions_are_all_different(px_doors):
    """pxwebpy builds its rows by label. Wrong alternative: labels as they are, of which one would be lost."""
    door = px_doors.door("town")
    dataset = door.dataset
    dimensions = [
        replace(dimension_of(door, "sex"), label="Value"),
        replace(dimension_of(door, "age"), label="contents"),
        replace(dimension_of(door, "job"), label="Value"),
    ]
    described = describe_dimensions(dataset, dimensions, contents_of(dataset), "")
    labels = [each["label"].casefold() for each in described.values()]
    assert len({*labels, "value"}) == len(labels) + 1
    assert metadata_document(door, dimensions, contents_of(dataset), "")["size"] == [3, 4, 5, 1]


class MuchLater(dt.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + dt.timedelta(days=3)


def test_config_tells_the_limits_that_hold_and_the_formats_that_are_served(px):
    config = px("/config")
    assert config["apiVersion"] == "2.0.0"
    assert (config["maxDataCells"], config["maxCallsPerTimeWindow"], config["timeWindow"]) == (
        100_000,
        10_000,
        10,
    )
    assert config["dataFormats"] == list(FORMATS)
    assert {FORMATS[name] for name in config["dataFormats"]} <= {form.name for form in formats()}
    for name in config["dataFormats"]:
        assert px.get(f"/tables/town/data?outputFormat={name}").status_code == 200
    assert px.refusal("/tables/town/data?outputFormat=json-px")[0] == 400


def test_the_licence_is_that_of_the_workspace(px_workspace):
    options = read_options(px_workspace.folder, licence="https://example.org/licence")
    assert tables.config_document(options, [])["license"] == "https://example.org/licence"


def test_every_dataset_is_a_table(px):
    listed = px("/tables?lang=en")
    assert [table["id"] for table in listed["tables"]] == ["survey", "town"]
    assert listed["page"]["totalElements"] == 2
    town = px("/tables/town")
    assert town["language"] == "en"
    assert {"id", "label", "updated", "firstPeriod", "lastPeriod", "variableNames", "links"} <= set(town)
    assert {link["rel"] for link in town["links"]} == {"self", "metadata", "data"}


def test_pages_hold_every_table_once(px):
    pages = [px(f"/tables?pageSize=1&pageNumber={number}") for number in (1, 2)]
    assert [table["id"] for page in pages for table in page["tables"]] == ["survey", "town"]
    assert [[link["rel"] for link in page["page"]["links"]] for page in pages] == [["next"], ["previous"]]
    assert px.refusal("/tables?pageSize=1&pageNumber=3")[:2] == (404, "not-found")


def test_a_search_finds_tables_by_every_word(px):
    assert [table["id"] for table in px("/tables?query=TOWN survey")["tables"]] == ["survey"]
    assert [table["id"] for table in px("/tables?query=sex")["tables"]] == ["survey", "town"]
    assert px("/tables?query=rain")["page"] == {
        "pageNumber": 1,
        "pageSize": 20,
        "totalElements": 0,
        "totalPages": 1,
        "links": [],
    }


def test_a_table_was_updated_when_it_was_loaded(px, monkeypatch):
    loaded = px("/tables/town")["updated"]
    assert [table["updated"] for table in px("/tables?pastDays=1")["tables"]][-1] == loaded
    monkeypatch.setattr(tables, "datetime", MuchLater)
    assert px("/tables?pastDays=1")["page"]["totalElements"] == 0


@pytest.mark.parametrize(
    "text", ["pageSize=0", "pageSize=x", "pageNumber=-1", "pageSize=100000", "pastDays=0", "pastDays=x"]
)
def test_numbers_are_checked(px, text):
    assert px.refusal(f"/tables?{text}")[0] == 400


@pytest.fixture
def described(client):
    return client.get("/openapi.json").json()


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("/config", ""),
        ("/tables", ""),
        ("/tables/{table_id}", ""),
        ("/tables/{table_id}/metadata", ""),
        ("/tables/{table_id}/data", "?valueCodes[sex]=*"),
        ("/tables/{table_id}/defaultselection", ""),
        ("/codelists/{list_id}", ""),
        ("/savedqueries/{query_id}", ""),
        ("/savedqueries/{query_id}/data", ""),
        ("/savedqueries/{query_id}/selection", ""),
    ],
)
def test_answers_of_pxweb_are_as_described(client, described, path, query):
    answer = client.get("/api/pxweb/v2" + re.sub("{.*?}", lambda name: EXAMPLES[name[0]], path) + query)
    assert answer.status_code == 200
    assert_as_described(described, "/api/pxweb/v2" + path, answer.json())


def test_every_address_is_described(described, small_workspace, small_settings):
    router = pxweb_router(
        DatasetRegistry(small_workspace), small_settings, lambda _address: None, ReleaseCache()
    )
    served = {route.path.replace(":path", "") for route in router.routes}
    assert served == {path for path in described["paths"] if path.startswith(router.prefix)}
    assert len(served) >= 7


def test_every_parameter_that_is_described_is_read(client, described):
    """Wrong alternative: a name in the description that the server refuses as unknown."""
    for path, operations in described["paths"].items():
        for name in (p for p in operations.get("get", {}).get("parameters", []) if p["in"] == "query"):
            if path.startswith("/api/pxweb/v2/tables"):
                word = f"{name['name']}[sex]" if name.get("style") == "deepObject" else name["name"]
                answer = client.get(f"{path.replace('{table_id}', 'people')}?{word}=")
                assert "There is no parameter" not in answer.text, (path, word)
