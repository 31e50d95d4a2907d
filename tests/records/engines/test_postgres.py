"""PostgreSQL as an engine: the same releases as DuckDB, nothing left behind, nothing changed unnoticed."""

import json
import shutil

import pytest

from discreet.errors import BadOption, WorkspaceUnusable
from discreet.model.request import TableRequest
from discreet.records.engine import AggregateQuery
from discreet.records.engines import postgres
from discreet.release.pipeline import release_table
from discreet.workspace.operate.manage_versions import remove_dataset
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace


@pytest.fixture
def database(postgres_server, monkeypatch):
    """The test's own server, and a way to ask it."""
    psycopg = pytest.importorskip("psycopg")
    address = f"host={postgres_server} user=me dbname=postgres"
    monkeypatch.setenv("DISCREET_POSTGRES", f"{address} password=canary-of-a-password")
    with psycopg.connect(address, autocommit=True) as connection:
        yield connection


def schemas(database):
    return {
        row[0] for row in database.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'discreet_%'")
    }


@pytest.fixture
def kept(town, database, tmp_path):
    before = schemas(database)
    workspace = town.load(tmp_path / "w", engine="postgres")
    (schema,) = schemas(database) - before
    yield workspace, schema
    workspace.close()


def test_no_password_and_no_count_stands_in_the_workspace(kept):
    place = next(kept[0].folder.rglob("postgres.json"))
    assert set(json.loads(place.read_text("utf-8"))) == {"database", "schema", "salt", "sum"}
    assert not any(
        b"canary-of-a-password" in path.read_bytes() for path in kept[0].folder.rglob("*") if path.is_file()
    )


def test_nobody_else_may_read_the_schema(kept, database):
    database.execute("CREATE ROLE somebody LOGIN")
    try:
        allowed = database.execute(
            "SELECT has_schema_privilege('somebody', %s, 'USAGE')", (kept[1],)
        ).fetchone()
        assert allowed == (False,)
    finally:
        database.execute("DROP ROLE somebody")


def test_a_row_that_was_changed_is_found_by_reading_all(kept, database):
    assert kept[0].verify("town")
    database.execute(f"UPDATE {kept[1]}.records SET sex = 1 - sex WHERE ctid = '(0,1)'")
    with pytest.raises(WorkspaceUnusable, match="have changed since their load"):
        kept[0].verify("town")


def test_another_versions_rows_are_refused(kept, database):
    database.execute(f"UPDATE {kept[1]}.seal SET tag = 'another'")
    with pytest.raises(WorkspaceUnusable):
        Workspace(kept[0].folder).stored("town")


def test_a_load_that_dies_leaves_no_schema(town, database, tmp_path, monkeypatch):
    before = schemas(database)
    monkeypatch.setattr("discreet.workspace.versions.load_version.seal_records", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        town.load(tmp_path / "w", engine="postgres")
    assert schemas(database) == before


def test_killing_the_server_while_it_takes_records_leaves_the_version_before(
    town, kept, database, monkeypatch
):
    """The wrong alternative commits before all records are there: half of them would be served."""
    before, there = kept[0].stored("town").digest, schemas(database)
    binary = postgres._binary

    def dies(*given):
        database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY staged%'"
        )
        return binary(*given)

    monkeypatch.setattr(postgres, "_binary", dies)
    text = town.description.replace('version = "1"', 'version = "2"')
    with pytest.raises(WorkspaceUnusable, match="does not answer"):
        load_dataset(kept[0].folder, text, town.records.slice(1), engine="postgres")
    assert schemas(database) == there
    again = Workspace(kept[0].folder)
    assert again.stored("town").digest == before
    assert again.verify("town")
    again.close()


def test_what_a_killed_load_left_is_dropped_by_the_next(town, database, tmp_path, monkeypatch):
    """A kill after the commit: the folder stays, and with it the name of the schema."""
    before = schemas(database)
    with monkeypatch.context() as patch:
        patch.setattr("discreet.workspace.versions.load_version.seal_records", lambda *_: 1 / 0)
        patch.setattr("discreet.workspace.versions.load_version.delete_records_folder", lambda _folder: None)
        with pytest.raises(ZeroDivisionError):
            town.load(tmp_path / "w", engine="postgres")
    assert len(schemas(database) - before) == 1
    load_dataset(tmp_path / "w", town.description, town.records)
    assert schemas(database) == before


def test_removal_drops_the_schema(kept, database):
    remove_dataset(kept[0].folder, "town")
    assert kept[1] not in schemas(database)


def test_without_an_address_or_a_server_it_is_said(town, kept, database, tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_POSTGRES", "host=/nowhere dbname=none")
    stored = Workspace(kept[0].folder).stored("town")  # its roll-up is in the workspace
    covered, other = (TableRequest("town", names) for names in (("age", "job"), ("area",)))
    assert (
        release_table(stored, covered).values == release_table(kept[0].stored("town"), covered).values
    ).all()
    with pytest.raises(WorkspaceUnusable, match="does not answer"):
        release_table(stored, other)
    shutil.rmtree(kept[0].folder / "datasets" / "town" / stored.digest / "cubes")
    with pytest.raises(WorkspaceUnusable, match="does not answer"):
        Workspace(kept[0].folder).stored("town")
    monkeypatch.delenv("DISCREET_POSTGRES")
    with pytest.raises(BadOption, match="is not set"):
        town.load(tmp_path / "other", engine="postgres")


def test_a_sum_of_2_31_largest_keys_fits(database):
    """Keys are added up as key - 2^31, and 2^31 for each record afterwards: both steps stay below 2^63.

    The wrong alternative adds 2^32 for each record.
    """
    sql = postgres.aggregate_sql(AggregateQuery(("sex",)), "s")
    _, _, after = sql.partition("::int4) + ")
    middle = int(after.partition(" * count(*)")[0])
    records, largest = 2**31, 2**32 - 1
    add = "SELECT %s::int8 + %s::int8 * %s::int8"
    parts = records * (largest - middle)
    assert database.execute(add, (parts, middle, records)).fetchone() == (records * largest,)
    with pytest.raises(pytest.importorskip("psycopg").errors.NumericValueOutOfRange):
        database.execute(add, (parts, 2 * middle, records))
    assert database.execute("SELECT pg_typeof(sum(1::int4))::text").fetchone() == ("bigint",)
