"""Between engines and back: the same digest, the same releases, nothing left behind; a failure changes nothing."""

import pytest

from discreet.answer.pipeline import release_table
from discreet.errors import BadRequest, UnknownEngine
from discreet.model.request import request_from_text
from discreet.records.engine import AggregateQuery
from discreet.records.storage import RECORD_KEY
from discreet.workspace.upkeep import engine_move
from discreet.workspace.upkeep.engine_move import move_engine
from discreet.workspace.workspace import Workspace

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
    assert not list(folder.rglob(".loading-*"))


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


def test_what_cannot_be_is_said(folder):
    with pytest.raises(BadRequest, match="already"):
        move_engine(folder, "town", "duckdb")
    with pytest.raises(UnknownEngine):
        move_engine(folder, "town", "duckdbb")
