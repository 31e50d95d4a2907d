"""The schema of a workspace: written by a load, never by a reader; a newer one is refused.

Who keeps a workspace names versions by digest or by name, closed ones included.

Where a server writes, and the key of its log.
"""

import json

import pytest

from discreet.errors import NotFound, UnknownDataset, UnknownVersion, WorkspaceUnusable
from discreet.records.keys import create_secret
from discreet.workspace.folder_layout import (
    SCHEMA,
    SCHEMA_FILE,
    dataset_folder,
    dataset_folders,
    delete_version_folder,
    find_version,
    folder_size,
    log_key,
    state_folder,
)
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace


@pytest.fixture
def folder(town_folder):
    return town_folder


def test_a_load_writes_the_schema_and_leaves_nothing_else(folder):
    assert json.loads((folder / SCHEMA_FILE).read_text()) == {"schema": SCHEMA}
    assert {path.name for path in folder.iterdir()} == {"datasets", "secret", "ledger.sqlite", SCHEMA_FILE}


def test_a_workspace_of_before_schemas_is_opened_and_not_written_to(folder, town):
    (folder / SCHEMA_FILE).unlink()
    Workspace(folder).stored("town")
    assert not (folder / SCHEMA_FILE).exists()
    load_dataset(folder, town.description, town.records)
    assert (folder / SCHEMA_FILE).exists()


def test_a_newer_schema_is_neither_read_nor_loaded_into(folder, town):
    (folder / SCHEMA_FILE).write_text('{"schema": 7}')
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    for attempt in (
        lambda: Workspace(folder),
        lambda: load_dataset(folder, town.description.replace("A town", "Another"), town.records),
    ):
        with pytest.raises(
            WorkspaceUnusable, match="has schema 7, and this version of Discreet knows schemas up to 1"
        ):
            attempt()
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"schema": "x"}', '{"schema": null}'])
def test_a_schema_that_cannot_be_read_gives_no_answers(folder, text):
    (folder / SCHEMA_FILE).write_text(text)
    with pytest.raises(WorkspaceUnusable, match="cannot be read"):
        Workspace(folder)


def test_a_closed_version_is_found_by_its_name_and_by_its_digest(town_versions):
    home = dataset_folder(town_versions, "town")
    closed = find_version(home, "0")
    assert closed.closed
    assert find_version(home, closed.digest[:8]) == closed


def test_what_is_not_there_is_said(folder, tmp_path):
    with pytest.raises(NotFound, match="not a workspace"):
        dataset_folders(tmp_path)
    with pytest.raises(UnknownDataset, match="twon"):
        dataset_folder(folder, "twon")
    for word in ("9", "abcdef", "00000000"):
        with pytest.raises(UnknownVersion, match=word):
            find_version(dataset_folder(folder, "town"), word)


def test_erasing_leaves_nothing(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(b"123")
    assert folder_size(tmp_path) == 3
    delete_version_folder(tmp_path / "a")
    assert not list(tmp_path.iterdir())


def test_the_folder_is_in_the_workspace_or_where_the_option_says(tmp_path, monkeypatch):
    assert state_folder(tmp_path) == tmp_path / "server"
    monkeypatch.setenv("DISCREET_STATE", "/var/lib/discreet")
    assert str(state_folder(tmp_path)) == "/var/lib/discreet"


def test_another_secret_is_another_key(tmp_path):
    keys = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        create_secret(tmp_path / name / "secret")
        keys.append(log_key(tmp_path / name))
    assert keys[0] == log_key(tmp_path / "a") != keys[1]
