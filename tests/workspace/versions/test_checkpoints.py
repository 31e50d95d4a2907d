"""The marks in the folders of versions: sealed, only raised, and what a ledger must extend."""

import sqlite3
import threading
from fractions import Fraction

import pytest

from discreet.errors import LedgerUnusable, WorkspaceUnusable
from discreet.ledger.entries import Charge, Checkpoint
from discreet.ledger.ledger import Ledger
from discreet.model.request import TableRequest
from discreet.protect.charges import version_budget
from discreet.records.keys import read_secret
from discreet.release.pipeline import release_table
from discreet.workspace.ledger_location import LEDGER, chain_key, open_accounts, open_ledger
from discreet.workspace.operate.manage_versions import remove_dataset
from discreet.workspace.versions.checkpoints import MARK, VersionCheckpoints, read_checkpoint
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.versions.version import read_version
from discreet.workspace.workspace import Workspace

INSIDE = TableRequest("town", ("sex",), ("age",))
OUTSIDE = TableRequest("town", ("sex",), ("job",), ("area",))


@pytest.fixture
def folder(private_town):
    return private_town.folder


@pytest.fixture
def place(folder):
    (mark,) = (folder / "datasets" / "town").glob(f"*/{MARK}")
    return mark.parent


@pytest.fixture
def marks(folder, place):
    return VersionCheckpoints(folder, read_secret(folder / "secret"), place)


def ask(folder):
    """A table outside the universe, which is charged."""
    key = open_accounts(folder).create("ann", "analyst")
    ledger = open_ledger(folder)
    ledger.allow("town", "ann", (Fraction(1), Fraction(1, 10**6)))
    workspace = Workspace(folder)
    release = release_table(workspace.stored("town"), OUTSIDE, workspace.asker(key))
    workspace.close()
    return release


def ledger_now(folder):
    """All of the ledger in one file."""
    with sqlite3.connect(folder / LEDGER) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return (folder / LEDGER).read_bytes()


def put(folder, content):
    for path in folder.glob(f"{LEDGER}*"):
        path.unlink()
    (folder / LEDGER).write_bytes(content)


@pytest.mark.slow
def test_a_load_leaves_a_mark_at_its_own_charge_and_an_answer_raises_it(folder, marks):
    assert marks.current().position == 5  # begun, budget, lineage, version, charge
    assert list(marks.by_version().values()) == [marks.current()]
    ask(folder)
    assert marks.current().position == 7  # the share, and the answer


def test_an_older_ledger_is_refused_wherever_it_is_asked(folder, private_town):
    """Rolled back, and rolled back with the last charge deleted from a newer one: both are older than the mark."""
    older = ledger_now(folder)
    ask(folder)
    newer = ledger_now(folder)
    put(folder, older)
    for attempt in (
        lambda: Workspace(folder).stored("town"),
        lambda: open_ledger(folder),
        lambda: load_dataset(folder, private_town.description, private_town.records),
    ):
        with pytest.raises(
            LedgerUnusable, match=r'ends with entry 5, but version .* of "town" was released after'
        ):
            attempt()
    put(folder, newer)
    with sqlite3.connect(folder / LEDGER) as connection:
        loss = connection.execute("SELECT loss, failure FROM charges WHERE position = 7").fetchone()
        for table in ("charges", "chain"):
            connection.execute(f"DELETE FROM {table} WHERE position = 7")
        for table in ("families", "shares"):
            spent = "spent_loss = spent_loss - ?, spent_failure = spent_failure - ?"
            connection.execute(f"UPDATE {table} SET {spent}", loss)
    connection.close()
    with pytest.raises(LedgerUnusable, match="ends with entry 6"):
        Workspace(folder).stored("town")
    put(folder, newer)
    assert release_table(Workspace(folder).stored("town"), OUTSIDE)


def test_a_ledger_that_is_rolled_back_under_a_server_gives_no_answers(folder):
    older = ledger_now(folder)
    ask(folder)
    stored = Workspace(folder).stored("town")
    put(folder, older)
    with pytest.raises(LedgerUnusable, match="older than released tables"):
        release_table(stored, INSIDE)


@pytest.mark.slow
def test_a_ledger_that_was_charged_again_after_a_roll_back_is_another_one(folder, place):
    older, mark = ledger_now(folder), (place / MARK).read_bytes()
    ask(folder)
    newer_mark = (place / MARK).read_bytes()
    put(folder, older)
    (place / MARK).write_bytes(mark)  # ledger and marks together: nobody can notice
    ledger = open_ledger(folder)
    for n in range(3):
        ledger.charge(Charge("town", f"other {n}", Fraction(1, 100), Fraction(0)))
    (place / MARK).write_bytes(newer_mark)
    with pytest.raises(LedgerUnusable, match="its entry 7 is not the one after which version"):
        open_ledger(folder)


@pytest.mark.slow
def test_the_mark_of_one_dataset_protects_the_budget_of_all(folder, private_town):
    """A budget is shared: a charge to one dataset must not be forgotten when another is charged."""
    sister = private_town.description.replace('id = "town"', 'id = "sister"\nlineage = "town"', 1)
    older = ledger_now(folder)
    sisters = Workspace(folder)
    sisters.stored("town")
    load_dataset(folder, sister, private_town.records)
    put(folder, older)
    with pytest.raises(LedgerUnusable, match='of "sister" was released after entry 8'):
        sisters.stored("town").dp.ledger.charge(Charge("town", "x", Fraction(1, 100), Fraction(0)))


@pytest.mark.parametrize("fault", ["position", "tag", "other version", "no JSON"])
@pytest.mark.slow
def test_a_mark_that_was_changed_is_refused(folder, place, marks, fault):
    text = (place / MARK).read_text("ascii")
    changed = {
        "position": text.replace('"position": 5', '"position": 4'),
        "tag": text.replace(marks.current().tag, "0" * 64),
        "no JSON": "5",
        "other version": text,
    }[fault]
    (place / MARK).write_text(changed, "ascii")
    if fault == "other version":
        with pytest.raises(LedgerUnusable, match="is unreadable or was changed"):
            read_checkpoint(place, "0" * 32, read_secret(folder / "secret"))
        return
    with pytest.raises(LedgerUnusable, match=r"ledger's checkpoint in version .* was changed"):
        Workspace(folder).stored("town")


@pytest.mark.slow
def test_a_version_that_lost_its_mark_is_not_served(folder, place):
    """Wrong alternative: without the mark every older ledger would be believed."""
    (place / MARK).unlink()
    with pytest.raises(WorkspaceUnusable, match="has lost its ledger checkpoint") as refused:
        Workspace(folder).stored("town")
    assert "newest backup" in refused.value.advice


def test_an_older_ledger_is_refused_where_the_mark_that_knows_more_was_removed(folder, private_town):
    """Wrong alternative: only the version that is asked for must have its mark."""
    older = ledger_now(folder)
    (first,) = (folder / "datasets" / "town").glob(f"*/{MARK}")
    load_dataset(
        folder, private_town.description.replace('version = "1"', 'version = "2"', 1), private_town.records
    )
    (second,) = {*(folder / "datasets" / "town").glob(f"*/{MARK}")} - {first}
    put(folder, older)
    second.unlink()
    (first.parents[1] / "current").write_text(f"{first.parent.name}\n", "ascii")
    lost = f"Version {second.parent.name[:8]} .* has lost its ledger checkpoint"
    for attempt in (
        lambda: Workspace(folder).stored("town"),
        lambda: open_ledger(folder),
        lambda: load_dataset(folder, private_town.description, private_town.records),
    ):
        with pytest.raises(WorkspaceUnusable, match=lost):
            attempt()


@pytest.mark.slow
def test_a_mark_that_is_lost_for_good_goes_with_its_version(folder, place, private_town):
    """Whoever has no copy removes the version and loads the records again, which were paid for."""
    (place / MARK).unlink()
    remove_dataset(folder, "town")
    spent = open_ledger(folder).state("town").spent
    load_dataset(folder, private_town.description, private_town.records)
    assert (place / MARK).is_file()
    assert open_ledger(folder).state("town").spent == spent


@pytest.mark.slow
def test_a_mark_is_only_raised_by_however_many(marks):
    """Wrong alternative: the last writer wins."""
    start = marks.current().position
    raising = [
        threading.Thread(target=marks.write, args=(Checkpoint(start + n, f"{n}"),))
        for n in (7, 3, 9, 1, 8, 2)
    ]
    for thread in raising:
        thread.start()
    for thread in raising:
        thread.join()
    assert marks.current() == Checkpoint(start + 9, "9")
    marks.write(Checkpoint(start, "older"))
    assert marks.current() == Checkpoint(start + 9, "9")


@pytest.mark.slow
def test_a_mark_that_cannot_be_written_means_no_answer(marks, monkeypatch):
    def full(*_given, **_named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("discreet.workspace.versions.checkpoints.write_sealed", full)
    with pytest.raises(LedgerUnusable, match="cannot be written: No space left") as refused:
        marks.write(Checkpoint(99, "x"))
    assert "The charge remains" in refused.value.advice


@pytest.mark.slow
def test_the_mark_of_a_removed_version_still_counts(folder, marks):
    older = ledger_now(folder)
    ask(folder)
    remove_dataset(folder, "town")
    assert [
        mark.position
        for mark in VersionCheckpoints(folder, read_secret(folder / "secret")).by_version().values()
    ] == [7]
    put(folder, older)
    with pytest.raises(LedgerUnusable, match="older than released tables"):
        open_ledger(folder)


def test_a_cap_that_was_raised_before_there_was_a_chain_is_refused_by_the_sealed_terms(folder, place):
    """What an old ledger holds is taken as found: its cap must still be the one that a version declares."""
    with sqlite3.connect(folder / LEDGER) as connection:
        connection.execute("DELETE FROM chain")
        connection.execute("UPDATE families SET cap_loss = cap_loss * 2")
    connection.close()
    with pytest.raises(LedgerUnusable, match="older than released tables: it ends with entry 0"):
        open_ledger(folder)
    (place / MARK).unlink()
    secret = read_secret(folder / "secret")
    ledger = Ledger.open(folder / LEDGER, chain_key(secret))
    VersionCheckpoints(folder, secret, place).write(ledger._chain.last)
    plan = read_version(place, secret).noise
    with pytest.raises(LedgerUnusable, match='cap, rule or neighbours of the budget "town"'):
        ledger.refuse_other_terms(version_budget(plan))
    with pytest.raises(LedgerUnusable, match="differ from those of a loaded version"):
        Workspace(folder).stored("town")
