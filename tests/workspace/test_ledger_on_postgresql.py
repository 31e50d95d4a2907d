"""A workspace whose ledger is a PostgreSQL database: published, spent, asked again and refused as on SQLite."""

import os
import signal
import threading
import time
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from discreet.errors import BudgetSpent, LedgerUnusable
from discreet.formats import format_by_name
from discreet.ledger.entries import Charge
from discreet.model.request import TableRequest
from discreet.records.keys import read_secret
from discreet.release.pipeline import release_table
from discreet.workspace.ledger_location import LEDGER, open_accounts, open_ledger
from discreet.workspace.operate.diagnosis import examine
from discreet.workspace.versions.checkpoints import MARK, VersionCheckpoints
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

OUTSIDE = TableRequest("town", ("sex",), ("job",), ("area",))


@pytest.mark.slow
def test_a_workspace_is_served_from_a_ledger_on_postgresql(private_town, postgres_url, tmp_path, monkeypatch):
    monkeypatch.setenv("DISCREET_LEDGER", postgres_url)
    folder = tmp_path / "pg"
    folder.mkdir(parents=True)
    (folder / "secret").write_bytes((private_town.folder / "secret").read_bytes())
    (folder / "secret").chmod(0o600)
    load_dataset(folder, private_town.description, private_town.records)
    assert not (folder / LEDGER).exists()
    key = open_accounts(folder).create("ann", "analyst")
    ledger = open_ledger(folder)
    ledger.allow("town", "ann", (ledger.state("town").cap[0], ledger.state("town").cap[1]))
    workspace = Workspace(folder)
    there = release_table(workspace.stored("town"), TableRequest("town", ("sex",), ("age",)))
    paid = release_table(workspace.stored("town"), OUTSIDE, workspace.asker(key))
    again = release_table(Workspace(folder).stored("town"), OUTSIDE)
    assert format_by_name("json").write(paid) == format_by_name("json").write(again)
    third = private_town.description.replace("epsilon = 4.0", "epsilon = 5.0")
    with pytest.raises(BudgetSpent):
        load_dataset(folder, third, private_town.records)
    monkeypatch.delenv("DISCREET_LEDGER")
    here = release_table(
        Workspace(private_town.folder).stored("town"), TableRequest("town", ("sex",), ("age",))
    )
    assert format_by_name("json").write(here) == format_by_name("json").write(there)
    with pytest.raises(LedgerUnusable):
        Workspace(folder).stored("town")
    with pytest.raises(LedgerUnusable, match="missing"):
        load_dataset(folder, private_town.description, private_town.records)


# Fail-over --------------------------------------------------------------------------------------------------------


def address(*homes):
    """Whichever of these servers may be written to."""
    hosts = ",".join(home.folder for home in homes)
    return f"postgresql+psycopg://me@/postgres?host={hosts}&target_session_attrs=read-write"


def say(home, *statements):
    engine = create_engine(address(home), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        found = [connection.execute(text(statement)) for statement in statements]
        last = found[-1].scalar_one() if found[-1].returns_rows else None
    engine.dispose()
    return last


def until(home, statement, wanted):
    for _ in range(600):
        if say(home, statement) == wanted:
            return
        time.sleep(0.05)
    pytest.fail(f"{statement} is not {wanted}")


def follow(primary, standby):
    """A streaming standby of a server that runs."""
    standby.run("pg_basebackup", "-h", primary.folder, "-U", "me", "-R", "-X", "stream", "-c", "fast")
    standby.start()


def kill(home):
    """The whole server at once, as when its machine falls."""
    process = home.process
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    for each in (process, *map(int, children)):
        with suppress(ProcessLookupError):
            os.kill(each, signal.SIGKILL)


def charge_on_and_on(ledger, name, answered, most=10_000):
    """Charge until the server is gone; what was acknowledged is written down."""
    for n in range(most):
        try:
            ledger.charge(Charge("town", f"{name} {n}", Fraction(1, 10**6), Fraction(0)))
        except LedgerUnusable:
            return
        answered.append(f"{name} {n}")


@pytest.mark.slow
@pytest.mark.drill
def test_a_fail_over_loses_no_charge_with_a_synchronous_standby_and_is_refused_with_another(
    private_town, postgres_homes, tmp_path, monkeypatch, drill
):
    """Wrong alternative: a standby that lagged when the server fell. It lacks charges of answers that were given."""
    primary, lagging, synchronous = postgres_homes
    primary.make()
    primary.start()
    follow(primary, lagging)
    folder = tmp_path / "w"
    monkeypatch.setenv("DISCREET_LEDGER", address(primary, synchronous))
    load_dataset(folder, private_town.description, private_town.records)
    until(primary, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'", 1)
    (found,) = (each for each in examine(folder, records=False) if each.what == "ledger")
    assert (found.state, found.advice) == ("caution", "Set synchronous_standby_names on the server.")

    until(primary, "SELECT bool_and(replay_lsn = pg_current_wal_lsn()) FROM pg_stat_replication", True)
    lagging.run("pg_ctl", "-w", "-m", "fast", "stop")
    secret = read_secret(folder / "secret")
    (place,) = (path.parent for path in (folder / "datasets" / "town").glob(f"*/{MARK}"))
    served = open_ledger(folder).with_checkpoints(VersionCheckpoints(folder, secret, place))
    answered: list[str] = []
    charge_on_and_on(served, "early", answered, 3)
    lagging.start("-c primary_conninfo=''")  # the server that it followed is out of its reach
    lagging.run("pg_ctl", "-w", "promote")
    monkeypatch.setenv("DISCREET_LEDGER", address(lagging))
    with pytest.raises(LedgerUnusable, match="older than released tables"):
        Workspace(folder).stored("town")
    with pytest.raises(LedgerUnusable, match="older than released tables"):
        load_dataset(folder, private_town.description, private_town.records)

    monkeypatch.setenv("DISCREET_LEDGER", address(primary, synchronous))
    follow(primary, synchronous)
    say(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
    until(primary, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", 1)
    assert {each.state for each in examine(folder, records=False) if each.what == "ledger"} == {"sound"}
    clients = [
        threading.Thread(
            target=charge_on_and_on, args=(open_ledger(folder).with_checkpoints(marks), name, answered)
        )
        for name in ("one", "two", "three")
        for marks in [VersionCheckpoints(folder, secret, place)]
    ]
    for client in clients:
        client.start()
    while len(answered) < 30:
        time.sleep(0.01)
    kill(primary)
    for client in clients:
        client.join(60)
    synchronous.run("pg_ctl", "-w", "promote")
    ledger = open_ledger(folder)  # it extends every mark that was written
    charged = {row["what"] for row in ledger.state("town").charges}
    assert len(answered) >= 30
    assert set(answered) <= charged
    assert len(charged - set(answered)) <= 1 + len(clients)  # the load, and what was under way
    assert served.charge(Charge("town", "after", Fraction(1, 10**6), Fraction(0))).repeat is False
    assert release_table(Workspace(folder).stored("town"), TableRequest("town", ("sex",), ("age",)))
    drill.note(
        fail_overs=2,
        charges_answered=len(answered),
        charges_lost_synchronous=len(set(answered) - charged),
        lagging_standby_refused=1,
    )
