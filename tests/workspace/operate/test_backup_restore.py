"""Backup: the same numbers after the way back, nothing changed unnoticed, and a ledger that only moves forward."""

import errno
import json
import os
import shutil
import sqlite3
import stat
import threading
from fractions import Fraction

import pytest
from tests.workspace.conftest import flip, numbers

from discreet.errors import BadRequest, LedgerUnusable, NotFound, WorkspaceUnusable
from discreet.ledger.entries import Charge
from discreet.records.keys import read_secret
from discreet.workspace.ledger_location import LEDGER, open_ledger
from discreet.workspace.operate.backup_restore import INSIDE, MANIFEST, back_up, move, restore, verify_backup
from discreet.workspace.operate.make_cubes import make_cubes
from discreet.workspace.operate.rotate import rotate
from discreet.workspace.versions.checkpoints import MARK, VersionCheckpoints
from discreet.workspace.versions.load_version import load_dataset


def spend(folder, name):
    """One more charge, as an answer would make it; its mark is raised."""
    ledger = open_ledger(folder)
    secret = read_secret(folder / "secret")
    (place,) = (path.parent for path in (folder / "datasets" / "town").glob(f"*/{MARK}"))
    charge = Charge("town", name, Fraction(1, 10**6), Fraction(0))
    ledger.with_checkpoints(VersionCheckpoints(folder, secret, place)).charge(charge)
    ledger.close()


def charges(folder):
    with sqlite3.connect(folder / LEDGER) as connection:
        return {row[0] for row in connection.execute("SELECT what FROM charges")}


def test_a_restored_workspace_has_the_same_numbers(folder, tmp_path):
    before = numbers(folder)
    document = back_up(folder, tmp_path / "copy")
    assert "secret" in document["files"]
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o700
    told = restore(tmp_path / "copy", tmp_path / "again")
    assert document["at"] in told[0]
    assert numbers(tmp_path / "again") == before


def test_only_the_owner_can_read_a_workspace_its_cubes_and_its_backups(town, tmp_path):
    """Wrong alternative: 0644 under a folder of 0700, which a copy to another place opens to all."""
    usual = os.umask(0o022)
    try:
        load_dataset(tmp_path / "w", town.description, town.records)
        make_cubes(tmp_path / "w", "town", within=10**6)
        back_up(tmp_path / "w", tmp_path / "copy")
        restore(tmp_path / "copy", tmp_path / "again")
    finally:
        os.umask(usual)
    found = [path for path in tmp_path.rglob("*") if path.stat().st_mode & 0o077]
    assert not found


def test_a_copy_made_while_records_are_loaded_is_whole(folder, town, tmp_path):
    text = town.description.replace('version = "1"', 'version = "9"')
    loading = threading.Thread(target=load_dataset, args=(folder, text, town.records.slice(300)))
    loading.start()
    back_up(folder, tmp_path / "copy")
    loading.join()
    restore(tmp_path / "copy", tmp_path / "again")
    assert numbers(tmp_path / "again")
    assert not list((tmp_path / "again").rglob(".loading-*"))


@pytest.mark.parametrize("fault", ["changed", "missing", "foreign", "list"])
def test_a_backup_that_is_not_whole_is_refused_and_nothing_is_restored(folder, tmp_path, fault):
    back_up(folder, tmp_path / "copy")
    file = next((tmp_path / "copy" / INSIDE).rglob("data.duckdb"))
    if fault == "changed":
        flip(file)
    elif fault == "missing":
        file.unlink()
    elif fault == "foreign":
        (file.parent / "data.duckdb.wal").write_bytes(b"x")
    else:
        manifest = tmp_path / "copy" / MANIFEST
        manifest.write_text(manifest.read_text("utf-8").replace('"at": "', '"at": "1'), "utf-8")
    with pytest.raises(WorkspaceUnusable):
        restore(tmp_path / "copy", tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_the_later_ledger_stays(dp_folder, tmp_path):
    """Wrong alternative: the ledger of the backup in the place of one that knows a later charge."""
    back_up(dp_folder, tmp_path / "copy")
    spend(dp_folder, "later")
    told = restore(tmp_path / "copy", dp_folder)
    assert "later" in charges(dp_folder)
    assert any("has later charges than the backup and was kept" in sentence for sentence in told)


def test_an_older_ledger_is_moved_forward(dp_folder, tmp_path):
    back_up(dp_folder, tmp_path / "old")
    spend(dp_folder, "later")
    back_up(dp_folder, tmp_path / "copy")
    shutil.rmtree(dp_folder)
    restore(tmp_path / "old", dp_folder)
    assert "later" not in charges(dp_folder)
    restore(tmp_path / "copy", dp_folder)
    assert "later" in charges(dp_folder)


def test_two_ledgers_that_went_apart_are_refused(dp_folder, tmp_path):
    back_up(dp_folder, tmp_path / "copy")
    spend(tmp_path / "copy" / INSIDE, "there")
    spend(dp_folder, "here")
    with pytest.raises((LedgerUnusable, WorkspaceUnusable)):
        restore(tmp_path / "copy", dp_folder)
    assert charges(dp_folder) >= {"here"}


def test_an_older_ledger_beside_newer_marks_is_not_served_and_a_whole_older_workspace_is_told(
    dp_folder, tmp_path
):
    """The ledger alone is noticed. Ledger and marks together are not, and the custodian is told what the marks said."""
    back_up(dp_folder, tmp_path / "copy")
    spend(dp_folder, "later")
    (dp_folder / LEDGER).write_bytes((tmp_path / "copy" / INSIDE / LEDGER).read_bytes())
    with pytest.raises(LedgerUnusable, match="older than released tables: it ends with entry 5"):
        open_ledger(dp_folder)
    (dp_folder / LEDGER).unlink()  # now it is lost, and the whole workspace is restored
    told = " ".join(restore(tmp_path / "copy", dp_folder))
    assert "was released after entry 6. Those charges are lost: count them as spent." in told
    assert numbers(dp_folder)


def test_a_backup_of_before_a_rotation_comes_back_with_every_charge_of_after(
    dp_folder, town, private_description, tmp_path
):
    """Wrong alternative: the ledger that stays is chained under the secret of after, and is refused."""
    back_up(dp_folder, tmp_path / "copy")
    before = numbers(dp_folder)
    rotate(dp_folder)
    load_dataset(dp_folder, private_description.replace('version = "1"', 'version = "2"'), town.records)
    restore(tmp_path / "copy", dp_folder)
    assert numbers(dp_folder) == before
    assert len(charges(dp_folder)) == 2


def test_restored_into_an_empty_place_it_says_what_nobody_knows(dp_folder, tmp_path):
    back_up(dp_folder, tmp_path / "copy")
    told = " ".join(restore(tmp_path / "copy", tmp_path / "again"))
    assert "later charges are unknown" in told


def test_a_workspace_is_moved_to_another_place_or_disk(folder, tmp_path, monkeypatch):
    before = numbers(folder)
    move(folder, tmp_path / "moved")
    assert not folder.exists()
    assert numbers(tmp_path / "moved") == before
    real = type(folder).rename

    def other_disk(self, target):
        if (self, target) == (tmp_path / "moved", tmp_path / "further"):
            raise OSError(18, "Invalid cross-device link")
        return real(self, target)

    monkeypatch.setattr(type(folder), "rename", other_disk)
    move(tmp_path / "moved", tmp_path / "further")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["further"]
    assert numbers(tmp_path / "further") == before


def test_a_refused_or_failed_restore_leaves_no_copy_of_the_secret(dp_folder, tmp_path, monkeypatch):
    """Wrong alternative: the copy is removed by the next restore only."""
    back_up(dp_folder, tmp_path / "copy")
    spend(tmp_path / "copy" / INSIDE, "there")
    manifest = json.loads((tmp_path / "copy" / MANIFEST).read_text("utf-8"))
    monkeypatch.setattr("discreet.workspace.operate.backup_restore.verify_backup", lambda _backup: manifest)
    spend(dp_folder, "here")
    with pytest.raises(LedgerUnusable, match="The ledgers of the backup"):
        restore(tmp_path / "copy", dp_folder)
    monkeypatch.setattr("discreet.workspace.operate.backup_restore.fsync_tree", _full)
    with pytest.raises(OSError, match="No space"):
        restore(tmp_path / "copy", tmp_path / "again")
    with pytest.raises(OSError, match="No space"):
        back_up(dp_folder, tmp_path / "another")
    assert sorted(path.name for path in tmp_path.iterdir() if path != dp_folder) == ["copy"]


def _full(_folder):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_two_backups_at_once_make_two_copies_or_one(folder, tmp_path):
    """Two into one folder: one is refused, the other is complete. Wrong alternative: each removes the other's files."""
    found = []

    def run(name):
        try:
            found.append(back_up(folder, tmp_path / name))
        except BadRequest as error:
            found.append(error)

    threads = [threading.Thread(target=run, args=(name,)) for name in ("a", "a", "a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(each, BadRequest) for each in found) == 2
    assert all(verify_backup(tmp_path / name) for name in "ab")


def test_what_stands_there_is_not_overwritten(folder, tmp_path):
    (tmp_path / "there").mkdir()
    with pytest.raises(BadRequest, match="exists already"):
        back_up(folder, tmp_path / "there")
    with pytest.raises(BadRequest, match="exists already"):
        move(folder, tmp_path / "there")
    with pytest.raises(NotFound, match="not a backup"):
        restore(tmp_path / "there", tmp_path / "again")


def test_nothing_is_copied_or_moved_into_itself(folder, tmp_path):
    """The wrong alternative takes the refusal of the system for another disk, and removes the copy with the workspace."""
    before = numbers(folder)
    (tmp_path / "link").symlink_to(folder)
    for inside in (folder / "copy", folder / "datasets" / "copy", tmp_path / "link" / "copy"):
        with pytest.raises(BadRequest, match="lies in"):
            back_up(folder, inside)
        with pytest.raises(BadRequest, match="lies in"):
            move(folder, inside)
        assert not inside.exists()
    back_up(folder, tmp_path / "copy")
    with pytest.raises(BadRequest, match="lies in"):
        restore(tmp_path / "copy", tmp_path / "copy" / "workspace" / "again")
    assert numbers(folder) == before
