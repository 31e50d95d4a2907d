"""The database of a ledger: what is missing is named, a cap holds, and old schemas are migrated without losing a charge."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import threading
from contextlib import contextmanager
from fractions import Fraction
from itertools import product

import pytest
from sqlalchemy import create_engine, insert, inspect, text, update
from sqlalchemy.exc import IntegrityError

from discreet.errors import BadDescription, LedgerUnusable
from discreet.ledger import database
from discreet.ledger.accounts import Accounts
from discreet.ledger.entries import Budget, Charge, canonical_request, records_name
from discreet.ledger.ledger import Ledger
from discreet.ledger.lifetime_cap import declare_budget

KEY = bytes(range(32))


def test_a_ledger_of_another_version_is_named_as_such(tmp_path):
    place = tmp_path / "ledger.sqlite"
    database.create_database(place).close()
    database.open_database(place).close()
    with sqlite3.connect(place) as connection:
        connection.execute("ALTER TABLE families DROP COLUMN neighbours")
    with pytest.raises(
        LedgerUnusable, match="another version of Discreet: `families` has no neighbours"
    ) as refused:
        database.open_database(place)
    assert "demo workspace" in refused.value.advice


CHARGE = Charge("b", "u", Fraction(1), Fraction(0))
BUDGET = Budget("b", (Fraction(4), Fraction(1, 10**6)))


def test_a_read_waits_for_no_writer_and_sees_what_is_committed(tmp_path, monkeypatch):
    """With a write lock of its own every read would wait for the charge of somebody else."""
    monkeypatch.setattr(database, "SECONDS_TO_WAIT", 0.05)
    ledger = Ledger.create(tmp_path / "ledger.sqlite", KEY)
    ledger.charge_version(CHARGE, "town", "1", "f", BUDGET)
    key = Accounts(ledger.database).create("ann", "reader")
    with ledger.database.transaction() as connection:  # a charge that takes its time
        connection.execute(text("UPDATE families SET spent_loss = 0"))
        assert ledger.is_paid("b", "u")
        assert ledger.state("b").spent[0] == 1
        assert Accounts(ledger.database).register().key(key).account == "ann"
        with pytest.raises(LedgerUnusable):
            ledger.charge(Charge("b", "other", Fraction(1), Fraction(0)))
        connection.rollback()


@pytest.mark.slow
def test_a_ledger_that_is_written_while_its_journal_changes_is_waited_for(tmp_path):
    """Eight processes that open an old ledger at once did not all succeed: SQLite changes no journal under a lock."""
    place = tmp_path / "ledger.sqlite"
    Ledger.create(place, KEY).close()
    writer = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
    writer.execute("PRAGMA journal_mode = DELETE")
    writer.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.3, writer.execute, ("COMMIT",))
    release.start()
    database.open_database(place).close()
    release.join()
    writer.close()


@pytest.mark.slow
def test_every_charge_on_postgresql_is_on_disk_when_it_returns(postgres_url):
    """A server whose default is an asynchronous commit would forget charges when it falls."""
    with raw(postgres_url) as connection:
        name = connection.execute(text("SELECT current_database()")).scalar_one()
        connection.execute(text(f"ALTER DATABASE {name} SET synchronous_commit = off"))
    ledger = Ledger.create(postgres_url, KEY)
    asked = text("SHOW synchronous_commit")
    with ledger.database.transaction() as connection:
        assert connection.execute(asked).scalar_one() == "on"
    with ledger.database.snapshot() as connection:
        assert connection.execute(asked).scalar_one() == "off"  # the default, which a charge may not trust
    ledger.close()


@pytest.mark.slow
def test_a_server_that_does_not_write_to_disk_is_refused(postgres_url):
    Ledger.create(postgres_url, KEY).close()
    engine = create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    ledger = Ledger.open(postgres_url, KEY)
    try:
        with engine.connect() as connection:
            connection.execute(text("ALTER SYSTEM SET fsync = off"))
            connection.execute(text("SELECT pg_reload_conf()"))
            _until(connection, "off")
        with pytest.raises(LedgerUnusable, match="fsync = off"):
            Ledger.open(postgres_url, KEY)
        with pytest.raises(LedgerUnusable, match="fsync = off"):  # an open ledger sees it, too
            ledger.charge(CHARGE)
    finally:
        with engine.connect() as connection:
            connection.execute(text("ALTER SYSTEM RESET fsync"))
            connection.execute(text("SELECT pg_reload_conf()"))
            _until(connection, "on")
        ledger.close()
        engine.dispose()


def _until(connection, wanted):
    """A reload reaches a session after a moment."""
    for _ in range(500):
        if connection.execute(text("SHOW fsync")).scalar_one() == wanted:
            return
        connection.execute(text("SELECT pg_sleep(0.01)"))
    pytest.fail("the server did not reload")


CAPS = {"cap_loss": 10, "cap_failure": 5, "spent_loss": 10, "spent_failure": 0}


@pytest.fixture
def connection():
    engine = create_engine("sqlite://")
    database.METADATA.create_all(engine)
    with engine.begin() as connection:
        connection.execute(
            insert(database.BUDGETS).values(budget="f", composition="basic", neighbours="add-remove", **CAPS)
        )
        connection.execute(insert(database.SHARES).values(budget="f", account="ann", **CAPS))
        yield connection
    engine.dispose()


@pytest.mark.parametrize("table", [database.BUDGETS, database.SHARES], ids=["budgets", "shares"])
@pytest.mark.parametrize("column", ["spent_loss", "spent_failure"])
def test_a_sum_above_its_cap_cannot_be_written(connection, table, column):
    connection.execute(update(table).values(spent_failure=5))
    with pytest.raises(IntegrityError, match="within_cap"):
        connection.execute(update(table).values({column: table.c[column] + 1}))


FORK = multiprocessing.get_context("fork")
AMOUNTS = ", ".join(
    f"{name} BIGINT NOT NULL" for name in ("cap_loss", "cap_failure", "spent_loss", "spent_failure")
)
WITHIN = "CHECK (spent_loss <= cap_loss AND spent_failure <= cap_failure)"
#: The tables as they were; {0} is what `families`, {1} what `versions` did not have in schema 0.
LAYOUT = (
    f"CREATE TABLE families (family VARCHAR(200) PRIMARY KEY, rule VARCHAR(16) NOT NULL, {{0}} {AMOUNTS}, {WITHIN})",
    f"CREATE TABLE shares (family VARCHAR(200) REFERENCES families (family), account VARCHAR(200), {AMOUNTS}, "
    f"PRIMARY KEY (family, account), {WITHIN})",
    "CREATE TABLE charges (family VARCHAR(200) REFERENCES families (family), request VARCHAR(64), account VARCHAR(200), "
    "loss BIGINT NOT NULL, failure BIGINT NOT NULL, what VARCHAR NOT NULL, at VARCHAR(40) NOT NULL, "
    "PRIMARY KEY (family, request))",
    "CREATE TABLE versions (dataset VARCHAR(64), version VARCHAR(200), {1} records VARCHAR(64) NOT NULL, "
    "PRIMARY KEY (dataset, version))",
    "CREATE TABLE accounts (account VARCHAR(200) PRIMARY KEY, role VARCHAR(16) NOT NULL, "
    "key_hash VARCHAR(64) NOT NULL UNIQUE, created VARCHAR(40) NOT NULL, revoked VARCHAR(40))",
    "CREATE TABLE free_groups (account VARCHAR(200), dataset VARCHAR(64), variable VARCHAR(64), members VARCHAR(64), "
    "PRIMARY KEY (account, dataset, variable, members))",
)
COLUMNS = {0: ("", ""), 1: ("neighbours VARCHAR(16) NOT NULL,", "family VARCHAR(200) NOT NULL,")}
COLUMNS[2] = COLUMNS[1]
#: What schema 2 has beside: it is the first that says its number.
LINEAGES = (
    "CREATE TABLE lineages (dataset VARCHAR(200), lineage VARCHAR(200), method VARCHAR(16) NOT NULL, "
    "family VARCHAR(200) NOT NULL, PRIMARY KEY (dataset, lineage))",
    "INSERT INTO lineages VALUES ('town', 'town', 'dp', 'census')",
    "CREATE TABLE ledger_schema (schema INTEGER PRIMARY KEY)",
    "INSERT INTO ledger_schema VALUES (2)",
)
UNIVERSE = canonical_request("universe", "town", "1", records_name("town", "1", "f"), [])
MARGIN = canonical_request("margin", "town", "1", records_name("town", "1", "f"), ["sex"], "noise")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def place(request, tmp_path):
    """Where a ledger can be: a file, or a database of a server."""
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_url")
    return tmp_path / "ledger.sqlite"


def old_ledger(place, number):
    """A ledger of an old schema without a mark: a version of 0.5, an answer of 0.25 that ann paid, an account."""
    first, second = COLUMNS[number]
    records = records_name("town", "1", "f")
    neighbours, budget = (", 'add-remove'", "'census', ") if number else ("", "")
    cap = "1000000000000, 1000000000"
    statements = [each.format(first, second) for each in LAYOUT]
    statements += [
        f"INSERT INTO families VALUES ('census', 'basic'{neighbours}, {cap}, 750000000000, 3)",
        "INSERT INTO shares VALUES ('census', 'ann', 500000000000, 1000000000, 250000000000, 1)",
        f"INSERT INTO versions VALUES ('town', '1', {budget}'{records}')",
        "INSERT INTO accounts VALUES ('ann', 'analyst', 'hash', '2026', NULL)",
        "INSERT INTO free_groups VALUES ('ann', 'town', 'job', 'm')",
    ]
    for what, account, loss, failure in (
        (UNIVERSE, "NULL", 500000000000, 2),
        (MARGIN, "'ann'", 250000000000, 1),
    ):
        key = Charge("census", what, Fraction(0), Fraction(0)).key
        row = f"'census', '{key}', {account}, {loss}, {failure}, '{what}', '2026'"
        statements.append(f"INSERT INTO charges VALUES ({row})")
    change(place, *statements, *(LINEAGES if number == 2 else ()))


@contextmanager
def raw(place):
    """A connection without Discreet; what it writes is committed."""
    engine = create_engine(place if isinstance(place, str) else f"sqlite:///{place}")
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def change(place, *statements):
    with raw(place) as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def forget(place):
    """Delete a ledger, if there is one."""
    if isinstance(place, str):
        change(place, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    else:
        for path in place.parent.glob(f"{place.name}*"):
            path.unlink()


def contents(place):
    """Every row and column of a ledger, as it is."""
    with raw(place) as connection:
        return {
            name: sorted(map(repr, connection.execute(text(f"SELECT * FROM {name}")).mappings()))
            for name in sorted(inspect(connection).get_table_names())
        }


def marked(place):
    return contents(place).get("ledger_schema")


def spent(place):
    ledger = Ledger.open(place, KEY)
    try:
        return ledger.state("census")
    finally:
        ledger.close()


def test_a_new_ledger_says_its_schema(place):
    Ledger.create(place, KEY).close()
    assert marked(place) == [repr({"schema": database.newest_schema()})]
    before = contents(place)
    Ledger.open(place, KEY).close()
    assert contents(place) == before


@pytest.mark.parametrize("number", COLUMNS)
def test_after_a_migration_every_charge_is_there_and_every_sum_is_what_it_was(place, number):
    old_ledger(place, number)
    state = spent(place)
    assert state.spent == (Fraction(3, 4), Fraction(3, 10**18))
    assert [(each.account, each.spent[0]) for each in state.accounts] == [("ann", Fraction(1, 4))]
    assert {row["what"] for row in state.charges} == {UNIVERSE, MARGIN}
    ledger = Ledger.open(place, KEY)
    assert ledger.is_paid("census", UNIVERSE)
    assert ledger.charge(Charge("census", MARGIN, Fraction(1, 4), Fraction(0), "ann")).repeat
    assert [holder.account for holder in Accounts(ledger.database).listing()] == ["ann"]


def test_a_ledger_of_schema_1_without_a_mark_gets_its_lineages_and_keeps_every_row(place):
    old_ledger(place, 1)
    before = contents(place)
    Ledger.open(place, KEY).close()
    after = contents(place)
    for name in before.keys() - {"accounts", "api_keys", "charges"}:
        assert after[name] == before[name]
    account = {"account": "ann", "role": "analyst", "created": "2026", "revoked": None}
    assert after["accounts"] == [repr(account)]
    key = {"key_hash": "hash", "account": "ann", "role": "analyst", "datasets": None, "created": "2026"}
    assert after["api_keys"] == [repr({**key, "expires": None, "revoked": None})]
    row = {"dataset": "town", "lineage": "town", "method": "dp", "family": "census"}
    assert after["lineages"] == [repr(row)]
    assert marked(place) == [repr({"schema": database.newest_schema()})]


@pytest.mark.parametrize("number", COLUMNS)
def test_what_an_old_ledger_holds_is_chained_as_it_was_found(place, number):
    """From then on none of it can be changed; what was changed before cannot be known."""
    old_ledger(place, number)
    Ledger.open(place, KEY).close()
    entries = contents(place)["chain"]
    kinds = [entry.split("'kind': '")[1].split("'")[0] for entry in entries]
    assert kinds == ["begun", "budget", "share", "lineage", "version", "charge", "charge"]
    assert ", 6]'" in entries[0]  # so many entries were taken as found
    assert {row.rpartition(": ")[2] for row in contents(place)["charges"]} == {"6}", "7}"}
    with pytest.raises(LedgerUnusable, match="not written with the secret"):
        Ledger.open(place, bytes(range(1, 33)))
    change(place, "UPDATE charges SET at = '2027' WHERE account = 'ann'")
    with pytest.raises(LedgerUnusable, match="its charge 7 is not what its chain says"):
        Ledger.open(place, KEY)


def test_a_version_gets_its_budget_from_its_charge(place):
    old_ledger(place, 0)
    ledger = Ledger.open(place, KEY)
    assert "'family': 'census'" in contents(place)["versions"][0]
    charge = Charge("other", "x", Fraction(1, 10), Fraction(0))
    budget = Budget("other", (Fraction(1), Fraction(1, 10**9)))
    with pytest.raises(BadDescription, match='"town" was loaded in the budget "census"'):
        ledger.charge_version(charge, "town", "2", "g", budget)


def test_nothing_is_added_where_nobody_knows_what_the_sum_speaks_of(place):
    """A loss for one relation of neighbours cannot be added to one for another."""
    old_ledger(place, 0)
    ledger = Ledger.open(place, KEY)
    with (
        pytest.raises(BadDescription, match="did not record their neighbours") as refused,
        ledger.database.transaction() as connection,
    ):
        declare_budget(connection, Budget("census", (Fraction(1), Fraction(1, 10**9))))
    assert "cannot be charged further" in refused.value.advice
    with ledger.database.transaction() as connection:
        declare_budget(connection, Budget("other", (Fraction(1), Fraction(1, 10**9))))


def test_a_newer_schema_is_refused_by_its_number_and_a_lost_number_too(place):
    Ledger.create(place, KEY).close()
    change(place, "UPDATE ledger_schema SET schema = 7")
    before = contents(place)
    with pytest.raises(
        LedgerUnusable, match="has schema 7, but this version of Discreet supports schemas up to 4"
    ):
        Ledger.open(place, KEY)
    assert contents(place) == before
    change(place, "DELETE FROM ledger_schema")
    with pytest.raises(LedgerUnusable):
        Ledger.open(place, KEY)


def test_a_migration_that_would_lose_a_charge_leaves_the_ledger_as_it_is(place, monkeypatch):
    old_ledger(place, 1)
    before = contents(place)
    loses = lambda connection: connection.execute(text("DELETE FROM charges WHERE account = 'ann'"))  # noqa: E731
    monkeypatch.setattr(database, "MIGRATIONS", [*database.MIGRATIONS, loses])
    with pytest.raises(LedgerUnusable, match="a sum of charges would change"):
        Ledger.open(place, KEY)
    assert contents(place) == before


def test_later_migrations_follow_one_another_and_are_made_once(place, monkeypatch):
    old_ledger(place, 0)
    made = []

    def toy(connection):
        made.append(connection.dialect.name)
        connection.execute(text("ALTER TABLE accounts ADD COLUMN note VARCHAR(10)"))

    monkeypatch.setattr(database, "MIGRATIONS", [*database.MIGRATIONS, toy])
    for _ in range(3):
        assert spent(place).spent[0] == Fraction(3, 4)
    assert len(made) == 1
    assert marked(place) == [repr({"schema": database.newest_schema()})]


def _open_and_die(place, step):
    def die(done):
        if done == step:
            os.kill(os.getpid(), signal.SIGKILL)

    Ledger.open(place, KEY, on_step=die)
    os._exit(0)


@pytest.mark.drill
def test_a_kill_within_a_migration_leaves_the_old_ledger_whole(place, drill):
    cases = list(product(range(drill.times(1, 3)), database.MIGRATION_STEPS)) * drill.times(1, 2)
    for number, step in cases:
        forget(place)
        old_ledger(place, number)
        before = contents(place)
        child = FORK.Process(target=_open_and_die, args=(place, step))
        child.start()
        child.join(60)
        assert child.exitcode == -signal.SIGKILL
        if step != "migration committed":
            assert contents(place) == before
        assert spent(place).spent == (Fraction(3, 4), Fraction(3, 10**18))
        assert marked(place) == [repr({"schema": database.newest_schema()})]
    within = sum(step != "migration committed" for _, step in cases)
    drill.note(kills=len(cases), within_a_migration=within, lost_charges=0)


def _open_at_once(place, go, results):
    go.wait(60)
    ledger = Ledger.open(place, KEY)
    results.put((ledger.state("census").spent[0], len(ledger.state("census").charges)))


@pytest.mark.slow
def test_many_processes_that_open_an_old_ledger_at_once_migrate_it_once(place):
    old_ledger(place, 0)
    go, results = FORK.Event(), FORK.SimpleQueue()
    openers = [FORK.Process(target=_open_at_once, args=(place, go, results)) for _ in range(8)]
    for opener in openers:
        opener.start()
    go.set()
    for opener in openers:
        opener.join(60)
        assert opener.exitcode == 0
    assert [results.get() for _ in openers] == [(Fraction(3, 4), 2)] * len(openers)
    assert marked(place) == [repr({"schema": database.newest_schema()})]
