"""A full disk at any step of a load leaves the version before, nothing half-made, and a sentence that says so."""

import errno
import shutil
import subprocess
import sys

import duckdb
import pyarrow as pa
import pytest

from discreet.errors import WorkspaceUnusable
from discreet.records.engines import duckdb as duckdb_engine
from discreet.workspace import load
from discreet.workspace.disk import full_disk_told
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
    "store": (duckdb_engine, "_roll_up", full_in_words),
    "seal": (load, "write_version", full),
    "keep": (load, "keep", full),
    "settle": (load, "keep_names", full),
    "point": (load.os, "fsync", full),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_full_disk_leaves_the_version_before(town, town_workspace, tmp_path, monkeypatch, step):
    folder = shutil.copytree(town_workspace.folder, tmp_path / "w")
    home = folder / "datasets" / "town"
    before = (home / "current").read_text()
    where, name, fault = STEPS[step]
    if step == "point":
        monkeypatch.setattr(load, "keep", lambda _folder: None)
        monkeypatch.setattr(load, "keep_names", lambda _folder: None)
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


PROGRAM = """
import shutil, sys
from pathlib import Path
import pyarrow.parquet as pq
from discreet.errors import WorkspaceUnusable
from discreet.workspace.load import load_dataset
from discreet.workspace.workspace import Workspace
base, given = Path(sys.argv[1]), Path(sys.argv[2])
text, records = (given / "town.toml").read_text(), pq.read_table(given / "town.parquet")
folder, ballast = base / "w", base / "ballast"
load_dataset(folder, text, records.slice(5))
before = (folder / "datasets" / "town" / "current").read_text()
for room in [0, 4_096, 20_000, 60_000, 120_000, 300_000, 600_000, 1_200_000, 2_500_000]:
    ballast.write_bytes(bytes(max(shutil.disk_usage(base).free - room, 0)))
    try:
        load_dataset(folder, text, records)
        print("loaded", room)
    except WorkspaceUnusable as error:
        print(error.message)
    ballast.unlink()
    if (folder / "datasets" / "town" / "current").read_text() == before:
        Workspace(folder).verify("town")
print(Workspace(folder).verify("town") != before.strip())
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a small disk of one's own is Linux's")
def test_on_a_disk_that_is_really_full(town, tmp_path):
    """DuckDB, Arrow and Python each meet the end of a small disk at another step."""
    import pyarrow.parquet as pq

    (tmp_path / "disk").mkdir()
    (tmp_path / "town.toml").write_text(town.description)
    pq.write_table(town.records, tmp_path / "town.parquet")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    small = f'mount -t tmpfs -o size=6m tmpfs "{tmp_path}/disk" && '
    small += f'exec "{sys.executable}" "{program}" "{tmp_path}/disk" "{tmp_path}"'
    try:
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", small], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if "mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip("no file system may be mounted here")
    assert done.returncode == 0, done.stderr
    *tried, replaced = done.stdout.splitlines()
    assert tried[0] == MESSAGE
    assert {line.split()[0] for line in tried} == {"The", "loaded"}
    assert {line for line in tried if line.startswith("The")} == {MESSAGE}
    assert replaced == "True"
