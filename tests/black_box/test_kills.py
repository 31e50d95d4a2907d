"""A process that dies at any moment leaves no uncharged release, and a restart answers the same bytes.

Children are forked from a parent that has answered a request and holds no data open; each serves the HTTP application to
itself and writes what it was answered to a file, as a server writes to its socket: only after the answer is there.
"""

import itertools
import json
import multiprocessing
import os
import random
import signal
import sqlite3
import tempfile
import time

import numpy as np
import pyarrow as pa
import pytest
from sqlalchemy import create_engine, text
from tests.drills.faults import ID, check_after_fault

from discreet.errors import UnknownDataset
from discreet.ledger.ledger import STEPS
from discreet.records.engines.duckdb import DuckDBEngine
from discreet.records.keys import read_secret
from discreet.workspace.ledger_location import LEDGER
from discreet.workspace.versions import load_version as publishing
from discreet.workspace.versions.checkpoints import MARK, read_checkpoint
from discreet.workspace.versions.load_version import load_dataset

from .conftest import letters_description, margins_paid

pytestmark = [pytest.mark.slow, pytest.mark.drill, pytest.mark.usefixtures("parsed_once")]

FORK = multiprocessing.get_context("fork")
LETTERS = "abcdefghij"
ENGINES = ("duckdb", "parquet", "postgres")
DESCRIPTION = letters_description(LETTERS, cap=(1000.0, 1e-3))
TABLES = [",".join(names) for size in (2, 3, 4, 5, 6) for names in itertools.combinations(LETTERS, size)]
#: The steps of a charge, then those of the rest of an answer.
ANSWER_STEPS = (*STEPS, "counted", "answered", "written")
#: The steps of a load; those of the charge happen within "charged".
LOAD_STEPS = ("read", "sealed", *(f"charge: {step}" for step in STEPS), "charged", "settled", "pointed")


def records(number=300):
    rng = np.random.RandomState(2)
    columns = {v: pa.array(rng.choice(["0", "1"], number)) for v in LETTERS}
    return pa.table({"id": pa.array([f"{ID}-{each}" for each in range(number)]), **columns})


RECORDS = records()


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def dies_after(function):
    """The function, and the end of the process when it has returned."""

    def last(*arguments, **named):
        function(*arguments, **named)
        die()

    return last


@pytest.fixture
def ledger(request, monkeypatch):
    """Which database the ledger is."""
    name = getattr(request, "param", "sqlite")
    if name == "postgres":
        monkeypatch.setenv("DISCREET_LEDGER", request.getfixturevalue("postgres_url"))
    return name


@pytest.fixture
def folder(tmp_path, ledger):
    load_dataset(tmp_path / "w", DESCRIPTION, RECORDS)
    return tmp_path / "w"


@pytest.fixture
def key(folder, site_of):
    """An analyst's key; everything that a first answer needs once has happened when this returns."""
    site = site_of(folder)
    found = site.share("ann", 900)
    assert site.get("rows=a&format=csv", found).status_code == 200
    site.close()
    return found


@pytest.fixture
def fresh(folder, site_of):
    """The application over the workspace; its records and its ledger are opened by the child that asks."""
    return site_of(folder)


def write(folder, rows, body):
    """What a client has received."""
    (folder.parent / "got").mkdir(exist_ok=True)
    path = folder.parent / "got" / f".{rows}"
    path.write_bytes(body)
    path.rename(path.with_name(rows))


def received(folder):
    home = folder.parent / "got"
    found = home.iterdir() if home.exists() else ()
    return {path.name: path.read_bytes() for path in found if not path.name.startswith(".")}


def serve_and_die(site, key, step, rows):
    """Answer one question, and die when a step is done."""
    site.workspace.stored("town").protector.ledger._on_step = lambda done: done == step and die()
    if step == "counted":
        DuckDBEngine.aggregate = dies_after(DuckDBEngine.aggregate)
    answer = site.get({"rows": rows, "format": "csv"}, key)
    assert answer.status_code == 200
    if step == "answered":
        die()
    write(site.folder, rows, answer.content)
    die()


def serve_until_killed(ready, site, key, tables):
    """Answer one question after the other."""
    assert site.get("rows=a").status_code == 200
    started = time.perf_counter()
    ready.send(None)
    for rows in tables:
        answer = site.get({"rows": rows, "format": "csv"}, key)
        assert answer.status_code == 200, answer.text
        write(site.folder, rows, answer.content)
    ready.send(time.perf_counter() - started)
    os._exit(0)


def run(target, *arguments):
    child = FORK.Process(target=target, args=arguments)
    child.start()
    child.join(120)
    assert child.exitcode == -signal.SIGKILL


def run_for(seconds, target, *arguments):
    """Kill a child some seconds after it is ready; without `seconds` it lives, and its time is returned."""
    here, there = FORK.Pipe(duplex=False)
    child = FORK.Process(target=target, args=(there, *arguments))
    child.start()
    assert here.poll(120)
    here.recv()
    took = here.recv() if seconds is None else None
    if seconds is not None:
        time.sleep(seconds)
        child.kill()
    child.join(60)
    here.close()
    there.close()
    return took


def uncovered(folder, got):
    """The answers that came out before the mark of their version knew of their charge."""
    secret, (place,) = read_secret(folder / "secret"), (folder / "datasets" / "town").glob(f"*/{MARK}")
    mark = read_checkpoint(place.parent, place.parent.name, secret)
    engine = create_engine(os.environ.get("DISCREET_LEDGER", f"sqlite:///{folder / LEDGER}"))
    with engine.connect() as connection:
        asked = text("SELECT what FROM charges WHERE position > :last")
        later = connection.execute(asked, {"last": mark.position}).fetchall()
    engine.dispose()
    return set(got) & {",".join(json.loads(what)[4]) for (what,) in later}


def check_restart(folder, site_of):
    """Whatever came out is charged and marked; a restart answers the same bytes to anybody, for nothing."""
    got = received(folder)
    assert not uncovered(folder, got)
    site = site_of(folder)
    before = site.state()
    assert set(got) <= {*margins_paid(before)}
    for rows, body in got.items():
        again = site.get({"rows": rows, "format": "csv"})
        assert (again.status_code, again.content) == (200, body), rows
    assert site.state() == before
    site.close()
    return before


@pytest.mark.parametrize("ledger", ["sqlite", "postgres"], indirect=True)
def test_a_server_killed_at_a_named_step_leaves_no_uncharged_answer(folder, key, fresh, site_of, drill):
    left, before, answered = iter(TABLES[100:]), set(), 0
    steps = random.Random(6).sample(ANSWER_STEPS, drill.times(2, len(ANSWER_STEPS))) * drill.times(1, 3)
    for step in steps:
        tables = set(itertools.islice(left, 2))
        for rows in tables:
            run(serve_and_die, fresh, key, step, rows)
        paid = {*margins_paid(check_restart(folder, site_of))}
        charged = step in {"committed", "marked", "counted", "answered", "written"}
        assert paid - before == (tables if charged else set()), step
        answered += 2 * (step == "written")
        assert len(received(folder)) == answered
        site, again = site_of(folder), min(tables)
        assert site.get({"rows": again, "format": "csv"}, key).status_code == 200
        assert {*margins_paid(site.state())} == paid | {again}
        site.close()
        before = paid | {again}
    check_after_fault(folder)
    within = 2 * sum(step in STEPS[: STEPS.index("marked")] for step in steps)
    drill.note(kills=2 * len(steps), steps=len({*steps}), within_a_charge=within, uncharged_answers=0)


@pytest.mark.parametrize("ledger", ["sqlite", "postgres"], indirect=True)
def test_servers_killed_at_random_leave_no_uncharged_answer(folder, key, fresh, site_of, drill):
    rng, left, typical, kills = random.Random(4), iter(TABLES), None, drill.times(6, 200)
    for _ in range(kills + 1):
        before = len(received(folder))
        work = (serve_until_killed, fresh, key, list(itertools.islice(left, 2)))
        took = run_for(None if typical is None else rng.uniform(0, 1.2 * typical), *work)
        # A machine that others keep busy answers later than it did before: the kills follow.
        typical = took or typical * (1.1 if len(received(folder)) == before else 0.9)
    state, got = check_restart(folder, site_of), received(folder)
    assert len(got) > kills / 10
    unanswered = {*margins_paid(state)} - set(got)
    # A kill between the charge and the answer is what this is about: among many it must have happened.
    assert unanswered or kills < 100
    assert len(unanswered) <= kills
    check_after_fault(folder)
    drill.note(
        kills=kills, answers=len(got), uncharged_answers=0, lost_answers=0, charged_unanswered=len(unanswered)
    )


def test_an_answer_before_its_charge_would_be_found_out(folder, key, fresh, site_of):
    """A product that charges afterwards leaves an answer that nobody paid for; the same check finds it."""

    def late(site, rows):
        from discreet.protect.dp_protector import DpProtector

        DpProtector.pay = lambda _self: None
        write(site.folder, rows, site.get({"rows": rows, "format": "csv"}, key).content)
        die()

    run(late, fresh, TABLES[100])
    assert received(folder)
    with pytest.raises(AssertionError):
        check_restart(folder, site_of)


def test_a_mark_after_the_answer_would_be_found_out(folder, key, fresh, site_of):
    """Wrong alternative: a kill leaves an answer that an older ledger does not know of, and no mark tells."""

    def late(site, rows):
        from discreet.workspace.versions.checkpoints import VersionCheckpoints

        VersionCheckpoints.write = lambda _self, _mark: None
        write(site.folder, rows, site.get({"rows": rows, "format": "csv"}, key).content)
        die()

    run(late, fresh, TABLES[100])
    assert uncovered(folder, received(folder)) == {TABLES[100]}
    with pytest.raises(AssertionError):
        check_restart(folder, site_of)


def test_a_ledger_of_before_an_answer_is_refused_after_a_kill(folder, key, fresh, site_of, caplog):
    """The answer had left: the mark was on disk before it."""
    with sqlite3.connect(folder / LEDGER) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    older = (folder / LEDGER).read_bytes()
    run(serve_and_die, fresh, key, "written", TABLES[100])
    for path in folder.glob(f"{LEDGER}*"):
        path.unlink()
    (folder / LEDGER).write_bytes(older)
    answer = site_of(folder).get("rows=a&format=csv")
    assert (answer.status_code, answer.json()["code"]) == (503, "ledger-unusable")
    assert "older than released tables" in caplog.text  # for whoever runs the server


# Publishing -------------------------------------------------------------------------------------------------------


def load_and_die(folder, description, step, engine):
    """Load, and die when a step is done."""
    names = {"read": "load_records", "sealed": "write_version", "charged": "_record_load"}
    names |= {"settled": "_settle", "pointed": "set_current"}
    if step in names:
        setattr(publishing, names[step], dies_after(getattr(publishing, names[step])))
    opened = publishing.ledger_for_loading

    def watched(place):
        ledger = opened(place)
        ledger._on_step = lambda done: f"charge: {done}" == step and die()
        return ledger

    publishing.ledger_for_loading = watched
    load_dataset(folder, description, RECORDS, engine=engine)
    os._exit(0)


def load_until_killed(ready, folder, engine):
    ready.send(None)
    started = time.perf_counter()
    load_dataset(folder, DESCRIPTION, RECORDS, engine=engine)
    ready.send(time.perf_counter() - started)
    os._exit(0)


def served(folder, site_of):
    """The version that is served, and its table; None where none is. What is served is charged."""
    site = site_of(folder)
    try:
        version = site.workspace.stored("town").dataset.version
    except UnknownDataset:
        return None, b""
    else:
        answer = site.get("rows=a&format=csv")
        assert answer.status_code == 200
        charged = [json.loads(each["what"])[2] for each in site.state().charges]
        assert version in charged
        return version, answer.content
    finally:
        site.close()


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch, tmp_path):
    """An engine, and a folder for what should not be anywhere else."""
    if request.param == "postgres":
        folder = request.getfixturevalue("postgres_server")
        monkeypatch.setenv("DISCREET_POSTGRES", f"host={folder} user=me dbname=postgres")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return request.param


def test_a_load_killed_at_a_named_step_serves_nothing_that_is_not_charged(tmp_path, site_of, engine, drill):
    steps = random.Random(7).sample(LOAD_STEPS, drill.times(1, len(LOAD_STEPS)))
    for number, step in enumerate(steps):
        folder = tmp_path / str(number)
        run(load_and_die, folder, DESCRIPTION, step, engine)
        first = served(folder, site_of)
        assert first[0] == ("1" if step == "pointed" else None)
        load_dataset(folder, DESCRIPTION, RECORDS, engine=engine)
        again = served(folder, site_of)
        assert first == again or first[0] is None
        one = site_of(folder).state()
        assert len(one.charges) == 1
        second = DESCRIPTION.replace('version = "1"', 'version = "2"')
        run(load_and_die, folder, second, step, engine)
        assert served(folder, site_of)[0] == ("2" if step == "pointed" else "1")
        if step != "pointed":
            assert served(folder, site_of) == again
        check_after_fault(folder, tmp_path / "tmp")
        load_dataset(folder, second, RECORDS, engine=engine)
        assert served(folder, site_of)[0] == "2"
        two = site_of(folder).state()
        assert len(two.charges) == 2
        assert two.spent[0] == 2 * one.spent[0]
        assert len(list((folder / "datasets" / "town").glob(f"*/{MARK}"))) == 2
        assert not [path for path in (folder / "datasets" / "town").glob(".loading-*") if path.is_dir()]
    drill.note(kills=2 * len(steps), steps=len(steps), other_versions=0, uncharged_versions=0)


def test_loads_killed_at_random_are_loaded_again_for_nothing(tmp_path, site_of, engine, drill):
    rng, finished, typical, kills = random.Random(5), 0, None, drill.times(1, 50)
    for number in range(kills + 1):
        folder = tmp_path / str(number)
        seconds = None if typical is None else rng.uniform(0, 0.8 * typical)
        typical = run_for(seconds, load_until_killed, folder, engine) or typical
        before = served(folder, site_of) if (folder / "datasets").is_dir() else (None, b"")
        finished += before[0] is not None
        if before[0] is not None:
            check_after_fault(folder, tmp_path / "tmp")
        load_dataset(folder, DESCRIPTION, RECORDS, engine=engine)
        after = served(folder, site_of)
        assert before == after or before[0] is None
        assert len(site_of(folder).state().charges) == 1
        check_after_fault(folder, tmp_path / "tmp")
    assert finished <= kills or kills < 20  # some died early enough
    drill.note(
        kills=kills, version_before=kills + 1 - finished, version_after=finished - 1, uncharged_versions=0
    )
