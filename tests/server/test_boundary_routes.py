"""Boundaries over HTTP: the very shapes of the version, with a tag; a variable without any is told."""

import json

import pytest
from fastapi.testclient import TestClient

from discreet.answer.doors import open_doors
from discreet.server.app import create_app
from discreet.workspace.demo import census_batches, census_description
from discreet.workspace.demo.boundaries import census_boundaries
from discreet.workspace.load import load_dataset
from discreet.workspace.options import read_options

ROWS = 2_000


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mapped")
    for name, shapes in census_boundaries(ROWS, seed=2026).items():
        (folder / f"{name}.geojson").write_bytes(shapes)
    load_dataset(folder / "w", census_description(ROWS, mapped=True), census_batches(ROWS), beside=folder)
    return TestClient(create_app(open_doors(folder / "w"), read_options(folder / "w")))


def test_shapes_are_served_as_geojson_with_codes_and_labels(client):
    answer = client.get("/api/datasets/census/boundaries/region")
    assert answer.headers["content-type"].startswith("application/geo+json")
    features = answer.json()["features"]
    listed = client.get("/api/datasets/census").json()["variables"][0]["categories"]
    told = [{"code": c["code"], "label": c["label"]} for c in listed]
    assert [feature["properties"] for feature in features] == told
    again = client.get(
        "/api/datasets/census/boundaries/region", headers={"if-none-match": answer.headers["etag"]}
    )
    assert again.status_code == 304


def test_a_variable_without_boundaries_is_told_which_have_some(client):
    answer = client.get("/api/datasets/census/boundaries/sex")
    assert answer.status_code == 404
    assert answer.json()["advice"] == "It has those of area, district, region."
    assert client.get("/api/datasets/census/boundaries/region?chart=map").status_code == 400


def test_the_description_says_where_they_are(client):
    variables = {v["name"]: v for v in client.get("/api/datasets/census").json()["variables"]}
    assert variables["region"]["boundaries"] == "/api/datasets/census/boundaries/region"
    assert variables["sex"]["boundaries"] is None
    assert client.get(variables["area"]["boundaries"]).status_code == 200


def test_a_map_is_drawn_by_the_api_and_on_the_page(client):
    picture = client.get("/api/datasets/census/table?rows=region&format=svg&chart=map")
    assert 'data-chart="map"' in picture.text
    page = client.get("/datasets/census?rows=region&columns=sex&percent=row&show=map").text
    assert page.count('role="img" data-cell="') == 22
    assert json.loads(client.get("/openapi.json").text)["paths"][
        "/api/datasets/{dataset_id}/boundaries/{variable}"
    ]
