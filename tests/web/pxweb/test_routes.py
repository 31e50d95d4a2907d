"""Paths in any case, bodies of a bounded size, problems in PxWeb's words.

What the routes share.

The addresses: GET and POST give the same, copies are not sent twice, saved queries have an address.

The addresses of what there is.
"""

import pytest
from starlette.testclient import TestClient

from discreet.errors import UnknownDataset
from discreet.web.pxweb import routes as exchange
from discreet.web.pxweb.routes import PxWebService, _selection_document, lower_case_path
from discreet.web.pxweb.selection_syntax import RawSelection
from discreet.web.release_cache import ReleaseCache
from discreet.web.responses import as_json


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("/API/PxWeb/V2/Config", "/api/pxweb/v2/config"),
        ("/api/pxweb/v2/Tables/Town/Data", "/api/pxweb/v2/tables/Town/data"),
        ("/api/pxweb/v2/savedQueries/eNpX/Selection", "/api/pxweb/v2/savedqueries/eNpX/selection"),
        ("/api/pxweb/v2/", "/api/pxweb/v2/"),
    ],
)
def test_ids_keep_their_case(path, read):
    assert lower_case_path(path) == read


def test_paths_and_tables_are_found_in_any_case(px):
    """Wrong alternative: a path in lower case altogether, in which a saved query is another one."""
    saved = px(
        "/SavedQueries",
        {"tableId": "TOWN", "selection": {"selection": [{"variableCode": "SEX", "valueCodes": ["1"]}]}},
    )
    assert saved["id"].lower() != saved["id"]
    assert (
        px(f"/SAVEDQUERIES/{saved['id']}/Data")["value"] == px("/Tables/Town/DATA?valueCodes[Sex]=1")["value"]
    )


def test_a_large_body_is_not_read(px, monkeypatch):
    monkeypatch.setattr(exchange, "LARGEST_BODY", 100)
    body = {"selection": [{"variableCode": "sex", "valueCodes": ["1"] * 100}]}
    assert px.refusal("/tables/town/data", body)[:2] == (413, "body-too-large")


def test_the_title_is_the_code_and_the_detail_the_advice(px):
    assert px.refusal("/tables/town/data?valuecodes[sx]=1") == (
        400,
        "unknown-variable",
        'The table has no variable "sx". Did you mean "sex"?',
    )
    assert px.refusal("/tables/nowhere/data")[:2] == (404, "unknown-dataset")


def test_calls_beyond_the_limit_are_told_when_to_come_back(px_app):
    client = TestClient(px_app(pxweb_calls=2))
    told = [client.get("/api/pxweb/v2/config") for _ in range(3)]
    assert [response.status_code for response in told] == [200, 200, 429]
    assert int(told[-1].headers["retry-after"]) >= 1
    assert told[-1].json()["title"] == "too-many-calls"
    assert client.get("/api/datasets").status_code == 200  # the limit is of this API


def test_a_table_is_found_in_any_case_and_an_unknown_one_named(px_doors):
    service = PxWebService(px_doors, None, ReleaseCache())
    assert service.open("TOWN").dataset.id == "town"
    with pytest.raises(UnknownDataset, match="twon"):
        service.open("twon")


def test_a_selection_is_told_code_by_code(px_doors):
    told = _selection_document(px_doors.door("town"), RawSelection(), "/here")
    assert told["selection"][0] == {"variableCode": "sex", "valueCodes": ["1", "2", "_T"]}
    assert told["links"][0]["href"] == "/here"


def test_json_is_utf_8_and_says_so():
    response = as_json({"label": "Å"}, 201)
    assert (response.status_code, response.body) == (201, '{"label": "Å"}'.encode())
    assert response.headers["content-type"] == "application/json; charset=utf-8"


SELECTION = {
    "selection": [{"variableCode": "sex", "valueCodes": ["1"]}, {"variableCode": "age", "valueCodes": ["*"]}]
}
ADDRESS = "/tables/town/data?valueCodes[sex]=1&valueCodes[age]=*"


def test_get_and_post_give_the_same(px):
    assert px("/tables/town/data?outputFormat=json-stat2", SELECTION) == px(ADDRESS)


def test_a_post_without_a_selection_is_the_default(px):
    assert px("/tables/town/data", {})["value"] == px("/tables/town/data")["value"]
    empty = px.client.post("/api/pxweb/v2/tables/town/data")
    assert empty.json()["value"] == px("/tables/town/data")["value"]


def test_whoever_has_the_numbers_does_not_get_them_again(px):
    tag = px.get(ADDRESS).headers["etag"]
    assert px.get(ADDRESS, headers={"if-none-match": tag}).status_code == 304
    other = px.get(ADDRESS.replace("=1", "=2"), headers={"if-none-match": tag})
    assert other.status_code == 200


def test_a_saved_query_is_answered_as_if_it_were_sent(px):
    response = px.post(
        "/savedqueries", {"tableId": "town", "language": "en", "selection": SELECTION, "outputFormat": "csv"}
    )
    assert response.status_code == 201
    saved = response.json()
    assert response.headers["location"].endswith(f"/savedqueries/{saved['id']}")
    assert px(f"/savedqueries/{saved['id']}") == saved
    assert saved["savedQuery"]["selection"] == SELECTION
    assert px.get(f"/savedqueries/{saved['id']}/data").text == px.get(f"{ADDRESS}&outputFormat=csv").text
    assert px(f"/savedqueries/{saved['id']}/data?outputFormat=json-stat2") == px(ADDRESS)
    told = px(f"/savedqueries/{saved['id']}/selection")
    assert told["selection"][1] == {"variableCode": "age", "valueCodes": ["child", "adult", "old", "_T"]}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"tableId": "nowhere", "selection": SELECTION}, 404),
        ({"tableId": "town", "selection": {"selection": [{"variableCode": "x"}]}}, 400),
        ({"tableId": "town", "selection": SELECTION, "outputFormat": "json-px"}, 400),
        ({}, 400),
    ],
)
def test_a_query_that_could_not_be_answered_is_not_saved(px, body, status):
    assert px.refusal("/savedqueries", body)[0] == status


def test_a_body_that_is_no_json_is_refused(px):
    response = px.client.post("/api/pxweb/v2/tables/town/data", content=b"{")
    assert (response.status_code, response.json()["title"]) == (400, "bad-request")


@pytest.mark.parametrize("form", ["json-stat2", "csv", "xlsx"])
def test_head_tells_the_type_and_the_name_of_the_file(px, form):
    address = f"/api/pxweb/v2{ADDRESS}&outputFormat={form}"
    whole, head = px.client.get(address).headers, px.client.head(address).headers
    for name in ("content-type", "content-disposition", "etag"):
        assert head[name] == whole[name]


def test_the_default_selection_is_told(px):
    told = px("/tables/town/defaultselection")
    assert {entry["variableCode"] for entry in told["selection"]} == {"sex", "ContentsCode"}
    assert (
        px("/tables/town/data", {"selection": told["selection"]})["value"] == px("/tables/town/data")["value"]
    )


def test_links_do_not_repeat_the_host_of_a_request(px):
    """Wrong alternative: links that lead to whatever a reader sent as Host."""
    for path in ("/tables", "/tables/town/data"):
        foreign = px.get(path, headers={"host": "evil.example"})
        assert foreign.status_code == 421
        assert "href" not in foreign.text
