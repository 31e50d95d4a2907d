"""A new secret: nothing of the old one is answered, everything can be loaded again, and the numbers are others."""

import threading

import pytest

from discreet.errors import LedgerUnusable, WorkspaceUnusable
from discreet.model.request import request_from_text
from discreet.release.pipeline import release_table
from discreet.workspace.folder_layout import lock_dataset
from discreet.workspace.ledger_location import LEDGER, open_ledger
from discreet.workspace.operate.rotate import rotate
from discreet.workspace.sealed import file_lock
from discreet.workspace.versions.load_version import LoadJob, load, load_dataset
from discreet.workspace.workspace import Workspace

REQUEST = request_from_text("town", rows=["area", "sex"], columns=["age", "job"])


def test_everything_is_loaded_again_with_other_noise(folder, town):
    stored = Workspace(folder).stored("town")
    before, secret = release_table(stored, REQUEST).values, (folder / "secret").read_bytes()
    done = rotate(folder)
    assert done.datasets == ("town",)
    assert Workspace(folder).ids() == []
    assert (folder / "secret").read_bytes() != secret
    assert (folder / "secret").stat().st_mode & 0o777 == 0o600
    load_dataset(folder, town.description.replace('version = "1"', 'version = "2"'), town.records.slice(150))
    assert (release_table(Workspace(folder).stored("town"), REQUEST).values != before).any()


def test_a_rotation_waits_for_a_load_and_a_load_that_waited_for_it_is_refused(dp_folder):
    """Wrong alternative: the folder of a running load is retired, and the load is charged for nothing."""
    home, old = dp_folder / "datasets" / "town", (dp_folder / "secret").read_bytes()
    rotation = threading.Thread(target=rotate, args=(dp_folder,))
    with lock_dataset(home):
        rotation.start()
        rotation.join(1)
        assert rotation.is_alive()
        assert (dp_folder / "secret").read_bytes() == old
    rotation.join()
    assert (dp_folder / "secret").read_bytes() != old
    home.mkdir()
    (home / ".lock").touch()
    lock, moved = file_lock(home / ".lock"), []

    def wait():
        try:
            with lock_dataset(home):
                moved.append("locked")
        except WorkspaceUnusable as error:
            moved.append(error.message)

    with lock:
        waiter = threading.Thread(target=wait)
        waiter.start()
        waiter.join(1)
        home.rename(dp_folder / "gone")
    waiter.join()
    assert moved == ["The secret of the workspace was rotated while the command waited."]


def test_what_was_put_aside_is_a_workspace_of_its_own(folder):
    before = release_table(Workspace(folder).stored("town"), REQUEST).values
    retired = folder / rotate(folder).retired
    assert (release_table(Workspace(retired).stored("town"), REQUEST).values == before).all()


def test_the_ledger_stays_and_charges_the_new_load(dp_folder, town, private_description):
    before = open_ledger(dp_folder).state("town")
    older = (dp_folder / LEDGER).read_bytes()
    rotate(dp_folder)
    assert open_ledger(dp_folder).state("town") == before
    text = private_description.replace('version = "1"', 'version = "2"')
    assert load(LoadJob(dp_folder, text, town.records)).receipt is not None
    (dp_folder / LEDGER).write_bytes(older)
    with pytest.raises(LedgerUnusable):
        open_ledger(dp_folder)


def test_a_copy_of_the_ledger_of_before_a_rotation_is_refused_where_no_mark_tells(dp_folder):
    """Its chain was made with the old secret."""
    older = (dp_folder / LEDGER).read_bytes()
    rotate(dp_folder)
    (dp_folder / LEDGER).write_bytes(older)
    with pytest.raises(LedgerUnusable, match="not written with the secret of this workspace"):
        open_ledger(dp_folder)


def test_a_rotation_that_was_broken_off_is_finished_by_the_next(dp_folder, monkeypatch):
    """It ends between the new chain and the new secret: nothing is answered, and nothing is lost."""
    before = open_ledger(dp_folder).state("town")
    with monkeypatch.context() as broken:
        broken.setattr("discreet.workspace.operate.rotate.RETIRING", "missing/retiring")
        with pytest.raises(FileNotFoundError):
            rotate(dp_folder)
    with pytest.raises(LedgerUnusable, match="not written with the secret") as refused:
        Workspace(dp_folder).stored("town")
    assert "`discreet secret rotate` completes" in refused.value.advice
    rotate(dp_folder)
    assert open_ledger(dp_folder).state("town") == before
    assert not (dp_folder / "secret.new").exists()
