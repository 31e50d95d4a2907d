"""Accounts: keys are shown once, stored as hashes, cached for a while, and can be revoked."""

import sqlite3

import pytest

from discreet.errors import BadKey, BadRequest, LedgerUnusable
from discreet.ledger.accounts import Accounts
from discreet.ledger.database import create_database
from discreet.ledger.requester import FRESH, STALE, KeyCache


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
