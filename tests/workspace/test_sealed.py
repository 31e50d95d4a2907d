"""A full disk at any step of a load leaves the version before, nothing half-made, and a sentence that says so.

Only the records of the load are served: another version's, a changed table or a file too many is refused.
"""

import errno
import json
import os
import shutil
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from tests.workspace.conftest import flip, numbers, place_of

from discreet.errors import WorkspaceUnusable
from discreet.records import compiled_count
from discreet.workspace.sealed import (
    END,
    RECORDS_SEAL,
    make_private_folder,
    read_records_seal,
    replace_file,
    report_full_disk,
    seal_records,
    verify_records,
)
from discreet.workspace.versions import checkpoints, history, load_version, version, version_engine
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.versions.version import read_version
from discreet.workspace.workspace import Workspace

MESSAGE = 'The disk is full: the load of "town" was stopped. The version before is still served.'


def full(*_arguments, **_named):
    raise OSError(errno.ENOSPC, "No space left on device")


def full_in_words(*_arguments):
    raise duckdb.IOException('IO Error: Could not write file "x": No space left on device')


#: Every step of a load that writes, in order, and how it meets a full disk.
STEPS = {
    "schema": (load_version, "write_schema", full),
    "stage": (pa.ipc, "new_file", full),
    "store": (compiled_count, "write_codes", full_in_words),
    "first cube": (load_version, "write_first_cube", full),
    "seal": (load_version, "write_version", full),
    "fsync": (load_version, "fsync_tree", full),
    "checkpoint": (checkpoints, "write_sealed", full),
    "settle": (load_version, "fsync_path", full),
    "history": (history, "write_sealed", full),
    "current": (version, "replace_file", full),
}


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_full_disk_leaves_the_version_before(town, town_workspace, tmp_path, monkeypatch, step):
    folder = shutil.copytree(town_workspace.folder, tmp_path / "w")
    home = folder / "datasets" / "town"
    before = (home / "current").read_text()
    where, name, fault = STEPS[step]
    with monkeypatch.context() as patch:
        patch.setattr(where, name, fault)
        with pytest.raises(WorkspaceUnusable) as raised:
            load_dataset(folder, town.description.replace("A town", "Full"), town.records)
    assert raised.value.message == MESSAGE
    assert raised.value.advice
    assert (home / "current").read_text() == before
    assert not [path for path in home.iterdir() if path.name.startswith((".loading", ".current"))]
    workspace = Workspace(folder)
    assert workspace.verify("town") == before.strip()
    assert workspace.stored("town").dataset.label == "A town"
    workspace.close()


def test_a_file_that_cannot_be_flushed_is_not_replaced_and_leaves_nothing(tmp_path, monkeypatch):
    (tmp_path / "current").write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            replace_file(tmp_path / "current", "new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"current": "old"}
    replace_file(tmp_path / "current", "new")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"current": "new"}


def test_what_is_no_full_disk_is_not_called_one(tmp_path):
    """The wrong alternative: to blame the disk for every error of the system."""
    with pytest.raises(PermissionError), report_full_disk("town", tmp_path):
        raise PermissionError(errno.EACCES, "Permission denied")


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_folder_is_made_ones_own_but_not_one_of_many_people(tmp_path):
    for before, after in ((0o755, 0o700), (0o1777, 0o1777)):
        tmp_path.chmod(before)
        make_private_folder(tmp_path)
        assert tmp_path.stat().st_mode & 0o7777 == after
    make_private_folder(tmp_path / "new" / "below")
    assert (tmp_path / "new" / "below").stat().st_mode & 0o777 == 0o700


@pytest.fixture
def folder(town_workspace, tmp_path):
    """A workspace with the town, for a test to damage."""
    return shutil.copytree(town_workspace.folder, tmp_path / "workspace")


def two_versions(town, folder, description=None):
    """A version without one person beside the current one with everybody; their folders."""
    current = place_of(folder)
    text = (description or town.description).replace('version = "1"', 'version = "0"')
    load_dataset(folder, text, town.records.slice(1))
    without = place_of(folder)
    (folder / "datasets" / "town" / "current").write_text(current.name)
    return without, current


def refused(folder, match):
    with pytest.raises(WorkspaceUnusable, match=match) as raised:
        numbers(folder)
    assert raised.value.advice


def write_sql(path, *statements):
    with duckdb.connect(str(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.execute("CHECKPOINT")


class TestOtherRecords:
    def test_another_versions_records_would_give_a_person_away_under_dp_and_are_not_served(
        self, town, private_town
    ):
        without, current = two_versions(town, private_town.folder, private_town.description)
        shutil.copy(without / "data.duckdb", current / "data.duckdb")
        refused(private_town.folder, "have changed since their load")

    def test_without_the_seal_of_files_the_tag_alone_refuses_them(self, town, folder, monkeypatch):
        """Two seals, not one: each refuses the other version's records by itself."""
        without, current = two_versions(town, folder)
        once = numbers(folder)
        shutil.copy(without / "data.duckdb", current / "data.duckdb")
        monkeypatch.setattr(version, "refuse_foreign_files", lambda *_: None)
        refused(folder, "have changed since their load")
        monkeypatch.setattr(version_engine, "record_tag", lambda *_: _tag_in(current))
        shutil.rmtree(current / "cubes")  # its roll-up has a seal of its own, and still tells the truth
        assert numbers(folder) != once, "the wrong alternative: without tag and seal they are served"

    def test_neither_another_datasets_records_nor_its_whole_version_is_served(self, town, folder):
        village = town.description.replace('id = "town"', 'id = "village"', 1)
        load_dataset(folder, village, town.records)
        other = place_of(folder, "village")
        shutil.copy(other / "data.duckdb", place_of(folder) / "data.duckdb")
        refused(folder, "have changed since their load")
        shutil.copytree(other, folder / "datasets" / "town" / other.name)
        (folder / "datasets" / "town" / "current").write_text(other.name)
        refused(folder, 'belongs to "village"')

    def test_records_whose_seal_was_copied_with_them_are_not_served(self, town, folder):
        without, current = two_versions(town, folder)
        for name in ("data.duckdb", RECORDS_SEAL):
            shutil.copy(without / name, current / name)
        refused(folder, "was changed after it was loaded")


def _tag_in(place):
    with duckdb.connect(str(place / "data.duckdb"), read_only=True) as database:
        return database.execute("SELECT tag FROM seal").fetchone()[0]


class TestChangedRecords:
    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE records SET age = 1 WHERE age = 0",
            "DELETE FROM records WHERE age = 0",
            "CREATE TABLE other AS SELECT 1 AS x",
            "CREATE VIEW other AS SELECT * FROM records",
            "INSERT INTO seal VALUES ('another')",
        ],
    )
    def test_a_database_that_was_written_to_is_not_opened(self, folder, statement):
        write_sql(place_of(folder) / "data.duckdb", statement)
        refused(folder, "have changed since their load")

    def test_a_table_too_many_is_refused_by_the_engine_too(self, folder, monkeypatch):
        write_sql(place_of(folder) / "data.duckdb", "CREATE TABLE other AS SELECT 1 AS x")
        monkeypatch.setattr(version, "refuse_foreign_files", lambda *_: None)
        refused(folder, "do not have the tables of a load")

    @pytest.mark.parametrize("name", ["data.duckdb.wal", "notes.txt", "more/data.duckdb"])
    def test_a_file_too_many_is_refused_by_name(self, folder, name):
        path = place_of(folder) / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")
        refused(folder, name)

    def test_a_link_to_the_records_is_not_the_records(self, folder):
        path = place_of(folder) / "data.duckdb"
        path.rename(folder / "elsewhere.duckdb")
        path.symlink_to(folder / "elsewhere.duckdb")
        refused(folder, "have changed since their load")

    def test_the_seal_is_needed_and_cannot_be_changed(self, folder):
        seal = place_of(folder) / RECORDS_SEAL
        text = seal.read_text()
        for other, match in (("[1]", "cannot be read"), (text.replace("1", "2", 1), "changed after")):
            seal.write_text(other)
            refused(folder, match)
        seal.unlink()
        refused(folder, "cannot be read")

    def test_a_load_repairs_what_was_changed(self, town, folder):
        once = numbers(folder)
        flip(place_of(folder) / "data.duckdb")
        load_dataset(folder, town.description, town.records)
        workspace = Workspace(folder)
        assert workspace.verify("town") == place_of(folder).name
        workspace.close()
        assert numbers(folder) == once


class TestTheWholeHash:
    """The wrong alternative is to look at the ends of a file only: it cannot see a byte in the middle."""

    def test_a_byte_in_the_middle_is_seen_by_verify_and_stops_the_answers_until_it_is_mended(self, folder):
        path = place_of(folder) / "data.duckdb"
        raw = path.read_bytes()
        flip(path)
        workspace = Workspace(folder)
        workspace.stored("town")
        for attempt in (workspace.verify, workspace.stored):
            with pytest.raises(WorkspaceUnusable, match="have changed since their load"):
                attempt("town")
        path.write_bytes(raw)
        workspace.verify("town")
        assert workspace.stored("town").dataset.id == "town"
        workspace.close()

    def test_every_byte_is_read_once_and_the_pace_is_told(self, folder, secret):
        place, read = place_of(folder), []
        seal = read_version(place, secret).records
        verify_records(place, seal, secret, read.append)
        assert sum(read) == sum(file.size for file in seal.files.values())

    def test_the_hashes_are_keyed_by_the_version(self, tmp_path, secret):
        (tmp_path / "data").write_bytes(b"records")
        one, other = (seal_records(tmp_path, secret, name).files["data"] for name in ("a" * 32, "b" * 32))
        assert one.size == other.size == 7
        assert one.whole != other.whole
        assert one.ends != other.ends


def test_nothing_but_the_records_is_left_by_a_load(folder, secret):
    """No log that whoever opens the file would replay, no temporary file."""
    seal = read_records_seal(place_of(folder))
    assert set(seal.files) == {"data.duckdb", "ids.sketch"}
    assert json.loads((place_of(folder) / RECORDS_SEAL).read_text()).keys() == set(seal.files)


def test_opening_reads_the_ends_of_the_file_only(folder, secret, monkeypatch):
    """Constant cost, however long the file is."""
    place, read = place_of(folder), []
    opened = type(place).open

    def counted(self, mode="r", **how):
        file = opened(self, mode, **how)
        if self.suffix == ".duckdb":
            was = file.read
            monkeypatch.setattr(file, "read", lambda n=-1: read.append(n) or was(n), raising=False)
        return file

    monkeypatch.setattr(type(place), "open", counted)
    read_version(place, secret)
    assert read == [END, END]


def test_a_server_without_free_descriptors_does_not_call_its_records_damaged(tmp_path, monkeypatch):
    """Wrong alternative: a dataset that is not served until the next round of the watch."""

    def full(*_given, **_named):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(Path, "read_text", full)
    with pytest.raises(OSError, match="Too many"):
        read_records_seal(tmp_path)
