"""What a workspace holds, served or not.

Two versions' descriptions: what differs is named, and nothing else.

Roll back: the version of before answers again with its own numbers, and no pair that is too close is open.

Removal: no record is left, nothing that was promised is forgotten.

Between engines and back: the same digest, the same releases, nothing left behind; a failure changes nothing.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from tests.workspace.conftest import flip

from discreet.errors import (
    BadRequest,
    LedgerUnusable,
    UnknownEngine,
    UnknownVersion,
    VersionClosed,
    WorkspaceUnusable,
)
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.request import request_from_text
from discreet.records.engine import AggregateQuery
from discreet.records.storage import RECORD_KEY
from discreet.release.pipeline import release_table
from discreet.workspace.folder_layout import (
    dataset_folder,
    find_leftovers,
    list_versions,
    remove_leftovers,
)
from discreet.workspace.ledger_location import LEDGER, open_ledger, refuse_lost_ledger
from discreet.workspace.operate import manage_versions as engine_move
from discreet.workspace.operate.backup_restore import back_up
from discreet.workspace.operate.diagnosis import examine
from discreet.workspace.operate.make_cubes import make_cubes
from discreet.workspace.operate.manage_versions import (
    compare_descriptions,
    list_datasets,
    move_engine,
    remove_dataset,
    remove_version,
    roll_back,
)
from discreet.workspace.versions.checkpoints import lock_checkpoints
from discreet.workspace.versions.history import lineage_keys
from discreet.workspace.versions.label_corrections import relabel_dataset
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.versions.version import current_digest
from discreet.workspace.workspace import Workspace


def test_a_line_a_dataset(folder):
    (found,) = list_datasets(folder)
    assert (found.id, found.label, found.method, found.kept) == ("town", "A town", "cellkey", 3)
    assert found.version.startswith("2 (")
    assert found.size > 0
    remove_dataset(folder, "town")
    (gone,) = list_datasets(folder)
    assert (gone.version, gone.kept) == ("", 0)


def test_trouble_is_told_and_hides_no_other(folder):
    (folder / "secret").chmod(0o644)
    (found,) = list_datasets(folder)
    assert "can be read by others" in found.trouble


def test_what_differs_is_named_even_of_a_removed_version(folder):
    (change,) = compare_descriptions(folder, "town", "", "1")
    assert (change.place, change.before, change.after) == ("version", "2", "1")
    remove_version(folder, "town", "1")
    assert [each.after for each in compare_descriptions(folder, "town", "2", "1")] == ["1"]
    assert not list(compare_descriptions(folder, "town", "2", "2"))


def states(folder):
    return {
        v.version: "served" if v.current else bool(v.closed)
        for v in list_versions(dataset_folder(folder, "town"))
    }


def test_an_open_version_is_served_and_the_others_stay_as_they_are(folder):
    assert states(folder) == {"0": True, "1": False, "2": "served"}
    assert roll_back(folder, "town", "1").version == "1"
    assert states(folder) == {"0": True, "1": "served", "2": False}
    assert Workspace(folder).stored("town").dataset.version == "1"


def test_a_closed_version_is_served_alone(folder):
    """Wrong alternative: "1" beside "0", which differ by one record."""
    roll_back(folder, "town", "0")
    assert states(folder) == {"0": "served", "1": True, "2": True}
    assert "not compared" in list_versions(dataset_folder(folder, "town"))[1].closed
    with pytest.raises(VersionClosed):
        Workspace(folder).stored("town", "1")
    roll_back(folder, "town", "2")
    assert states(folder) == {"0": True, "1": True, "2": "served"}


def test_a_version_that_was_changed_is_not_served(folder):
    home = dataset_folder(folder, "town")
    digest = next(v.digest for v in list_versions(home) if v.version == "1")
    flip(home / digest / "data.duckdb")
    with pytest.raises(WorkspaceUnusable):
        roll_back(folder, "town", "1")
    assert states(folder)["2"] == "served"


def test_the_records_of_a_version_are_gone_and_its_history_is_not(folder):
    gone = remove_version(folder, "town", "1")
    assert not list(folder.rglob(f"{gone}/data.duckdb"))
    facts = {v.digest: v for v in list_versions(dataset_folder(folder, "town"))}
    assert facts[gone].closed == "It is no longer stored."
    with pytest.raises(VersionClosed):
        Workspace(folder).stored("town", gone[:8])
    assert Workspace(folder).stored("town").dataset.version == "2"


def test_the_served_version_stays(folder):
    with pytest.raises(BadRequest, match="is being served"):
        remove_version(folder, "town", "2")


def test_a_whole_dataset_is_not_served_and_holds_no_records(folder, town):
    assert len(remove_dataset(folder, "town")) == 3
    assert not list(folder.rglob("data.duckdb"))
    assert Workspace(folder).ids() == []
    load_dataset(folder, town.description, town.records)
    assert Workspace(folder).ids() == ["town"]


def test_keys_that_were_used_are_not_used_again(town, tmp_path):
    """Wrong alternative: a removed new lineage that is forgotten would bring the first keys back."""
    load_dataset(tmp_path, town.description, town.records)
    load_dataset(tmp_path, town.description, town.records.slice(200), corrections="new-lineage")
    dataset = parse_dataset(town.description)
    keys = lineage_keys(tmp_path, dataset)
    remove_dataset(tmp_path, "town")
    assert lineage_keys(tmp_path, dataset) == keys > 1


def test_the_ledger_keeps_its_charges_and_is_missed_when_it_is_lost(dp_folder):
    before = open_ledger(dp_folder).database
    with before.snapshot() as connection:
        charged = connection.exec_driver_sql("SELECT count(*) FROM charges").scalar()
    remove_dataset(dp_folder, "town")
    with open_ledger(dp_folder).database.snapshot() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM charges").scalar() == charged > 0
    (dp_folder / LEDGER).unlink()
    with pytest.raises(LedgerUnusable, match="missing"):
        refuse_lost_ledger(dp_folder)


#: One that no roll-up covers: the engine itself counts it.
REQUEST = request_from_text("town", rows=["area"])


@pytest.fixture
def database(postgres_server, monkeypatch):
    psycopg = pytest.importorskip("psycopg")
    address = f"host={postgres_server} user=me dbname=postgres"
    monkeypatch.setenv("DISCREET_POSTGRES", address)
    with psycopg.connect(address, autocommit=True) as connection:
        yield connection


def schemas(database):
    return {
        row[0] for row in database.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'discreet_%'")
    }


def state(folder):
    workspace = Workspace(folder)
    stored = workspace.stored("town")
    found = stored.digest, release_table(stored, REQUEST).values.tolist()
    workspace.verify("town")
    workspace.close()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "dp_folder"])
def test_there_and_back_nothing_changes(request, kind, database):
    folder = request.getfixturevalue(kind)
    before, there = state(folder), schemas(database)
    cubes = {path.name: path.read_bytes() for path in folder.rglob(f"{before[0]}/cubes/*")}
    assert move_engine(folder, "town", "postgres") == before[0]
    assert state(folder) == before
    assert cubes
    assert {path.name: path.read_bytes() for path in folder.rglob(f"{before[0]}/cubes/*")} == cubes
    assert len(schemas(database) - there) == 1
    assert not list(folder.rglob(f"{before[0]}/data.duckdb"))
    move_engine(folder, "town", "duckdb")
    assert state(folder) == before
    assert schemas(database) == there
    assert not find_leftovers(dataset_folder(folder, "town"))


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("spark_home")
def test_from_duckdb_over_spark_and_postgresql_back_no_number_changes(folder, database):
    """Digests, releases and the multiset of stored records: the wrong alternative loses or doubles equal records."""
    before, records = state(folder), stored_records(folder)
    for name in ("spark", "parquet", "postgres", "duckdb"):
        assert move_engine(folder, "town", name) == before[0]
        assert state(folder) == before
        assert stored_records(folder) == records
    assert not list(folder.rglob(".loading-*"))


def stored_records(folder):
    """Every stored record with how often it occurs."""
    workspace = Workspace(folder)
    stored = workspace.stored("town")
    names = (*(variable.name for variable in stored.dataset.variables), RECORD_KEY)
    cells = stored.engine.aggregate(AggregateQuery(names))
    workspace.close()
    return sorted(tuple(map(int, row)) for row in zip(*cells.codes, cells.counts, strict=True))


def test_a_failure_leaves_the_version_where_it_is(folder, database, monkeypatch):
    before, there = state(folder), schemas(database)
    monkeypatch.setattr(engine_move, "write_version", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        move_engine(folder, "town", "postgres")
    assert state(folder) == before
    assert schemas(database) == there


@pytest.mark.slow
def test_a_copy_that_does_not_verify_is_deleted_and_the_version_stays(folder, monkeypatch):
    before = state(folder)
    verify = engine_move.verify_engine
    monkeypatch.setattr(
        engine_move,
        "verify_engine",
        lambda place, version, secret: verify(place, version, secret) or 1 / (version.kept_by != "parquet"),
    )
    with pytest.raises(ZeroDivisionError):
        move_engine(folder, "town", "parquet")
    assert state(folder) == before
    assert not find_leftovers(dataset_folder(folder, "town"))


# What killed commands left. Each command that locks a dataset removes it, whether or not it is the same one.

COMMANDS = {
    "load": load_dataset,
    "use": lambda folder, *_: roll_back(folder, "town", "1"),
    "remove": lambda folder, *_: remove_version(folder, "town", "1"),
    "remove what is removed": lambda folder, *_: remove_version(folder, "town", "nothing"),
    "move-engine": lambda folder, *_: move_engine(folder, "town", "parquet"),
    "move-engine to where it is": lambda folder, *_: move_engine(folder, "town", "duckdb"),
    "build": lambda folder, *_: make_cubes(folder, "town", up_to=1, within=10**6),
    "relabel": lambda folder, text, _: relabel_dataset(
        folder, text.replace('version = "1"', 'version = "2"')
    ),
    "backup": lambda folder, *_: back_up(folder, folder.parent / "copy"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_removes_what_killed_ones_left(folder, town, command):
    home, (checkpoint, kept) = dataset_folder(folder, "town"), (".mark-ab12", ".mark.lock")
    for name in (".loading-ab12", ".loading-" + "0" * 64, f".replaced-{current_digest(home)}"):
        (home / name / "inner").mkdir(parents=True)
        (home / name / "inner" / "data").write_bytes(b"records")
    for name in (checkpoint, ".current-ab12", ".history-ab12", kept):
        (home / name).write_text("0")
    assert len(find_leftovers(home)) == 6
    with suppress(UnknownVersion, BadRequest):
        COMMANDS[command](folder, town.description, town.records)
    assert find_leftovers(home) == []
    assert (home / kept).exists()
    assert [found for found in examine(folder) if found.state != "sound" and "removes" in found.advice] == []


def test_a_version_that_lost_its_name_in_a_move_gets_it_back(folder, town):
    """A kill between the two renames of `move-engine`: the wrong alternative deletes both copies."""
    before, home = state(folder), dataset_folder(folder, "town")
    (home / before[0]).rename(home / f".replaced-{before[0]}")
    (home / ".loading-ab12").mkdir()
    with pytest.raises(WorkspaceUnusable):
        Workspace(folder).stored("town")
    with pytest.raises(BadRequest, match="already"):
        move_engine(folder, "town", "duckdb")
    assert state(folder) == before
    assert find_leftovers(home) == []


def test_leftovers_wait_for_the_lock_of_checkpoints(folder):
    """A server may be writing a checkpoint under its lock: the wrong alternative deletes its file."""
    home = dataset_folder(folder, "town")
    (home / ".mark-ab12").write_text("{}")
    with ThreadPoolExecutor(1) as pool:
        with lock_checkpoints(home):
            swept = pool.submit(remove_leftovers, home)
            with pytest.raises(TimeoutError):
                swept.result(0.3)
            assert (home / ".mark-ab12").exists()
        swept.result(10)
    assert not (home / ".mark-ab12").exists()


def test_what_cannot_be_is_said(folder):
    with pytest.raises(BadRequest, match="already"):
        move_engine(folder, "town", "duckdb")
    with pytest.raises(UnknownEngine):
        move_engine(folder, "town", "duckdbb")
