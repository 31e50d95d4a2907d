"""The methodology and the budget of a dataset, as JSON and as pages."""

import json

import pytest
from fastapi.testclient import TestClient

from discreet.noise.files import content_hash, from_document
from discreet.release.dataset_registry import DatasetRegistry, open_registry
from discreet.web.app import create_app
from discreet.web.pages.methodology_page import methodology_html
from discreet.workspace.options import read_options

from ..conftest import Page


def test_the_api_gives_the_document_of_the_registry(client, small_workspace):
    answer = client.get("/api/datasets/people/methodology")
    assert answer.json() == DatasetRegistry(small_workspace).methodology("people")
    again = client.get("/api/datasets/people/methodology", headers={"if-none-match": answer.headers["etag"]})
    assert again.status_code == 304


def test_the_noise_is_a_file_with_the_hash_of_the_document(client):
    told = client.get("/api/datasets/people/methodology").json()["noise"]
    answer = client.get(told["href"])
    assert answer.headers["content-disposition"] == 'attachment; filename="people-noise.json"'
    assert content_hash(from_document(answer.json())) == told["sha256"] == answer.json()["content_sha256"]


def test_below_a_path_the_noise_is_found_below_it(small_workspace, small_folder):
    options = read_options(small_folder, public_url="https://x.org/tables")
    client = TestClient(create_app(DatasetRegistry(small_workspace), options), base_url="https://x.org")
    told = client.get("/tables/api/datasets/people/methodology").json()["noise"]["href"]
    assert told.startswith("/tables/api/datasets/people/noise?version=")
    assert client.get(told).json()["content_sha256"]


def test_the_page_tells_all_of_it_and_is_linked_from_the_table(client, small_workspace):
    page = Page(client.get("/datasets/people/methodology"))
    document = DatasetRegistry(small_workspace).methodology("people")
    text = " ".join(page.texts("main", id="main"))
    for sentence in (*document["mechanism"]["sentences"], *document["limits"], document["citation"]):
        assert " ".join(sentence.split()) in text
    assert [each["code"] for each in document["rules"]] == page.texts("th", scope="row")[2:5]
    assert page.all("a", href=document["noise"]["href"])
    table = Page(client.get("/datasets/people?rows=sex"))
    assert table.all("a", href="/datasets/people/methodology")


def test_a_page_in_one_file_asks_for_nothing(small_workspace):
    registry = DatasetRegistry(small_workspace)
    text = methodology_html(registry.methodology("people"), registry.open("people").dataset)
    assert "<style>" in text
    for foreign in ("<script", "<link", "src=", "href=", "url("):
        assert foreign not in text, foreign


@pytest.mark.parametrize("path", ["/api/datasets/people/methodology", "/api/datasets/people/noise"])
def test_versions_are_named_and_strangers_refused(client, small_workspace, path):
    digest = small_workspace.stored("people").digest
    assert client.get(path, params={"version": digest[:8]}).content == client.get(path).content
    refused = client.get(path, params={"version": "0" * 8})
    assert (refused.status_code, refused.json()["code"]) == (404, "unknown-version")
    assert client.get(path, params={"versoin": digest}).status_code == 400
    assert client.get(path.replace("people", "nobody")).status_code == 404
    assert json.loads(client.get("/openapi.json").text)["paths"][path.replace("people", "{dataset_id}")]


def test_the_page_has_the_tables_of_the_budget_and_is_never_cached(private_folder):
    registry = open_registry(private_folder)
    client = TestClient(create_app(registry, read_options(private_folder)))
    (name,) = [each for each in registry.ids() if registry.open(each).dataset.protection.is_dp]
    found = client.get(f"/api/datasets/{name}/budget").json()
    shown = client.get(f"/datasets/{name}/budget")
    assert (shown.status_code, shown.headers["cache-control"]) == (200, "no-store")
    dataset = registry.open(name).dataset
    labels = {" × ".join(dataset.variable(n).label for n in t["variables"]) for t in found["tables"]}
    for page in (shown, client.get(f"/datasets/{name}/methodology")):
        assert {label or "Grand total" for label in labels} <= set(Page(page).texts("th"))
    assert client.get(f"/datasets/{name}/budget?x=1").status_code == 400
