"""The ledger: charged before release, repeats free, caps never passed, trouble means no answers."""

import multiprocessing
import os
import random
import signal
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.errors import BadDescription, BadKey, BadRequest, BudgetSpent, LedgerUnusable
from discreet.ledger.accounts import Accounts
from discreet.ledger.entries import Budget, Charge, LineageEntry, canonical_request
from discreet.ledger.ledger import STEPS, Ledger

KEY = bytes(range(32))

TENTH = Fraction(1, 10)
TINY = Fraction(1, 10**9)
FORK = multiprocessing.get_context("fork")


@pytest.fixture
def file(tmp_path):
    """A ledger in a file, with a family and two accounts."""
    return prepared(tmp_path / "ledger.sqlite")


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def place(request, tmp_path):
    """The same ledger in a file and on a PostgreSQL server: every promise holds in both."""
    if request.param == "postgresql":
        return prepared(request.getfixturevalue("postgres_url"))
    return prepared(tmp_path / "ledger.sqlite")


def prepared(place):
    ledger = Ledger.create(place, KEY)
    ledger.declare(Budget("census", (Fraction(1), Fraction(1, 10**6))))
    ledger.allow("census", "ann", (Fraction(1, 2), Fraction(1, 10**6)))
    ledger.allow("census", "bob", (Fraction(2), Fraction(1, 10**6)))
    ledger.close()
    return place


def charge(name, loss=TENTH, account=None, failure=TINY):
    return Charge("census", canonical_request("town", name), loss, failure, account)


def test_a_charge_is_booked_once_and_repeats_are_free_for_everyone(place):
    ledger = Ledger.open(place, KEY)
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
    ledger = Ledger.open(place, KEY)
    for n in range(10):
        ledger.charge(charge(n))
    assert ledger.state("census").left[0] == 0
    with pytest.raises(BudgetSpent) as refused:
        ledger.charge(charge("x", Fraction(1, 10**12)))
    told = refused.value
    assert (told.http_status, told.exit_code, told.code) == (403, 5, "budget-spent")
    ledger.charge(charge("free", Fraction(0), failure=Fraction(0)))


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (charge("a", Fraction(3, 5), "ann"), 'account "ann"'),
        (charge("a", Fraction(11, 10), "bob"), 'budget "census"'),
        (charge("a", TENTH, failure=Fraction(2, 10**6)), 'budget "census"'),
        (charge("a", TENTH, "nobody"), 'account "nobody"'),
    ],
)
def test_a_refused_charge_leaves_nothing_behind(place, asked, words):
    ledger = Ledger.open(place, KEY)
    with pytest.raises(BudgetSpent, match=words):
        ledger.charge(asked)
    state = ledger.state("census")
    assert (state.spent, state.charges) == ((0, 0), ())
    assert all(each.spent == (0, 0) for each in state.accounts)
    assert not ledger.is_paid("census", asked.request)


def test_charges_round_up_and_caps_round_down(place):
    ledger = Ledger.open(place, KEY)
    receipt = ledger.charge(charge("third", Fraction(1, 3)))
    assert Fraction(1, 3) < receipt.loss < Fraction(1, 3) + Fraction(2, 10**12)
    ledger.declare(Budget("thirds", (Fraction(2, 3), Fraction(1, 3))))
    cap = ledger.state("thirds").cap
    assert cap[0] < Fraction(2, 3)
    assert cap[1] < Fraction(1, 3)


def test_a_cap_is_for_life_it_may_be_lowered_and_never_raised(place):
    ledger = Ledger.open(place, KEY)
    cap = (Fraction(1), Fraction(1, 10**6))
    ledger.declare(Budget("census", cap))
    for wrong in ((Fraction(2), cap[1]), (cap[0], Fraction(1, 2))):
        with pytest.raises(BadDescription, match="cannot be raised"):
            ledger.declare(Budget("census", wrong))
    with pytest.raises(BadDescription, match="cannot be raised or changed"):
        ledger.declare(Budget("census", cap, "zcdp"))
    with pytest.raises(BadDescription, match="are for add-remove neighbours") as refused:
        ledger.declare(Budget("census", cap, "basic", "replace-one"))
    assert "one cap cannot bound both" in refused.value.advice
    ledger.charge(charge("a", Fraction(1, 2)))
    with pytest.raises(BadDescription, match="below the amount already spent"):
        ledger.declare(Budget("census", (TENTH, cap[1])))
    ledger.declare(Budget("census", (Fraction(1, 2), cap[1])))
    with pytest.raises(BudgetSpent):
        ledger.charge(charge("b"))
    with pytest.raises(BadDescription, match="no rule"):
        ledger.declare(Budget("other", cap, "advanced"))


def test_a_custodian_learns_the_cost_of_a_version_and_what_is_left(place):
    ledger = Ledger.open(place, KEY)
    ledger.charge(charge("a", Fraction(1, 4), failure=Fraction(0)))
    with pytest.raises(BudgetSpent) as refused:
        ledger.charge_version(charge("b", Fraction(3, 2), failure=Fraction(0)), "town", "1", "f")
    assert "it costs epsilon 1.5, delta 0, and epsilon 0.75, delta 1e-6 is left" in refused.value.message


def test_an_account_s_cap_can_change_but_not_below_what_it_spent(place):
    ledger = Ledger.open(place, KEY)
    ledger.charge(charge("a", Fraction(2, 5), "ann"))
    ledger.allow("census", "ann", (TENTH, TINY))
    ann = next(each for each in ledger.state("census").accounts if each.account == "ann")
    assert ann.cap[0] == Fraction(2, 5)
    with pytest.raises(BudgetSpent):
        ledger.charge(charge("b", TENTH, "ann"))
    ledger.allow("census", "ann", (Fraction(3, 5), Fraction(1, 10**6)))
    ledger.charge(charge("b", TENTH, "ann"))


def test_a_revoked_account_is_not_served(place):
    ledger = Ledger.open(place, KEY)
    accounts = Accounts(ledger.database)
    accounts.create("ann", "analyst")
    ledger.charge(charge("a", account="ann"))
    accounts.revoke("ann")
    with pytest.raises(BadKey):
        ledger.charge(charge("b", account="ann"))
    assert ledger.state("census").spent[0] == TENTH


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.integers(0, 12), st.integers(0, 400), st.sampled_from(["ann", "bob", None])), max_size=25
    )
)
def test_the_ledger_does_what_a_slow_model_says(tmp_path_factory, asked):
    path = tmp_path_factory.mktemp("model") / "ledger.sqlite"
    ledger = Ledger.create(path, KEY)
    ledger.declare(Budget("census", (Fraction(1), Fraction(1, 10**6))))
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
    Ledger.open(path, KEY).close()


def test_a_missing_ledger_is_not_made_anew(tmp_path, file):
    with pytest.raises(LedgerUnusable, match="missing") as trouble:
        Ledger.open(tmp_path / "none.sqlite", KEY)
    assert trouble.value.http_status == 503
    assert not (tmp_path / "none.sqlite").exists()
    (tmp_path / "empty.sqlite").touch()
    with pytest.raises(LedgerUnusable, match="missing"):
        Ledger.open(tmp_path / "empty.sqlite", KEY)
    with pytest.raises(LedgerUnusable):
        Ledger.create(file, KEY)


def test_a_damaged_ledger_gives_no_answers(file):
    raw = bytearray(file.read_bytes())
    for start in range(4096, len(raw), 512):
        raw[start : start + 64] = b"\xff" * 64
    file.write_bytes(raw)
    with pytest.raises(LedgerUnusable):
        Ledger.open(file, KEY)
    file.write_bytes(b"not a database at all" * 100)
    with pytest.raises(LedgerUnusable):
        Ledger.open(file, KEY)


def test_a_full_disk_gives_no_answers_and_charges_nothing(file):
    """SQLite's own limit on pages stands in for the disk's."""
    from sqlalchemy import event

    ledger = Ledger.open(file, KEY)
    limit = lambda connection, _record: connection.execute("PRAGMA max_page_count = 1")  # noqa: E731
    event.listen(ledger.database._engine, "connect", limit)
    booked = (
        ledger.charge(charge("x" * 3000 + str(n), Fraction(1, 10**4), failure=Fraction(0)))
        for n in range(2000)
    )
    done = []
    with pytest.raises(LedgerUnusable):
        done.extend(booked)
    healthy = Ledger.open(file, KEY)
    assert healthy.state("census").spent[0] == Fraction(len(done), 10**4)


def test_a_ledger_out_of_reach_gives_no_answers(file):
    ledger = Ledger.open(file, KEY)
    file.rename(file.with_name("away"))
    with pytest.raises(LedgerUnusable):
        ledger.charge(charge("a"))
    with pytest.raises(LedgerUnusable):
        Ledger.open("postgresql+psycopg://nobody@127.0.0.1:1/none", KEY)


def _client(place, folder, number, seed):
    """One client: asks its own and common questions in random order; every answer is written after its charge."""
    ledger = Ledger.open(place, KEY)
    rng = random.Random(seed)
    names = [f"own {number} {n}" for n in range(3)] + [f"common {n}" for n in range(6)]
    rng.shuffle(names)
    for name in names:
        try:
            ledger.charge(charge(name, Fraction(1, 100), "bob"))
        except BudgetSpent:
            continue
        _release(folder, name)
    os._exit(0)


def _release(folder, name):
    with (folder / "released").open("a") as file:
        file.write(canonical_request("town", name) + "\n")


def _released(folder):
    released = folder / "released"
    return set(released.read_text().splitlines()) if released.exists() else set()


@pytest.mark.slow
def test_many_clients_at_once_never_overspend(place, tmp_path):
    """126 different questions of a hundredth each, asked 360 times; one hundred of them fit."""
    clients = [FORK.Process(target=_client, args=(place, tmp_path, n, n)) for n in range(40)]
    for start in (0, 20):
        for client in clients[start : start + 20]:
            client.start()
        for client in clients[start : start + 20]:
            client.join(120)
            assert client.exitcode == 0
    ledger = Ledger.open(place, KEY)
    state = ledger.state("census")
    assert state.spent[0] == 1
    assert len(state.charges) == 100
    assert _released(tmp_path) == {row["what"] for row in state.charges}


def _killed(place, folder, step, name):
    """Charge and release, and be killed when a step is done."""

    def kill(done):
        if done == step:
            os.kill(os.getpid(), signal.SIGKILL)

    ledger = Ledger.open(place, KEY, on_step=kill)
    ledger.charge(charge(name, Fraction(1, 100), "bob"))
    kill("charged")
    _release(folder, name)
    kill("released")
    os._exit(0)


@pytest.mark.slow
@pytest.mark.parametrize("step", [*STEPS, "charged", "released"])
def test_a_kill_at_a_named_step_leaves_no_uncharged_release(place, tmp_path, step):
    for n in range(3):
        child = FORK.Process(target=_killed, args=(place, tmp_path, step, f"{step} {n}"))
        child.start()
        child.join(60)
        assert child.exitcode == -signal.SIGKILL
    ledger = Ledger.open(place, KEY)
    state = ledger.state("census")
    charged = {row["what"] for row in state.charges}
    assert _released(tmp_path) <= charged
    after = step in {"committed", "marked", "charged", "released"}
    assert state.spent[0] == (Fraction(3, 100) if after else 0)
    again = ledger.charge(charge(f"{step} 0", Fraction(1, 100), "bob"))
    assert again.repeat == after


@pytest.mark.slow
def test_a_database_that_holds_something_is_not_made_a_ledger(postgres_url):
    Ledger.create(postgres_url, KEY).close()
    with pytest.raises(LedgerUnusable, match="not empty"):
        Ledger.create(postgres_url, KEY)


@pytest.mark.slow
def test_a_database_without_tables_is_no_ledger(postgres_url):
    with pytest.raises(LedgerUnusable, match="lacks tables"):
        Ledger.open(postgres_url, KEY)


@pytest.mark.slow
def test_a_server_that_breaks_off_gives_no_answers_and_charges_nothing(postgres_url):
    """The connection ends within the charge; the next one finds the ledger as it was."""
    from sqlalchemy import create_engine, text

    prepared(postgres_url)
    engine = create_engine(postgres_url)

    def break_off(step):
        if step == "budget charged":
            with engine.begin() as connection:
                others = "pid <> pg_backend_pid() AND datname = current_database()"
                connection.execute(
                    text(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")
                )

    with pytest.raises(LedgerUnusable):
        Ledger.open(postgres_url, KEY, on_step=break_off).charge(charge("a", account="ann"))
    ledger = Ledger.open(postgres_url, KEY)
    assert ledger.state("census").spent[0] == 0
    assert not ledger.charge(charge("a", account="ann")).repeat


def test_the_whole_ledger_is_all_budgets_with_lineages_versions_and_the_chain(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.sqlite", KEY)
    for name in ("b", "a"):
        charge = Charge(name, f"universe {name}", Fraction(1, 4), Fraction(0))
        ledger.charge_version(
            charge, f"town {name}", "1", "f", Budget(name, (Fraction(1), Fraction(1, 10**6)))
        )
    ledger.enter_lineage(LineageEntry("open", "open", "cellkey"))
    whole = ledger.whole()
    quarter = [(state.name, state.spent[0], neighbours) for state, neighbours in whole.budgets]
    assert quarter == [(name, Fraction(1, 4), "add-remove") for name in "ab"]
    towns = [(f"town {name}", f"town {name}", "dp", name) for name in "ab"]
    assert whole.lineages == (("open", "open", "cellkey", ""), *towns)
    assert whole.versions == (("town a", "1", "a"), ("town b", "1", "b"))
    assert (whole.begun[2], whole.head.position) == (0, 10)
    with pytest.raises(BadRequest, match='has no budget "c"'):
        ledger.state("c")
