"""The book of keys: read seldom, believed for a while, and never a reason for another answer than 401."""

import pytest

from discreet.errors import BadKey, LedgerUnusable
from discreet.ledger.accounts import Accounts
from discreet.ledger.database import create_database
from discreet.ledger.key_cache import FRESH, STALE, KeyCache


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def accounts(tmp_path):
    return Accounts(create_database(tmp_path / "ledger.sqlite"))


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
