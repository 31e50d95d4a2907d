"""CSV with PxWeb's parameters.

The numbers of a selection: those of the whole table, in every format.
"""

import csv
import io
import json

import pytest
from jsonstat_validator import validate_jsonstat
from pyjstat import pyjstat
from starlette.testclient import TestClient

from discreet.errors import BadRequest
from discreet.formats import format_by_name
from discreet.model.release import subset_release
from discreet.model.request import request_from_text
from discreet.web.pxweb.output import Csv, read_csv

from .test_documents import TOP


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
