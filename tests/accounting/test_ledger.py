"""The ledger: charged before release, repeats free, caps never passed, trouble means no answers."""

import json
import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.accounting.accounts import Accounts
from discreet.accounting.ledger import STEPS, Charge, Ledger, canonical_request
from discreet.errors import BadDescription, BadKey, BadRequest, BudgetSpent, LedgerUnusable

TENTH = Fraction(1, 10)
TINY = Fraction(1, 10**9)
FORK = multiprocessing.get_context("fork")


@pytest.fixture
def place(tmp_path):
    path = tmp_path / "ledger.sqlite"
    ledger = Ledger.create(path)
    ledger.declare_family("census", (Fraction(1), Fraction(1, 10**6)))
    ledger.allow("census", "ann", (Fraction(1, 2), Fraction(1, 10**6)))
    ledger.allow("census", "bob", (Fraction(2), Fraction(1, 10**6)))
    ledger.close()
    return path


def charge(name, loss=TENTH, account=None, failure=TINY):
    return Charge("census", canonical_request("town", name), loss, failure, account)


def test_a_charge_is_booked_once_and_repeats_are_free_for_everyone(place):
    ledger = Ledger.open(place)
    assert not ledger.is_paid("census", canonical_request("town", "a"))
    first = ledger.charge(charge("a", account="ann"))
    assert (first.repeat, first.loss, first.failure) == (False, TENTH, TINY)
    for account in ("ann", "bob", None):
        again = ledger.charge(charge("a", account=account))
        assert (again.repeat, again.loss) == (True, TENTH)
    state = ledger.state("census")
    assert state.spent == (TENTH, TINY)
    assert state.left == (1 - TENTH, Fraction(1, 10**6) - TINY)
    assert {each.account: each.spent[0] for each in state.accounts} == {"ann": TENTH, "bob": 0}
    assert ledger.is_paid("census", canonical_request("town", "a"))


def test_ten_tenths_are_one_and_not_a_hair_more(place):
    """Floats would say 0.9999999999999999 and let an eleventh through elsewhere."""
    ledger = Ledger.open(place)
    for n in range(10):
        ledger.charge(charge(n))
    assert ledger.state("census").left[0] == 0
    with pytest.raises(BudgetSpent) as refused:
        ledger.charge(charge("x", Fraction(1, 10**12)))
    assert (refused.value.http_status, refused.value.exit_code, refused.value.code) == (
        403,
        5,
        "budget-spent",
    )
    ledger.charge(charge("free", Fraction(0), failure=Fraction(0)))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (charge("a", Fraction(3, 5), "ann"), 'account "ann"'),
        (charge("a", Fraction(11, 10), "bob"), 'family "census"'),
        (charge("a", TENTH, failure=Fraction(2, 10**6)), 'family "census"'),
        (charge("a", TENTH, "nobody"), 'account "nobody"'),
    ],
)
def test_a_refused_charge_leaves_nothing_behind(place, asked, words):
    ledger = Ledger.open(place)
    with pytest.raises(BudgetSpent, match=words):
        ledger.charge(asked)
    state = ledger.state("census")
    assert (state.spent, state.charges) == ((0, 0), ())
    assert all(each.spent == (0, 0) for each in state.accounts)
    assert not ledger.is_paid("census", asked.request)


def test_charges_round_up_and_caps_round_down(place):
    ledger = Ledger.open(place)
    receipt = ledger.charge(charge("third", Fraction(1, 3)))
    assert Fraction(1, 3) < receipt.loss < Fraction(1, 3) + Fraction(2, 10**12)
    ledger.declare_family("thirds", (Fraction(2, 3), Fraction(1, 3)))
    cap = ledger.state("thirds").cap
    assert cap[0] < Fraction(2, 3)
    assert cap[1] < Fraction(1, 3)


def test_a_cap_is_for_life_it_may_be_lowered_and_never_raised(place):
    ledger = Ledger.open(place)
    cap = (Fraction(1), Fraction(1, 10**6))
    ledger.declare_family("census", cap)
    for wrong in ((Fraction(2), cap[1]), (cap[0], Fraction(1, 2))):
        with pytest.raises(BadDescription, match="cannot be raised"):
            ledger.declare_family("census", wrong)
    with pytest.raises(BadDescription, match="cannot be raised or changed"):
        ledger.declare_family("census", cap, "zcdp")
    ledger.charge(charge("a", Fraction(1, 2)))
    with pytest.raises(BadDescription, match="below what is spent"):
        ledger.declare_family("census", (TENTH, cap[1]))
    ledger.declare_family("census", (Fraction(1, 2), cap[1]))
    with pytest.raises(BudgetSpent):
        ledger.charge(charge("b"))
    with pytest.raises(BadDescription, match="no rule"):
        ledger.declare_family("other", cap, "advanced")


def test_an_account_s_cap_can_change_but_not_below_what_it_spent(place):
    ledger = Ledger.open(place)
    ledger.charge(charge("a", Fraction(2, 5), "ann"))
    ledger.allow("census", "ann", (TENTH, TINY))
    ann = next(each for each in ledger.state("census").accounts if each.account == "ann")
    assert ann.cap[0] == Fraction(2, 5)
    with pytest.raises(BudgetSpent):
        ledger.charge(charge("b", TENTH, "ann"))
    ledger.allow("census", "ann", (Fraction(3, 5), Fraction(1, 10**6)))
    ledger.charge(charge("b", TENTH, "ann"))


def test_what_cannot_be_booked_is_refused(place):
    ledger = Ledger.open(place)
    with pytest.raises(BadRequest, match="cannot be booked"):
        ledger.charge(charge("a", Fraction(-1)))
    with pytest.raises(BadRequest, match="no family"):
        ledger.charge(Charge("nobody", "x", TENTH, TINY))
    with pytest.raises(BadRequest, match="no family"):
        ledger.state("nobody")
    with pytest.raises(BadDescription, match="cannot be booked"):
        ledger.declare_family("x", (Fraction(1), Fraction(2)))
    assert ledger.state("census").charges == ()


def test_a_revoked_account_is_not_served(place):
    ledger = Ledger.open(place)
    accounts = Accounts(ledger.database)
    accounts.create("ann", "analyst")
    ledger.charge(charge("a", account="ann"))
    accounts.revoke("ann")
    with pytest.raises(BadKey):
        ledger.charge(charge("b", account="ann"))
    assert ledger.state("census").spent[0] == TENTH


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.integers(0, 12), st.integers(0, 400), st.sampled_from(["ann", "bob", None])), max_size=25
    )
)
def test_the_ledger_does_what_a_slow_model_says(tmp_path_factory, asked):
    path = tmp_path_factory.mktemp("model") / "ledger.sqlite"
    ledger = Ledger.create(path)
    ledger.declare_family("census", (Fraction(1), Fraction(1, 10**6)))
    caps = {"ann": Fraction(1, 2), "bob": Fraction(2), None: Fraction(1)}
    for account in ("ann", "bob"):
        ledger.allow("census", account, (caps[account], Fraction(1, 10**6)))
    paid, spent = {}, {"ann": Fraction(0), "bob": Fraction(0), None: Fraction(0)}
    for name, thousandths, account in asked:
        loss = Fraction(thousandths, 1000)
        fits = sum(paid.values()) + loss <= 1 and (account is None or spent[account] + loss <= caps[account])
        if name in paid:
            assert ledger.charge(charge(name, loss, account)).repeat
        elif fits:
            assert not ledger.charge(charge(name, loss, account)).repeat
            paid[name] = loss
            spent[account] += loss
        else:
            with pytest.raises(BudgetSpent):
                ledger.charge(charge(name, loss, account))
    assert ledger.state("census").spent[0] == sum(paid.values())
    Ledger.open(path).close()


def test_a_missing_ledger_is_not_made_anew(tmp_path, place):
    with pytest.raises(LedgerUnusable, match="missing") as trouble:
        Ledger.open(tmp_path / "none.sqlite")
    assert trouble.value.http_status == 503
    assert not (tmp_path / "none.sqlite").exists()
    (tmp_path / "empty.sqlite").touch()
    with pytest.raises(LedgerUnusable, match="missing"):
        Ledger.open(tmp_path / "empty.sqlite")
    with pytest.raises(LedgerUnusable):
        Ledger.create(place)


def test_a_damaged_ledger_gives_no_answers(place):
    raw = bytearray(place.read_bytes())
    for start in range(4096, len(raw), 512):
        raw[start : start + 64] = b"\xff" * 64
    place.write_bytes(raw)
    with pytest.raises(LedgerUnusable):
        Ledger.open(place)
    place.write_bytes(b"not a database at all" * 100)
    with pytest.raises(LedgerUnusable):
        Ledger.open(place)


def test_a_ledger_whose_sums_were_changed_gives_no_answers(place):
    ledger = Ledger.open(place)
    ledger.charge(charge("a", account="ann"))
    ledger.close()
    for statement in (
        "UPDATE families SET spent_loss = 0",
        "UPDATE shares SET spent_loss = 7",
        "DELETE FROM charges",
    ):
        copy = place.with_name("copy.sqlite")
        _copy(place, copy)
        with sqlite3.connect(copy) as connection:
            connection.execute(statement)
        connection.close()
        with pytest.raises(LedgerUnusable, match="add up"):
            Ledger.open(copy)
    Ledger.open(place)


def _copy(source, target):
    with sqlite3.connect(source) as connection, sqlite3.connect(target) as other:
        connection.backup(other)
    connection.close()
    other.close()


def test_a_full_disk_gives_no_answers_and_charges_nothing(place):
    """SQLite's own limit on pages stands in for the disk's."""
    from sqlalchemy import event

    ledger = Ledger.open(place)
    event.listen(
        ledger.database._engine,
        "connect",
        lambda connection, _record: connection.execute("PRAGMA max_page_count = 1"),
    )
    refused = 0
    for n in range(2000):
        try:
            ledger.charge(charge("x" * 3000 + str(n), Fraction(1, 10**4), failure=Fraction(0)))
        except LedgerUnusable:
            refused += 1
            break
    assert refused == 1
    healthy = Ledger.open(place)
    assert healthy.state("census").spent[0] == Fraction(n, 10**4)


def test_a_ledger_out_of_reach_gives_no_answers(place):
    ledger = Ledger.open(place)
    place.rename(place.with_name("away"))
    with pytest.raises(LedgerUnusable):
        ledger.charge(charge("a"))
    with pytest.raises(LedgerUnusable):
        Ledger.open("postgresql+psycopg://nobody@127.0.0.1:1/none")


def _client(path, number, seed):
    """One client: asks its own and common questions in random order; every answer is written after its charge."""
    ledger = Ledger.open(path)
    rng = random.Random(seed)
    names = [f"own {number} {n}" for n in range(3)] + [f"common {n}" for n in range(6)]
    rng.shuffle(names)
    for name in names:
        try:
            ledger.charge(charge(name, Fraction(1, 100), "bob"))
        except BudgetSpent:
            continue
        _release(path, name)
    os._exit(0)


def _release(path, name):
    with (path.parent / "released").open("a") as file:
        file.write(json.dumps(canonical_request("town", name)) + "\n")


def _released(path):
    released = path.parent / "released"
    if not released.exists():
        return set()
    return {json.loads(line) for line in released.read_text().splitlines()}


@pytest.mark.slow
def test_a_hundred_clients_at_once_never_overspend(place):
    """360 different questions of a hundredth each; one hundred of them fit."""
    clients = [FORK.Process(target=_client, args=(place, n, n)) for n in range(100)]
    for start in range(0, len(clients), 25):
        for client in clients[start : start + 25]:
            client.start()
        for client in clients[start : start + 25]:
            client.join(120)
            assert client.exitcode == 0
    ledger = Ledger.open(place)
    state = ledger.state("census")
    assert state.spent[0] == 1
    assert len(state.charges) == 100
    assert _released(place) == {row["what"] for row in state.charges}


def _killed(path, step, name):
    """Charge and release, and be killed when a step is done."""

    def kill(done):
        if done == step:
            os.kill(os.getpid(), signal.SIGKILL)

    ledger = Ledger.open(path, kill)
    ledger.charge(charge(name, Fraction(1, 100), "bob"))
    kill("charged")
    _release(path, name)
    kill("released")
    os._exit(0)


def _killed_at_random(path, seed):
    """Charge and release on and on; the parent kills it at any moment."""
    ledger = Ledger.open(path)
    for n in range(10_000):
        name = f"random {seed} {n}"
        ledger.charge(charge(name, Fraction(1, 10**6), "bob", Fraction(0)))
        _release(path, name)


@pytest.mark.parametrize("step", [*STEPS, "charged", "released"])
def test_a_kill_at_a_named_step_leaves_no_uncharged_release(place, step):
    for n in range(3):
        child = FORK.Process(target=_killed, args=(place, step, f"{step} {n}"))
        child.start()
        child.join(60)
        assert child.exitcode == -signal.SIGKILL
    ledger = Ledger.open(place)
    state = ledger.state("census")
    charged = {row["what"] for row in state.charges}
    assert _released(place) <= charged
    after = step in {"committed", "charged", "released"}
    assert state.spent[0] == (Fraction(3, 100) if after else 0)
    again = ledger.charge(charge(f"{step} 0", Fraction(1, 100), "bob"))
    assert again.repeat == after


def test_kills_at_random_leave_no_uncharged_release(place):
    rng = random.Random(3)
    for seed in range(20):
        child = FORK.Process(target=_killed_at_random, args=(place, seed))
        child.start()
        child.join(rng.uniform(0.01, 0.12))
        child.kill()
        child.join(60)
    state = Ledger.open(place).state("census")
    charged = {row["what"] for row in state.charges}
    assert charged
    assert _released(place) <= charged
    assert len(charged) - len(_released(place)) <= 20
    assert state.spent[0] == Fraction(len(charged), 10**6)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("initdb") is None, reason="needs a PostgreSQL server")
def test_postgresql_by_url_keeps_the_same_promises(postgres_url):
    ledger = Ledger.create(postgres_url)
    ledger.declare_family("census", (Fraction(1), Fraction(1, 10**6)))
    ledger.allow("census", "bob", (Fraction(2), Fraction(1, 10**6)))
    ledger.close()
    clients = [FORK.Process(target=_postgres_client, args=(postgres_url, n)) for n in range(20)]
    for client in clients:
        client.start()
    for client in clients:
        client.join(120)
        assert client.exitcode == 0
    ledger = Ledger.open(postgres_url)
    state = ledger.state("census")
    assert (state.spent[0], len(state.charges)) == (1, 20)
    assert ledger.charge(charge("common 0", Fraction(1, 20), "bob")).repeat
    with pytest.raises(BudgetSpent):
        ledger.charge(charge("late", Fraction(1, 20), "bob"))
    with pytest.raises(LedgerUnusable, match="not empty"):
        Ledger.create(postgres_url)
    ledger.close()


def _postgres_client(url, number):
    ledger = Ledger.open(url)
    for name in ("common 0", f"own {number} 0", f"own {number} 1"):
        try:
            ledger.charge(charge(name, Fraction(1, 20), "bob"))
        except BudgetSpent:
            continue
    os._exit(0)


@pytest.fixture
def postgres_url(tmp_path):
    """A server of our own on a socket in the test's folder; skipped where it cannot be run."""
    import subprocess

    pytest.importorskip("psycopg")
    if os.geteuid() == 0:
        if shutil.which("runuser") is None:
            pytest.skip("PostgreSQL does not run as root")
        user = ["runuser", "-u", "nobody", "--"]
        import tempfile

        home = tempfile.mkdtemp(prefix="pg-")
        shutil.chown(home, "nobody")
    else:
        user, home = [], str(tmp_path)
    data = f"{home}/data"
    options = f"-c listen_addresses='' -k {home} -c fsync=off"
    try:
        subprocess.run(
            [*user, "initdb", "-D", data, "-U", "me", "-A", "trust"], check=True, capture_output=True
        )
        start = [*user, "pg_ctl", "-D", data, "-w", "-o", options, "-l", f"{home}/log", "start"]
        subprocess.run(start, check=True, capture_output=True, timeout=60)
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"PostgreSQL cannot be started here: {type(error).__name__}")
    yield f"postgresql+psycopg://me@/postgres?host={home}"
    subprocess.run([*user, "pg_ctl", "-D", data, "-m", "immediate", "stop"], check=False, capture_output=True)
    if not str(home).startswith(str(tmp_path)):
        shutil.rmtree(home, ignore_errors=True)
