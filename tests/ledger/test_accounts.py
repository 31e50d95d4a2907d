"""Accounts: keys are shown once, stored as hashes, and can be revoked."""

import sqlite3

import pytest

from discreet.errors import BadKey, BadRequest
from discreet.ledger.accounts import Accounts
from discreet.ledger.database import create_database


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


def test_there_is_no_account_to_begin_with(accounts):
    assert accounts.listing() == ()


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
