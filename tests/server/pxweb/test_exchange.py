"""Paths in any case, bodies of a bounded size, problems in PxWeb's words."""

import pytest
from starlette.testclient import TestClient

from discreet.server.pxweb import exchange
from discreet.server.pxweb.exchange import in_lower_case


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
    assert in_lower_case(path) == read


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
