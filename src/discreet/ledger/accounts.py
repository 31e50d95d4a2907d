"""Accounts: named people and programs with a role and API keys. Keys are shown once and stored as hashes.

    reader     asks what the public may ask, and sees datasets for readers
    analyst    may also spend a share of a ledger
    custodian  sees ledgers and alerts, opens shares, makes and revokes accounts

An account has any number of keys. A key may be limited to some datasets, to a lower role than the account's, and to a
number of days. It has 256 random bits, so a plain SHA-256 of it cannot be searched. There is no password and no default
account.
"""

import json
import re
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, insert, select, update

from discreet.errors import BadRequest
from discreet.ledger.database import ACCOUNTS, KEYS, LedgerDatabase, find_row
from discreet.ledger.entries import now
from discreet.ledger.requester import AccountHolder, KeyFacts, Register, hash_key
from discreet.model.dataset import ROLES
from discreet.model.messages.text import nearest

PREFIX = "dk_"
#: The length of a key's id, the beginning of its hash.
SHORT = 12
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}\Z")


class Accounts:
    """The accounts of a workspace, in the ledger's database."""

    def __init__(self, database: LedgerDatabase) -> None:
        self._database = database

    def create(
        self, account: str, role: str, *, datasets: Iterable[str] = (), days: int | None = None
    ) -> str:
        """Create an account and return its first key, which is never shown again.

        Raises:
            BadRequest: The name is taken or not usable, or there is no such role.
        """
        with self._database.transaction() as connection:
            self._enter(connection, account, role)
            return _new_key(connection, account, role, datasets, days)

    def register_name(self, account: str, role: str) -> None:
        """Create an account without a key, for single sign-on.

        Raises:
            BadRequest: The name is taken or not usable, or there is no such role.
        """
        with self._database.transaction() as connection:
            self._enter(connection, account, role)

    def issue(
        self, account: str, role: str | None = None, *, datasets: Iterable[str] = (), days: int | None = None
    ) -> str:
        """Create another key of an account and return it; it is never shown again.

        Raises:
            BadRequest: There is no such account, or it has not that role.
        """
        with self._database.transaction() as connection:
            row = find_row(connection, ACCOUNTS, account)
            if row is None or row.revoked is not None:
                raise BadRequest(f'There is no account "{account}".', "See the list of accounts.")
            wanted = role or row.role
            _refuse_role(wanted)
            if ROLES.index(wanted) > ROLES.index(row.role):
                raise BadRequest(
                    f'The account "{account}" has the role {row.role}.',
                    "Give a key that role or a lower one.",
                )
            return _new_key(connection, account, wanted, datasets, days)

    def revoke(self, account: str) -> None:
        """Revoke an account: its keys are refused, and its name is not reused."""
        with self._database.transaction() as connection:
            valid = (ACCOUNTS.c.account == account) & ACCOUNTS.c.revoked.is_(None)
            changed = connection.execute(update(ACCOUNTS).where(valid).values(revoked=now()))
            if changed.rowcount != 1:
                raise BadRequest(f'There is no account "{account}" to revoke.', "See the list of accounts.")

    def revoke_key(self, account: str, key_id: str) -> None:
        """Revoke one key of an account."""
        with self._database.transaction() as connection:
            named = (KEYS.c.account == account) & KEYS.c.key_hash.startswith(key_id, autoescape=True)
            changed = connection.execute(
                update(KEYS).where(named, KEYS.c.revoked.is_(None)).values(revoked=now())
            )
            if len(key_id) != SHORT or changed.rowcount != 1:
                raise BadRequest(
                    f'The account "{account}" has no key {key_id!r} to revoke.',
                    "`discreet account list` shows the keys, each by its first 12 letters.",
                )

    def listing(self) -> tuple[AccountHolder, ...]:
        """All accounts, revoked ones included; no keys, no hashes."""
        return tuple(self.register().accounts.values())

    def keys(self) -> tuple[KeyFacts, ...]:
        """All keys, revoked ones included, in the order of creation."""
        return tuple(self.register().keys.values())

    def register(self) -> Register:
        """All accounts and keys, in one snapshot."""
        with self._database.snapshot() as connection:
            accounts = connection.execute(select(ACCOUNTS).order_by("account")).all()
            rows = connection.execute(select(KEYS).order_by("created", "key_hash")).all()
        holders = {
            row.account: AccountHolder(row.account, row.role, row.created, row.revoked) for row in accounts
        }
        keys = {}
        for row in rows:
            datasets = None if row.datasets is None else tuple(json.loads(row.datasets))
            facts = (row.account, row.role, datasets, row.created, row.expires, row.revoked)
            keys[row.key_hash] = KeyFacts(row.key_hash[:SHORT], *facts)
        return Register(holders, keys)

    def _enter(self, connection: Connection, account: str, role: str) -> None:
        if not _NAME.match(account):
            raise BadRequest(
                f"{account!r} is not a valid account name.",
                "Use letters, digits and . _ @ -, at most 100, starting with a letter or digit.",
            )
        _refuse_role(role)
        if find_row(connection, ACCOUNTS, account) is not None:
            raise BadRequest(f'An account "{account}" exists already.', "Choose another name.")
        connection.execute(insert(ACCOUNTS).values(account=account, role=role, created=now()))


def _new_key(
    connection: Connection, account: str, role: str, datasets: Iterable[str], days: int | None
) -> str:
    key = PREFIX + secrets.token_urlsafe(32)
    if days is not None and not 1 <= days <= 36_500:
        raise BadRequest(f"--days is {days}.", "Give a whole number between 1 and 36500.")
    ends = None if days is None else datetime.now(UTC) + timedelta(days=days)
    row = {
        "key_hash": hash_key(key),
        "account": account,
        "role": role,
        "datasets": json.dumps(sorted(set(datasets))) if tuple(datasets) else None,
        "created": now(),
        "expires": None if ends is None else ends.isoformat(timespec="seconds"),
    }
    connection.execute(insert(KEYS).values(**row))
    return key


def _refuse_role(role: str) -> None:
    if role not in ROLES:
        raise BadRequest(f'There is no role "{role}".', nearest(role, ROLES))
