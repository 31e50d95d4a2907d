"""The first page, the guide for programmers and the table in an iframe."""

import json
from contextlib import closing

import pytest
from fastapi.testclient import TestClient

from discreet.release.dataset_registry import DatasetRegistry, open_registry
from discreet.web.app import create_app
from discreet.web.pages.api_guide import COLUMNS, LINES, first_lines
from discreet.web.pages.landing import MOST_CELLS, POLICY, matching
from discreet.web.response_headers import CONTENT_SECURITY_POLICY
from discreet.workspace.options import read_options

from ..conftest import Page, client_of


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("", ["hostile", "people"]),
        ("smallville", ["people"]),
        ("COUNTRY birth", ["people"]),  # a variable
        ("office residents", ["people"]),  # a category, and the population
        ("district 7", ["people"]),
        ("smallville potato", []),  # every word is needed
        ("things", ["hostile"]),
    ],
)
def test_a_dataset_is_found_by_every_word_of_what_is_public(small_workspace, client, search, found):
    registry = DatasetRegistry(small_workspace)
    datasets = [registry.open(name).dataset for name in ("hostile", "people")]
    assert [each.id for each in matching(datasets, search)] == found
    page = Page(client.get("/", params={"search": search}))
    assert [
        e["href"] for e in page.all("a") if e.get("href") in {"/datasets/people", "/datasets/hostile"}
    ] == [f"/datasets/{name}" for name in found]


def test_words_in_the_label_come_first(small_workspace):
    registry = DatasetRegistry(small_workspace)
    datasets = [registry.open(name).dataset for name in ("hostile", "people")]
    assert [each.id for each in matching(datasets, "le")] == ["hostile", "people"], "both labels have it"
    assert [each.id for each in matching(datasets, "a m")] == ["people", "hostile"], "this label has both"


def test_the_live_table_is_asked_once_and_then_known_by_its_tag(watched, watched_client):
    first = watched_client.get("/?by=job")
    page = Page(first)
    (live,) = page.all("div", class_="live card")
    assert "Office" in live["text"]
    assert len(page.all("table")) == 1
    again = watched_client.get("/?by=job", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, sum(engine.calls for engine in watched.engines.values())) == (304, 1)


def test_a_live_table_under_dp_charges_nothing(private_folder):
    with closing(open_registry(private_folder, threads=1)) as registry:
        before = registry.open("town").budget()["spent"]
        assert len(Page(client_of(private_folder).get("/")).all("table")) == 1
        assert registry.open("town").budget()["spent"] == before


def test_a_server_without_datasets_says_what_to_do(tmp_path):
    (tmp_path / "datasets").mkdir()
    client = TestClient(create_app(open_registry(tmp_path), read_options(tmp_path)))
    assert "discreet load" in client.get("/").text
    assert client.get("/api").status_code == 200
    assert client.get("/api/datasets").json() == {"datasets": []}


@pytest.fixture(scope="module")
def page(client):
    return Page(client.get("/api"))


def test_every_example_answers_200_but_the_one_that_shows_a_refusal(client, page):
    links = [e["href"] for e in page.all("a") if e["text"].startswith(("/api/", "/openapi"))]
    statuses = [client.get(link).status_code for link in links]
    assert len(links) >= 12
    assert statuses.count(400) == 1
    assert set(statuses) == {200, 400}
    assert page.texts("span", class_="status") == [str(status) for status in statuses]


def test_what_is_shown_is_the_beginning_of_the_answer(client, page):
    links = [e["href"] for e in page.all("a") if "format=csv" in e["href"] and "dry_run" not in e["href"]]
    shown = [e["text"] for e in page.all("pre")]
    first = client.get(links[0]).text.splitlines()[:LINES]
    assert "\n".join([line[:COLUMNS] for line in first]) in {text.removesuffix("\n…") for text in shown}


def test_the_beginning_is_short_whatever_the_document():
    long = json.dumps({"numbers": list(range(1000)), "text": "x" * 1000})
    assert len(first_lines(long).splitlines()) == LINES + 1
    assert first_lines("<a><b/></a>").splitlines() == ["<a>", "<b/>", "</a>"]
    assert len(first_lines("y" * 1000)) < COLUMNS + 5
    assert first_lines("") == ""


TABLE = "/embed/datasets/people?rows=sex&columns=age"


def test_the_policy_lets_any_page_frame_it_and_allows_nothing_else(client):
    """The policy of the other pages, which forbids frames, and one with scripts are the wrong alternatives."""
    policy = client.get(TABLE).headers["content-security-policy"]
    assert policy == POLICY != CONTENT_SECURITY_POLICY
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules == {
        "default-src": "'none'",
        "style-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "*",
    }


def test_no_other_page_may_be_framed(client):
    for address in ("/", "/datasets/people", "/api", "/embed", "/embed/datasets"):
        assert "frame-ancestors 'none'" in client.get(address).headers["content-security-policy"]


def test_it_has_the_numbers_of_the_page_with_note_source_and_a_link(client):
    page, whole = Page(client.get(TABLE)), Page(client.get(TABLE.removeprefix("/embed")))
    assert page.texts("td") == whole.texts("td")
    assert not page.all("script")
    assert not page.all("form")
    text = client.get(TABLE).text
    assert "Counts in this table have been randomly adjusted" in text
    assert "Smallville Statistics" in text
    (link,) = [e for e in page.all("a") if "rows=sex" in e["href"]]
    assert (link["href"], link["target"]) == (
        "http://testserver/datasets/people?rows=sex&columns=age",
        "_blank",
    )


def test_what_is_refused_says_so_in_the_frame(client):
    for query, status in (("rows=sexx", 400), ("rows=sex,age,job,origin", 403), ("colour=red", 400)):
        response = client.get(f"/embed/datasets/people?{query}")
        assert (response.status_code, response.headers["content-security-policy"]) == (status, POLICY)
        assert response.headers["cache-control"] == "no-store"
    large = client.get("/embed/datasets/people?rows=district&columns=origin,age,region")
    assert f"a frame shows at most {MOST_CELLS:,}" in large.text
