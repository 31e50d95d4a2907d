"""Opening a ledger: what is missing is named, and nothing is answered from it."""

from __future__ import annotations

import sqlite3
import threading
from fractions import Fraction

import pytest
from sqlalchemy import create_engine, text

from discreet.errors import LedgerUnusable
from discreet.ledger import database
from discreet.ledger.accounts import Accounts
from discreet.ledger.database import create_database, open_database
from discreet.ledger.entries import Budget, Charge
from discreet.ledger.ledger import Ledger

KEY = bytes(range(32))


def test_a_ledger_of_another_version_is_named_as_such(tmp_path):
    place = tmp_path / "ledger.sqlite"
    create_database(place).close()
    open_database(place).close()
    with sqlite3.connect(place) as connection:
        connection.execute("ALTER TABLE families DROP COLUMN neighbours")
    with pytest.raises(
        LedgerUnusable, match="another version of Discreet: `families` has no neighbours"
    ) as refused:
        open_database(place)
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
    open_database(place).close()
    release.join()
    writer.close()


@pytest.mark.slow
def test_every_charge_on_postgresql_is_on_disk_when_it_returns(postgres_url):
    """A server whose default is an asynchronous commit would forget charges when it falls."""
    engine = create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        name = connection.execute(text("SELECT current_database()")).scalar_one()
        connection.execute(text(f"ALTER DATABASE {name} SET synchronous_commit = off"))
    engine.dispose()
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
