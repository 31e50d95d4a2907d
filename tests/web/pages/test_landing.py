"""The first page: search finds datasets by all that is public of them, and the live table charges nothing."""

import shutil

import pytest
from fastapi.testclient import TestClient

from discreet.release.dataset_registry import DatasetRegistry, open_registry
from discreet.web.app import create_app
from discreet.web.pages.landing import matching
from discreet.workspace.demo import dp_census_batches, dp_census_description
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import load_dataset

from ..conftest import Page


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
    doors = DatasetRegistry(small_workspace)
    datasets = [doors.door(name).dataset for name in ("hostile", "people")]
    assert [each.id for each in matching(datasets, search)] == found
    page = Page(client.get("/", params={"search": search}))
    assert [
        e["href"] for e in page.all("a") if e.get("href") in {"/datasets/people", "/datasets/hostile"}
    ] == [f"/datasets/{name}" for name in found]


def test_words_in_the_label_come_first(small_workspace):
    doors = DatasetRegistry(small_workspace)
    datasets = [doors.door(name).dataset for name in ("hostile", "people")]
    assert [each.id for each in matching(datasets, "le")] == ["hostile", "people"], "both labels have it"
    assert [each.id for each in matching(datasets, "a m")] == ["people", "hostile"], "this label has both"


def test_the_live_table_is_asked_once_and_then_known_by_its_tag(watched, watched_client):
    first = watched_client.get("/?by=job")
    page = Page(first)
    (live,) = page.all("div", class_="live")
    assert "Office" in live["text"]
    assert len(page.all("table")) == 1
    again = watched_client.get("/?by=job", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, sum(engine.calls for engine in watched.engines.values())) == (304, 1)


def test_the_live_table_shows_what_the_api_releases(client):
    (table,) = Page(client.get("/")).all("table")
    assert table["class"].startswith("grid")
    values = client.get("/api/datasets/people/table?rows=region&columns=sex").json()["value"]
    assert [int(text.replace(",", "")) for text in Page(client.get("/")).texts("td")] == values


@pytest.mark.slow
def test_a_live_table_under_dp_charges_nothing(tmp_path):
    load_dataset(tmp_path / "w", dp_census_description(2000), dp_census_batches(2000))
    doors = open_registry(tmp_path / "w", threads=1)
    before = doors.door("census-dp").budget()["spent"]
    client = TestClient(create_app(doors, read_options(tmp_path / "w")))
    assert len(Page(client.get("/")).all("table")) == 1
    assert doors.door("census-dp").budget()["spent"] == before
    doors.close()


def test_a_server_without_datasets_says_what_to_do(tmp_path):
    (tmp_path / "datasets").mkdir()
    client = TestClient(create_app(open_registry(tmp_path), read_options(tmp_path)))
    assert "discreet load" in client.get("/").text
    assert client.get("/api").status_code == 200
    shutil.rmtree(tmp_path)
