"""The addresses of PxWebApi: in any case, by GET and POST, with saved queries, and problems in PxWeb's words."""

import pytest
from starlette.testclient import TestClient

SELECTION = {
    "selection": [{"variableCode": "sex", "valueCodes": ["1"]}, {"variableCode": "age", "valueCodes": ["*"]}]
}
ADDRESS = "/tables/town/data?valueCodes[sex]=1&valueCodes[age]=*"


def test_paths_and_tables_are_found_in_any_case(px):
    """Wrong alternative: a path in lower case altogether, in which a saved query is another one."""
    named = {"selection": [{"variableCode": "SEX", "valueCodes": ["1"]}]}
    saved = px("/SavedQueries", {"tableId": "TOWN", "selection": named})["id"]
    assert saved.lower() != saved
    assert px(f"/SAVEDQUERIES/{saved}/Data")["value"] == px("/Tables/Town/DATA?valueCodes[Sex]=1")["value"]


def test_the_title_is_the_code_and_the_detail_the_advice(px):
    said = 'The table has no variable "sx". Did you mean "sex"?'
    assert px.refusal("/tables/town/data?valuecodes[sx]=1") == (400, "unknown-variable", said)
    assert px.refusal("/tables/nowhere/data")[:2] == (404, "unknown-dataset")
    response = px.client.post("/api/pxweb/v2/tables/town/data", content=b"{")
    assert (response.status_code, response.json()["title"]) == (400, "bad-request")


def test_calls_beyond_the_limit_are_told_when_to_come_back(px_app):
    client = TestClient(px_app(pxweb_calls=2))
    told = [client.get("/api/pxweb/v2/config") for _ in range(3)]
    assert [response.status_code for response in told] == [200, 200, 429]
    assert int(told[-1].headers["retry-after"]) >= 1
    assert told[-1].json()["title"] == "too-many-calls"
    assert client.get("/api/datasets").status_code == 200  # the limit is of this API


def test_get_and_post_give_the_same_and_nothing_selected_is_the_default(px):
    assert px("/tables/town/data?outputFormat=json-stat2", SELECTION) == px(ADDRESS)
    default, told = px("/tables/town/data")["value"], px("/tables/town/defaultselection")
    assert {entry["variableCode"] for entry in told["selection"]} == {"sex", "ContentsCode"}
    for body in ({}, {"selection": told["selection"]}):
        assert px("/tables/town/data", body)["value"] == default
    assert px.client.post("/api/pxweb/v2/tables/town/data").json()["value"] == default


def test_a_saved_query_is_answered_as_if_it_were_sent(px):
    query = {"tableId": "town", "language": "en", "selection": SELECTION, "outputFormat": "csv"}
    response = px.post("/savedqueries", query)
    assert response.status_code == 201
    saved = response.json()
    address = f"/savedqueries/{saved['id']}"
    assert response.headers["location"].endswith(address)
    assert px(address) == saved
    assert saved["savedQuery"]["selection"] == SELECTION
    assert px.get(f"{address}/data").text == px.get(f"{ADDRESS}&outputFormat=csv").text
    assert px(f"{address}/data?outputFormat=json-stat2") == px(ADDRESS)
    assert px(f"/tables/town/metadata?savedQuery={saved['id']}")["dimension"] == px(ADDRESS)["dimension"]
    told = px(f"{address}/selection")
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
