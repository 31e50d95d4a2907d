"""The schema of a workspace, its folders, and the file of a description with its lists of categories."""

import json
from pathlib import Path

import pytest

from discreet.errors import (
    BadData,
    BadDescription,
    NotFound,
    UnknownDataset,
    UnknownVersion,
    WorkspaceUnusable,
)
from discreet.model.description.dataset_toml import parse_dataset
from discreet.workspace.folder_layout import (
    SCHEMA,
    SCHEMA_FILE,
    dataset_folder,
    dataset_folders,
    find_version,
    insert_code_lists,
    name_description_in_errors,
    read_description,
    state_folder,
)
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace


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
            WorkspaceUnusable, match="has schema 7, but this version of Discreet supports schemas up to 1"
        ):
            attempt()
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"schema": "x"}', '{"schema": null}'])
def test_a_schema_that_cannot_be_read_gives_no_answers(folder, text):
    (folder / SCHEMA_FILE).write_text(text)
    with pytest.raises(WorkspaceUnusable, match="cannot be read"):
        Workspace(folder)


def test_what_is_not_there_is_said(folder, tmp_path):
    with pytest.raises(NotFound, match="not a workspace"):
        dataset_folders(tmp_path)
    with pytest.raises(UnknownDataset, match="twon"):
        dataset_folder(folder, "twon")
    for word in ("9", "abcdef", "00000000"):
        with pytest.raises(UnknownVersion, match=word):
            find_version(dataset_folder(folder, "town"), word)


def test_the_folder_is_in_the_workspace_or_where_the_option_says(tmp_path, monkeypatch):
    assert state_folder(tmp_path) == tmp_path / "server"
    monkeypatch.setenv("DISCREET_STATE", "/var/lib/discreet")
    assert str(state_folder(tmp_path)) == "/var/lib/discreet"


@pytest.mark.parametrize("error", [BadDescription, BadData])
def test_the_file_is_named_in_message_and_advice(error):
    with pytest.raises(error) as raised, name_description_in_errors(Path("far/town.toml")):
        raise error("dataset.toml lacks id.", "Add it to dataset.toml.")
    assert (raised.value.message, raised.value.advice) == ("town.toml lacks id.", "Add it to town.toml.")


def test_a_description_may_have_a_byte_order_mark_and_must_be_utf_8(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"\xef\xbb\xbfid = 'a'")
    assert read_description(tmp_path / "a.toml") == "id = 'a'"
    (tmp_path / "b.toml").write_bytes(b"\xff\xfei\x00d\x00")
    with pytest.raises(BadDescription, match=r"b\.toml is not a text file in UTF-8"):
        read_description(tmp_path / "b.toml")
    with pytest.raises(NotFound, match="There is no file"):
        read_description(tmp_path / "c.toml")


TEXT = 'id = "x"\nlabel = "X"\nid_column = "id"\n[[variable]]\nname = "area"\ncategories_file = "areas.csv"  # long\n'


def test_the_categories_of_the_file_are_those_of_the_variable(tmp_path):
    (tmp_path / "areas.csv").write_text('code,label\n01,"Nord ""A"", B"\n02,\n', "utf-8-sig")
    variable = parse_dataset(insert_code_lists(TEXT, tmp_path)).variables[0]
    assert [(c.code, c.label) for c in variable.categories] == [("01", 'Nord "A", B'), ("02", "02")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"id,name\n1,x\n", "has the columns id, name"),
        (b"code,label\n1\n", "Line 2"),
        (b"code\n\xff\n", "no CSV file"),
    ],
)
def test_a_file_that_is_no_list_is_refused(content, words, tmp_path):
    (tmp_path / "areas.csv").write_bytes(content)
    with pytest.raises(BadDescription, match=words):
        insert_code_lists(TEXT, tmp_path)


def test_a_missing_file_is_named_and_a_text_without_folder_is_refused(tmp_path):
    with pytest.raises(NotFound, match="areas"):
        insert_code_lists(TEXT, tmp_path)
    with pytest.raises(BadDescription, match="Give the description as a file"):
        parse_dataset(TEXT)
