"""Documents that describe datasets: everything public of them, and no number of records."""

import shutil

import pytest
from fastapi.testclient import TestClient

from discreet.errors import WorkspaceUnusable
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.notes import mandatory_note
from discreet.web.api.dataset_documents import open_datasets
from discreet.web.app import create_app
from discreet.workspace.workspace import Workspace


@pytest.fixture
def damaged(small_folder, tmp_path):
    """A copy of the workspace in which one dataset has lost its noise table."""
    folder = shutil.copytree(small_folder, tmp_path / "damaged")
    for noise in folder.glob("datasets/hostile/*/noise.json"):
        noise.unlink()
    return Workspace(folder, threads=1)


def test_a_damaged_dataset_is_left_out_of_the_lists_and_told_to_the_log(damaged, small_settings, caplog):
    client = TestClient(create_app(DatasetRegistry(damaged), small_settings))
    assert [d["id"] for d in client.get("/api/datasets").json()["datasets"]] == ["people"]
    assert "The dataset hostile is left out" in caplog.text


def test_a_damaged_dataset_gives_no_table_and_the_others_do(damaged, small_settings):
    client = TestClient(create_app(DatasetRegistry(damaged), small_settings))
    refused = client.get("/api/datasets/hostile/table?rows=good")
    assert (refused.status_code, refused.json()["code"]) == (503, "workspace-unusable")
    assert client.get("/api/datasets/people/table?rows=sex").status_code == 200


def test_when_none_can_be_opened_that_is_an_error(damaged):
    for noise in damaged.folder.glob("datasets/people/*/noise.json"):
        noise.unlink()
    with pytest.raises(WorkspaceUnusable):
        open_datasets(DatasetRegistry(damaged))


def test_a_secret_that_others_can_read_means_no_answer(small_folder, tmp_path, small_settings):
    folder = shutil.copytree(small_folder, tmp_path / "open")
    (folder / "secret").chmod(0o644)
    client = TestClient(create_app(DatasetRegistry(Workspace(folder, threads=1)), small_settings))
    for address in ("/api/datasets/people/table?rows=sex", "/datasets/people", "/api/datasets", "/"):
        response = client.get(address)
        assert response.status_code == 503, address
        assert "secret-unusable" in response.text


def test_the_list_names_every_dataset_and_where_it_is_described(client):
    datasets = client.get("/api/datasets").json()["datasets"]
    assert [dataset["id"] for dataset in datasets] == ["hostile", "people"]
    assert datasets[1]["href"] == "/api/datasets/people"
    assert datasets[1]["unit"] == "persons"


def test_a_description_has_variables_hierarchies_and_the_protection_in_words(client, small_workspace):
    described = client.get("/api/datasets/people").json()
    assert [v["name"] for v in described["variables"]] == [
        "region",
        "district",
        "sex",
        "age",
        "job",
        "origin",
    ]
    assert described["variables"][2]["categories"][1] == {"code": "2", "label": "Female", "parent": None}
    assert described["variables"][1]["categories"][0]["parent"] == "R2"
    assert described["variables"][1]["geography"]
    assert described["hierarchies"][0]["levels"] == ["region", "district"]
    assert described["note"].startswith(mandatory_note(small_workspace.stored("people").dataset))
    assert "at most" in described["protection"]["promise"][0]
    assert described["protection"]["additivity"] == "independent"
    assert described["code_lists"] == []  # tests/api/test_remote.py compares those of another dataset
    assert (described["version"], described["reference_date"]) == ("7", "2026-01-01")


def test_a_description_tells_no_number_of_records(client):
    described = client.get("/api/datasets/people")
    text = described.text.replace(described.json()["digest"], "") + client.get("/api/datasets").text
    assert "617" not in text
