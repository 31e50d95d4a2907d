import shutil

import pytest
from fastapi.testclient import TestClient

from discreet.answer.doors import Doors
from discreet.errors import WorkspaceUnusable
from discreet.server.app import create_app
from discreet.server.datasets import usable
from discreet.workspace.workspace import Workspace


@pytest.fixture
def damaged(small_folder, tmp_path):
    """A copy of the workspace in which one dataset has lost its noise table."""
    folder = shutil.copytree(small_folder, tmp_path / "damaged")
    for noise in folder.glob("datasets/hostile/*/noise.json"):
        noise.unlink()
    return Workspace(folder, threads=1)


def test_a_damaged_dataset_is_left_out_of_the_lists_and_told_to_the_log(damaged, small_settings, caplog):
    client = TestClient(create_app(Doors(damaged), small_settings))
    assert [d["id"] for d in client.get("/api/datasets").json()["datasets"]] == ["people"]
    assert "The dataset hostile is left out" in caplog.text


def test_a_damaged_dataset_gives_no_table_and_the_others_do(damaged, small_settings):
    client = TestClient(create_app(Doors(damaged), small_settings))
    refused = client.get("/api/datasets/hostile/table?rows=good")
    assert (refused.status_code, refused.json()["code"]) == (503, "workspace-unusable")
    assert client.get("/api/datasets/people/table?rows=sex").status_code == 200


def test_when_none_can_be_opened_that_is_an_error(damaged):
    for noise in damaged.folder.glob("datasets/people/*/noise.json"):
        noise.unlink()
    with pytest.raises(WorkspaceUnusable):
        usable(Doors(damaged))


def test_a_secret_that_others_can_read_means_no_answer(small_folder, tmp_path, small_settings):
    folder = shutil.copytree(small_folder, tmp_path / "open")
    (folder / "secret").chmod(0o644)
    client = TestClient(create_app(Doors(Workspace(folder, threads=1)), small_settings))
    for address in ("/api/datasets/people/table?rows=sex", "/datasets/people", "/api/datasets", "/"):
        response = client.get(address)
        assert response.status_code == 503, address
        assert "secret-unusable" in response.text
