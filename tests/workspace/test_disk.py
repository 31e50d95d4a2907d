"""A full disk at any step of a load leaves the version before, nothing half-made, and a sentence that says so."""

import errno
import os
import shutil

import duckdb
import pyarrow as pa
import pytest

from discreet.errors import WorkspaceUnusable
from discreet.records.engines import duckdb as duckdb_engine
from discreet.workspace import ledger_marks, load
from discreet.workspace.disk import full_disk_told, make_own
from discreet.workspace.load import load_dataset
from discreet.workspace.workspace import Workspace

MESSAGE = 'The disk is full: the load of "town" was given up, and what was served before is still served.'


def full(*_arguments, **_named):
    raise OSError(errno.ENOSPC, "No space left on device")


def full_in_words(*_arguments):
    raise duckdb.IOException('IO Error: Could not write file "x": No space left on device')


#: Every step of a load that writes, in order, and how it meets a full disk.
STEPS = {
    "mark": (load, "mark_workspace", full),
    "stage": (pa.ipc, "new_file", full),
    "store": (duckdb_engine, "_write_tag", full_in_words),
    "roll up": (load, "roll_up", full),
    "seal": (load, "write_version", full),
    "keep": (load, "keep", full),
    "ledger mark": (ledger_marks, "_write", full),
    "settle": (load, "keep_names", full),
    "point": (load.os, "fsync", full),
}


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
def test_a_full_disk_leaves_the_version_before(town, town_workspace, tmp_path, monkeypatch, step):
    folder = shutil.copytree(town_workspace.folder, tmp_path / "w")
    home = folder / "datasets" / "town"
    before = (home / "current").read_text()
    where, name, fault = STEPS[step]
    if step == "point":
        monkeypatch.setattr(load, "keep", lambda _folder: None)
        monkeypatch.setattr(load, "keep_names", lambda _folder: None)
        monkeypatch.setattr(ledger_marks, "keep_names", lambda _folder: None)
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


def test_what_is_no_full_disk_is_not_called_one(tmp_path):
    """The wrong alternative: to blame the disk for every error of the system."""
    with pytest.raises(PermissionError), full_disk_told("town", tmp_path):
        raise PermissionError(errno.EACCES, "Permission denied")


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_folder_is_made_ones_own_but_not_one_of_many_people(tmp_path):
    for before, after in ((0o755, 0o700), (0o1777, 0o1777)):
        tmp_path.chmod(before)
        make_own(tmp_path)
        assert tmp_path.stat().st_mode & 0o7777 == after
    make_own(tmp_path / "new" / "below")
    assert (tmp_path / "new" / "below").stat().st_mode & 0o777 == 0o700
