"""The addresses: GET and POST give the same, copies are not sent twice, saved queries have an address."""

import pytest

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
