"""Accounts, keys and requesters: keys are stored as hashes and can be revoked, and a free group counts once."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from discreet.errors import BadKey, BadRequest, LedgerUnusable, NotAllowed
from discreet.ledger.accounts import Accounts
from discreet.ledger.database import create_database
from discreet.ledger.ledger import Ledger
from discreet.ledger.requester import FRESH, STALE, KeyCache, Requester, count_free_groups, require_role
from discreet.model.dataset import ROLES
from discreet.model.request import TableRequest


@pytest.fixture
def accounts(tmp_path):
    return Accounts(create_database(tmp_path / "ledger.sqlite"))


def test_a_key_opens_its_account_and_no_other_key_does(accounts):
    key, other = accounts.create("ann", "analyst"), accounts.create("bob", "reader")
    register = accounts.register()
    assert (register.key(key).account, register.key(key).role) == ("ann", "analyst")
    assert register.key(other).account == "bob"
    assert key != other
    for wrong in ("", key[:-1], key + "x", key.upper(), "ann", "\ud800"):
        with pytest.raises(BadKey) as refused:
            register.key(wrong)
        assert refused.value.http_status == 401


def test_the_key_is_nowhere_in_the_file(accounts, tmp_path):
    key = accounts.create("ann", "custodian")
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"custodian" in raw
    assert key.encode() not in raw
    assert key[3:].encode() not in raw


def test_a_key_has_256_bits(accounts):
    assert len(accounts.create("ann", "reader")) >= 3 + 43


def test_a_revoked_key_is_refused_and_its_name_is_not_given_again(accounts):
    key = accounts.create("ann", "analyst")
    accounts.revoke("ann")
    with pytest.raises(BadKey):
        accounts.register().key(key)
    with pytest.raises(BadRequest, match="already"):
        accounts.create("ann", "analyst")
    with pytest.raises(BadRequest, match="revoke"):
        accounts.revoke("ann")
    assert accounts.listing()[0].revoked is not None


@pytest.mark.parametrize(
    ("name", "role"), [("", "reader"), ("a b", "reader"), ("ann", "king"), ("x" * 101, "reader")]
)
def test_names_and_roles_that_cannot_be_used_are_refused(accounts, name, role):
    with pytest.raises(BadRequest):
        accounts.create(name, role)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_flood_of_wrong_keys_reads_the_ledger_once(accounts):
    read, clock = [], Clock()
    book = KeyCache(lambda: read.append(1) or accounts.register(), clock=clock)
    for number in range(1000):
        if book.is_due():
            book.refresh()
        with pytest.raises(BadKey):
            book.key(f"dk_{number}")
    assert len(read) == 1
    clock.now += FRESH
    assert book.is_due()


def test_a_ledger_that_fails_is_believed_for_a_while_and_then_nothing_is(accounts):
    """To believe the last register for ever is the wrong alternative: nobody could be revoked."""
    key, clock, broken = accounts.create("ann", "analyst"), Clock(), []

    def read():
        if broken:
            raise LedgerUnusable("gone")
        return accounts.register()

    book = KeyCache(read, clock=clock)
    book.refresh()
    broken.append(True)
    clock.now += STALE
    book.refresh()
    assert book.key(key).account == "ann"
    clock.now += 1
    with pytest.raises(BadKey):
        book.key(key)
    assert book.account("ann") is None


def test_a_change_of_the_file_is_seen_at_once(accounts):
    mark = [1]
    book = KeyCache(accounts.register, lambda: mark[0], Clock())
    book.refresh()
    assert not book.is_due()
    mark[0] = 2
    assert book.is_due()


def test_a_key_has_the_lower_role_and_its_scope(accounts):
    accounts.create("ann", "analyst")
    key = accounts.issue("ann", "reader", datasets=["b", "a", "a"], days=2)
    facts = accounts.register().key(key, "2026-01-01")
    assert (facts.role, facts.datasets) == ("reader", ("a", "b"))
    with pytest.raises(BadKey):
        accounts.register().key(key, "9999-01-01")


KEY = bytes(range(32))


@pytest.fixture
def asker(tmp_path):
    database = Ledger.create(tmp_path / "ledger.sqlite", KEY).database
    Accounts(database).create("ann", "reader")
    return Requester("ann", database)


def request(*groups, dataset="town"):
    return TableRequest(dataset, ("age",), groups=(("age", groups),))


def used_before(asker, asked):
    with count_free_groups(asker, asked) as meter:
        return meter("age", "ann")


def test_a_group_counts_once_in_any_order_and_single_codes_never(asker):
    assert used_before(asker, request(("a", "b"), ("c",))) == 0
    assert used_before(asker, request(("b", "a"))) == 0
    assert used_before(asker, request(("b", "c"))) == 1
    assert used_before(asker, request(("a", "c"))) == 2
    assert used_before(asker, request(("a", "b"), dataset="other")) == 0


def test_a_dry_run_and_a_refused_request_take_nothing(asker):
    used_before(replace(asker, takes=False), request(("a", "b")))
    with pytest.raises(RuntimeError), count_free_groups(asker, request(("a", "b"))):
        raise RuntimeError("a rule refuses")
    assert used_before(asker, request(("b", "c"))) == 0


@pytest.mark.slow
def test_somebody_without_an_account_of_ours_waits_for_themselves_on_postgresql(postgres_url):
    """Two requests at once that both see no group used is the wrong alternative: there is no row of an account to lock."""
    olga = Requester("olga@office", Ledger.create(postgres_url, KEY).database)
    seen = []
    with ThreadPoolExecutor(1) as other:
        with count_free_groups(olga, request(("a", "b"))) as meter:
            waiting = other.submit(lambda: seen.append(used_before(olga, request(("b", "c")))))
            assert meter("age", "olga@office") == 0
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.5)
        waiting.result(timeout=30)
    assert seen == [1]


@pytest.mark.parametrize("has", ROLES)
@pytest.mark.parametrize("needed", ROLES)
def test_a_role_may_do_what_lower_ones_may(has, needed):
    if ROLES.index(has) >= ROLES.index(needed):
        assert require_role("ann", has, needed) is None
    else:
        with pytest.raises(NotAllowed, match=f'"ann" has the role {has}; this needs the role {needed}'):
            require_role("ann", has, needed)
