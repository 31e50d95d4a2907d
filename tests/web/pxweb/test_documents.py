"""The table list, metadata, code lists and types of PxWebApi.

CSV with PxWeb's parameters.

The numbers of a selection: those of the whole table, in every format.
"""

import csv
import datetime as dt
import io
import json
from dataclasses import replace

import pytest
from jsonstat_validator import validate_jsonstat
from pyjstat import pyjstat
from starlette.testclient import TestClient

from discreet.errors import BadRequest
from discreet.formats import format_by_name, formats
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.release import subset_release
from discreet.model.request import request_from_text
from discreet.model.variable import Category, Variable
from discreet.web.pxweb import documents
from discreet.web.pxweb.metadata import (
    code_lists,
    contents_name,
    contents_of,
    describe_dimensions,
    dimension_of,
)
from discreet.web.pxweb.output import FORMATS, Csv, read_csv


def test_a_survey_has_its_measures_and_their_errors(px, px_registry):
    """Wrong alternative: the values once more, under the name of their errors."""
    codes = {
        name: [each.code for each in contents_of(px_registry.open(name).dataset)]
        for name in ("survey", "town")
    }
    assert codes["survey"] == [
        "count",
        "weighted",
        "weighted_relative_standard_error",
        "weighted_noise_share",
    ]
    assert codes["town"] == ["count"]
    data = px("/tables/survey/data?valuecodes[sex]=*&valuecodes[ContentsCode]=weighted*")
    own = px.client.get("/api/datasets/survey/table?rows=sex&measure=weighted").json()
    assert data["size"] == [3, 3]
    assert data["value"][0::3] == own["value"]
    assert data["value"][1::3] == own["extension"]["relative_standard_error"]
    assert data["value"][2::3] == own["extension"]["noise_share"]


def test_the_name_of_the_contents_is_no_variable_of_the_dataset(px_registry):
    dataset = px_registry.open("town").dataset
    own = Variable("contentscode", "Contents", (Category("1", "One"),))
    assert contents_name(dataset) == "ContentsCode"
    assert contents_name(replace(dataset, variables=(*dataset.variables, own))) == "ContentsCode_"


def test_every_level_is_a_code_list(town):
    dataset = parse_dataset(town.description)
    assert [(each.id, each.type, each.levels) for each in code_lists(dataset, "area")] == [
        ("vs_town_area", "Valueset", ()),
        ("agg_town_area.region", "Aggregation", ("region",)),
        ("vs_town_area.region-area", "Valueset", ("region", "area")),
    ]
    assert [each.id for each in code_lists(dataset, "age")] == ["vs_town_age", "agg_town_age.grown"]
    assert code_lists(dataset, "sex") == []


def test_a_code_list_has_the_values_of_the_data_with_their_categories(px):
    """Wrong alternative: values of the level alone, of which the total that the data have is none."""
    for variable, name in (
        ("area", "agg_town_area.region"),
        ("area", "vs_town_area.region-area"),
        ("job", "agg_town_job.work"),
    ):
        listed = [value["code"] for value in px(f"/codelists/{name}")["values"]]
        data = px(f"/tables/town/data?valuecodes[{variable}]=*&codelist[{variable}]={name}")
        assert list(data["dimension"][variable]["category"]["index"]) == listed
    grown = px("/codeLists/AGG_Town_age.grown")
    assert (grown["id"], grown["type"]) == ("agg_town_age.grown", "Aggregation")
    assert [(value["code"], value["valueMap"]) for value in grown["values"]] == [
        ("grown", ["adult", "old"]),
        ("_T", ["child", "adult", "old"]),
    ]
    assert px.refusal("/codelists/agg_town_sex")[:2] == (404, "not-found")
    document = px("/tables/town/metadata?codelist[AREA]=vs_town_area.region-area")
    assert document["dimension"]["area"]["category"]["child"] == {"N": ["N1", "N2"], "S": ["S1", "S2", "S3"]}


#: What PxWebApi's own schema allows at the top.
TOP = {
    "version", "class", "href", "label", "source", "updated", "link", "note", "role", "id", "size", "dimension",
    "extension", "value", "status"
}  # fmt: skip


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
    default, data = px("/tables/town/metadata?defaultSelection=true"), px("/tables/town/data")
    assert default["dimension"] == data["dimension"]


def test_labels_of_dimensions_are_all_different(px_registry):
    """pxwebpy builds its rows by label. Wrong alternative: labels as they are, of which one would be lost."""
    service = px_registry.open("town")
    labels = {"sex": "Value", "age": "contents", "job": "Value"}
    dimensions = [replace(dimension_of(service, name), label=label) for name, label in labels.items()]
    described = describe_dimensions(service.dataset, dimensions, contents_of(service.dataset), "")
    found = [each["label"].casefold() for each in described.values()]
    assert len({*found, "value"}) == len(found) + 1


def test_config_tells_the_limits_that_hold_and_the_formats_that_are_served(px):
    config = px("/config")
    assert config["apiVersion"] == "2.0.0"
    limits = (config["maxDataCells"], config["maxCallsPerTimeWindow"], config["timeWindow"])
    assert limits == (100_000, 10_000, 10)
    assert config["dataFormats"] == list(FORMATS)
    assert {FORMATS[name] for name in config["dataFormats"]} <= {form.name for form in formats()}
    for name in config["dataFormats"]:
        assert px.get(f"/tables/town/data?outputFormat={name}").status_code == 200
    assert px.refusal("/tables/town/data?outputFormat=json-px")[0] == 400


def test_every_dataset_is_a_table_on_one_page(px):
    town = px("/tables/town")
    assert town["language"] == "en"
    assert {"id", "label", "updated", "firstPeriod", "lastPeriod", "variableNames", "links"} <= set(town)
    assert {link["rel"] for link in town["links"]} == {"self", "metadata", "data"}
    pages = [px(f"/tables?lang=en&pageSize=1&pageNumber={number}") for number in (1, 2)]
    assert [table["id"] for page in pages for table in page["tables"]] == ["survey", "town"]
    assert [[link["rel"] for link in page["page"]["links"]] for page in pages] == [["next"], ["previous"]]
    assert px.refusal("/tables?pageSize=1&pageNumber=3")[:2] == (404, "not-found")


class MuchLater(dt.datetime):
    @classmethod
    def now(cls, tz=None):
        return super().now(tz) + dt.timedelta(days=3)


def test_a_search_finds_tables_by_every_word_and_by_when_they_were_loaded(px, monkeypatch):
    assert [table["id"] for table in px("/tables?query=TOWN survey")["tables"]] == ["survey"]
    assert [table["id"] for table in px("/tables?query=sex")["tables"]] == ["survey", "town"]
    nothing = {"pageNumber": 1, "pageSize": 20, "totalElements": 0, "totalPages": 1, "links": []}
    assert px("/tables?query=rain")["page"] == nothing
    assert [table["updated"] for table in px("/tables?pastDays=1")["tables"]][-1] == px("/tables/town")[
        "updated"
    ]
    monkeypatch.setattr(documents, "datetime", MuchLater)
    assert px("/tables?pastDays=1")["page"]["totalElements"] == 0


@pytest.mark.parametrize(
    "text",
    [
        "pageSize=0",
        "pageNumber=-1",
        "pageSize=100000",
        "pastDays=0",
        "pastDays=x",
        "pageSize=",
        "PAGESIZE=",
        "pageNumber=",
        "pastDays=",
    ],
)
def test_numbers_are_checked(px, text):
    assert px.refusal(f"/tables?{text}")[0] == 400


def rows(document, separator=","):
    return list(csv.reader(io.StringIO(document.decode()), delimiter=separator))


def test_codes_or_texts_alone_leave_the_numbers_as_they_are(town_release):
    assert read_csv([]).write(town_release) == format_by_name("csv").write(town_release)
    whole = rows(Csv().write(town_release))
    codes = rows(read_csv(["UseCodes", "SeparatorTab"]).write(town_release), "\t")
    texts = rows(read_csv(["UseTexts", "SeparatorSemicolon"]).write(town_release), ";")
    assert codes[0] == ["age", "job", "sex", "value", "status"]
    assert texts[0] == ["age_label", "job_label", "sex_label", "value", "status"]
    assert [line[-2:] for line in codes] == [line[-2:] for line in texts] == [line[-2:] for line in whole]
    assert texts[1][:3] == [whole[1][1], whole[1][3], whole[1][5]]
    assert rows(read_csv(["IncludeTitle"]).write(town_release))[0] == [town_release.title]


@pytest.mark.parametrize("words", [["UseCodes", "UseTexts"], ["SeparatorTab", "SeparatorSpace"]])
def test_what_contradicts_itself_is_refused(words):
    with pytest.raises(BadRequest, match="cannot be combined"):
        read_csv(words)


QUERY = "valuecodes[area]=N1,_T&valuecodes[sex]=*&valuecodes[age]=old,child"
WHOLE = "rows=area,sex&columns=age"


@pytest.fixture
def whole(px):
    """The whole table, by our own API: values by codes."""
    own = px.client.get(f"/api/datasets/town/table?{WHOLE}").json()
    codes = [list(own["dimension"][name]["category"]["index"]) for name in own["id"]]
    cells = [(a, s, g) for a in codes[0] for s in codes[1] for g in codes[2]]
    return dict(zip(cells, own["value"], strict=True))


def numbers(document):
    """The values by the codes of area, sex and age, whatever the order of the dimensions."""
    assert set(document) <= TOP
    validate_jsonstat(document)
    frame = pyjstat.Dataset.read(json.dumps(document)).write("dataframe", naming="id")
    records = frame.to_dict("records")
    return {tuple(line[name] for name in ("area", "sex", "age")): line["value"] for line in records}


def test_a_slice_has_the_cells_of_the_whole(px, whole):
    """Wrong alternative: a filter, whose totals count only who is selected."""
    found = numbers(px(f"/tables/town/data?{QUERY}"))
    assert set(found) == {(a, s, g) for a in ("N1", "_T") for s in ("1", "2", "_T") for g in ("child", "old")}
    assert found == {cell: whole[cell] for cell in found}
    filtered = px.client.get(f"/api/datasets/town/table?{WHOLE}&filter=area=N1").json()
    assert filtered["value"][-1] != whole["_T", "_T", "_T"]


@pytest.mark.parametrize("placement", ["&heading=area", "&stub=age,area&heading=ContentsCode,sex"])
def test_placement_moves_the_numbers_with_their_variables(px, whole, placement):
    document = px(f"/tables/town/data?{QUERY}{placement}")
    px_words = document["extension"]["px"]
    assert document["id"] == px_words["stub"] + px_words["heading"]
    found = numbers(document)
    assert found == {cell: whole[cell] for cell in found}


def test_several_contents_stand_beside_each_other(px):
    asked = "/tables/survey/data?valuecodes[age]=*&valuecodes[ContentsCode]=*&stub=ContentsCode"
    document = px(asked)
    assert document["id"] == ["ContentsCode", "age"]
    for place, measure in ((0, "count"), (1, "weighted")):
        own = px.client.get(f"/api/datasets/survey/table?rows=age&measure={measure}").json()
        assert document["value"][place * 4 : place * 4 + 4] == own["value"]
        told = document["extension"]["measures"][measure]["confidentiality"]
        assert told == own["extension"]["confidentiality"]
    assert px.refusal(f"{asked}&outputFormat=csv")[0] == 400
    assert px.get(f"{asked}&outputFormat=csv".replace("=*&stub", "=weighted*&stub")).status_code == 200


@pytest.mark.parametrize("name", ["csv", "px", "xlsx", "html", "parquet"])
def test_files_are_those_of_the_cut(px, px_registry, name):
    service, form = px_registry.open("town"), format_by_name(name)
    whole = service.release(request_from_text("town", rows=["sex"], columns=["age"]))
    response = px.get(f"/tables/town/data?valuecodes[sex]=1&valuecodes[age]=*&outputFormat={name}")
    assert response.content == form.write(subset_release(whole, {"sex": ["1"]}))
    assert response.headers["content-disposition"] == f'inline; filename="town.{form.extension}"'


def test_csv_takes_its_parameters(px):
    asked = "/tables/town/data?valuecodes[sex]=1&outputFormat=CSV&outputFormatParams="
    text = px.get(asked + "usetexts,SeparatorTab").text
    assert next(csv.reader(io.StringIO(text), delimiter="\t")) == ["sex_label", "value", "status"]
    assert px.refusal(asked + "UseColours")[0] == 400


def test_withheld_cells_are_null_with_their_status(px):
    document = px("/tables/town/data?valuecodes[age]=child&valuecodes[job]=1,0")
    assert document["value"][1] is None
    assert document["status"] == {"1": "z"}
    assert isinstance(document["value"][0], int)


def test_more_cells_than_one_call_gives_are_refused(px_app):
    client = TestClient(px_app(pxweb_cells=6))
    asked = "/api/pxweb/v2/tables/town/data?valuecodes[sex]={}&valuecodes[age]=old,child"
    assert client.get(asked.format("*")).status_code == 200
    refused = client.get(asked.format("*") + ",adult")
    assert (refused.status_code, refused.json()["title"]) == (403, "too-many-cells")


def test_hostile_codes_and_labels_stay_data(client):
    """Wrong alternatives: a code cut at its comma, and a label that becomes markup in the HTML file."""
    base = "/api/pxweb/v2/tables/hostile"
    codes = client.get(f"{base}/metadata").json()["dimension"]["bad"]["category"]["index"]
    whole = client.get("/api/datasets/hostile/table?rows=bad").json()["value"]
    for code, place in codes.items():
        asked = client.get(f"{base}/data", params={"valuecodes[bad]": f"[{code}]"}).json()
        body = {"selection": [{"variableCode": "bad", "valueCodes": [code]}]}
        assert asked == client.post(f"{base}/data", json=body).json()
        assert list(asked["dimension"]["bad"]["category"]["index"]) == [code]
        assert asked["value"] == [whole[place]]
    html = client.get(f"{base}/data?valuecodes[bad]=*&outputFormat=html").text
    assert "<script>" not in html
