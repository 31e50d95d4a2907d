"""The schema of a workspace: written by a load, never by a reader; a newer one is refused."""

import json

import pytest

from discreet.errors import WorkspaceUnusable
from discreet.workspace.load import load_dataset
from discreet.workspace.schema import SCHEMA, SCHEMA_FILE
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
