"""Versions over HTTP: listed, asked by name, compared; a closed one answers 410 at every address."""

import pytest
from fastapi.testclient import TestClient

from discreet.answer.doors import open_doors
from discreet.inference.compared import compare
from discreet.model.request import request_from_text
from discreet.server.app import create_app
from discreet.server.comparison import COMPARE_PARAMETERS
from discreet.workspace.options import read_options

API, PAGE, QUERY = "/api/datasets/town", "/datasets/town", "rows=sex&columns=age"
REQUEST = request_from_text("town", rows=["sex"], columns=["age"])


@pytest.fixture(scope="module")
def doors(town_versions):
    opened = open_doors(town_versions)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def client(doors, town_versions):
    return TestClient(create_app(doors, read_options(town_versions)))


def test_versions_are_listed_the_newest_last_with_why_one_is_closed(client, doors):
    found = client.get(f"{API}/versions").json()["versions"]
    assert [v["version"] for v in found] == ["0", "1", "2"]
    assert [v["current"] for v in found] == [False, False, True]
    assert "few records" in found[0]["closed"]
    assert not found[1]["closed"]
    assert found[2]["digest"] == doors.door("town").digest
    assert client.get(f"{API}/versions?rows=sex").status_code == 400


@pytest.mark.parametrize("word", ["1", "digest"])
def test_a_version_is_asked_by_its_name_or_digest(client, doors, word):
    door = doors.door("town", version="1")
    name = door.digest[:8] if word == "digest" else word
    document = client.get(f"{API}/table?{QUERY}&version={name}").json()
    assert document["value"] == door.release(REQUEST).values.ravel().tolist()
    assert document["value"] != client.get(f"{API}/table?{QUERY}").json()["value"]
    assert document["extension"]["digest"] == door.digest


@pytest.mark.parametrize(
    "address",
    [
        f"{API}/table?{QUERY}",
        f"{API}/interval?{QUERY}",
        f"{API}/test/independence?{QUERY}",
        f"{API}/compare?{QUERY}&with=1",
        f"{API}?",
        f"{PAGE}?{QUERY}",
        f"{PAGE}/interval?{QUERY}",
        f"{PAGE}/test/independence?{QUERY}",
    ],
)
def test_a_closed_version_answers_410_and_an_unknown_one_404(client, address):
    assert client.get(f"{address}&version=1").status_code == 200
    assert client.get(f"{address}&version=0").status_code == 410
    assert client.get(f"{address}&version=none").status_code == 404


def test_a_comparison_is_that_of_the_two_releases(client, doors):
    new, old = (doors.door("town", version=word).release(REQUEST) for word in ("2", "1"))
    response = client.get(f"{API}/compare?{QUERY}&version=2&with=1&level=0.9")
    assert response.json() == compare(new, old, 0.9).document()
    assert client.get(f"{API}/compare?{QUERY}&with=1").json()["version"] == new.digest
    again = client.get(
        f"{API}/compare?{QUERY}&version=2&with=1&level=0.9",
        headers={"if-none-match": response.headers["etag"]},
    )
    assert again.status_code == 304
    other = client.get(f"{API}/compare?{QUERY}&version=1&with=2&level=0.9")
    assert other.headers["etag"] != response.headers["etag"]


@pytest.mark.parametrize(
    ("more", "status"),
    [("", 400), ("&with=0", 410), ("&with=none", 404), ("&with=1&level=2", 400), ("&with=1&wiht=2", 400)],
)
def test_what_cannot_be_compared_is_refused(client, more, status):
    response = client.get(f"{API}/compare?{QUERY}{more}")
    assert response.status_code == status
    assert response.json()["advice"]


def test_the_page_names_the_version_in_its_link_and_citation(client, doors):
    for word, more in (("2", ""), ("1", "&version=1")):
        digest = doors.door("town", version=word).digest
        page = client.get(f"{PAGE}?{QUERY}{more}").text
        assert page.count(f"version={digest[:8]}") >= 2, "permalink and citation"
        assert ("&amp;version=1" in page) == bool(more), "further links stay with the version that was asked"
    assert '<input type="hidden" name="version" value="1">' in page


def test_every_parameter_of_a_comparison_is_described(client):
    described = client.get("/openapi.json").json()["paths"]["/api/datasets/{dataset_id}/compare"]["get"]
    names = [p["name"] for p in described["parameters"] if p["in"] == "query"]
    assert sorted(names) == sorted(COMPARE_PARAMETERS)
    assert "410" in described["responses"]


PX, PX_QUERY = "/api/pxweb/v2", "valueCodes[sex]=*&valueCodes[age]=*"


def px_values(client, address):
    """The numbers of PxWebApi, by codes in the order of our own table."""
    return client.get(PX + address).json()["value"]


def test_pxweb_answers_the_version_that_is_asked_for_and_saved_queries_keep_it(client, doors):
    """Wrong alternative: a saved query that answers from whatever version is served now."""
    old, new = (px_values(client, f"/tables/town/data?{PX_QUERY}&version={word}") for word in ("1", "2"))
    assert sorted(map(str, old)) == sorted(
        map(str, doors.door("town", version="1").release(REQUEST).values.ravel())
    )
    assert old != new == px_values(client, f"/tables/town/data?{PX_QUERY}")
    selection = {"selection": [{"variableCode": name, "valueCodes": ["*"]} for name in ("sex", "age")]}
    assert client.post(f"{PX}/tables/town/data?version=1", json=selection).json()["value"] == old
    for address, body in (("?version=1", {}), ("", {"version": "1"})):
        saved = client.post(
            f"{PX}/savedqueries{address}", json={"tableId": "town", "selection": selection, **body}
        )
        assert saved.json()["savedQuery"]["version"] == doors.door("town", version="1").digest[:16]
        assert px_values(client, f"/savedqueries/{saved.json()['id']}/data") == old
    later = client.post(f"{PX}/savedqueries", json={"tableId": "town", "selection": selection})
    assert "version" not in later.json()["savedQuery"]
    assert px_values(client, f"/savedqueries/{later.json()['id']}/data") == new


def test_sdmx_answers_the_version_that_is_asked_for(client, doors):
    texts = {
        word: client.get(f"/api/sdmx/data/town-sex-age?version={word}&format=sdmx-csv").text for word in "12"
    }
    assert texts["1"] != texts["2"] == client.get("/api/sdmx/data/town-sex-age?format=sdmx-csv").text
    for word, text in texts.items():
        assert doors.door("town", version=word).digest in text


@pytest.mark.parametrize(
    "address",
    [
        f"{PX}/tables/town?",
        f"{PX}/tables/town/metadata?",
        f"{PX}/tables/town/defaultselection?",
        f"{PX}/tables/town/data?",
        f"{PX}/codelists/vs_town_area?",
        "/api/sdmx/data/town-sex?",
        "/api/sdmx/dataflow?",
        "/api/sdmx/datastructure/all/town?",
    ],
)
def test_a_closed_or_unknown_version_is_not_answered_by_pxweb_and_sdmx_either(client, address):
    assert client.get(f"{address}version=1").status_code == 200
    assert client.get(f"{address}version=0").status_code == 410
    assert client.get(f"{address}version=none").status_code == 404
