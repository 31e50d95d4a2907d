"""Accounts: named holders of API keys, each with a role. Keys are shown once and stored as hashes only.

    reader     asks what the public may ask
    analyst    may also draw on a ledger that was opened to the account
    custodian  sees ledgers, opens shares, makes and revokes accounts

A key is 256 random bits, so a plain SHA-256 of it cannot be searched; there is no password and no default account.

Comes from: `cli`, `server`. Goes to: `ledger` (who pays), the faces (who may).
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import insert, select, update

from discreet.errors import BadKey, BadRequest, nearest
from discreet.ledger.roles import ROLES, require_role
from discreet.ledger.tables import ACCOUNTS

if TYPE_CHECKING:
    from discreet.ledger.database import LedgerDatabase

PREFIX = "dk_"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}\Z")


@dataclass(frozen=True, slots=True)
class AccountHolder:
    """Who is asking."""

    account: str
    role: str
    created: str
    revoked: str | None = None

    def require(self, role: str) -> None:
        """Refuse what needs a higher role.

        Raises:
            NotAllowed: With the role that it needs.
        """
        require_role(self.account, self.role, role)


class Accounts:
    """The accounts of a workspace, in the ledger's database."""

    def __init__(self, database: LedgerDatabase) -> None:
        self._database = database

    def create(self, account: str, role: str) -> str:
        """Make an account and return its key, which is never shown again.

        Raises:
            BadRequest: The name is taken or not usable, or there is no such role.
        """
        if not _NAME.match(account):
            raise BadRequest(
                f"The account name {account!r} is not usable.",
                "Use letters, digits and . _ @ -, at most 100, starting with a letter or digit.",
            )
        if role not in ROLES:
            raise BadRequest(f'There is no role "{role}".', nearest(role, ROLES))
        key = PREFIX + secrets.token_urlsafe(32)
        with self._database.transaction() as connection:
            if connection.execute(select(ACCOUNTS).where(ACCOUNTS.c.account == account)).first() is not None:
                raise BadRequest(f'There is an account "{account}" already.', "Choose another name.")
            row = {"account": account, "role": role, "key_hash": _hash(key), "created": _now()}
            connection.execute(insert(ACCOUNTS).values(**row))
        return key

    def holder(self, key: str) -> AccountHolder:
        """Whose key it is.

        Raises:
            BadKey: It is unknown or revoked; the message does not say which.
        """
        with self._database.snapshot() as connection:
            row = connection.execute(select(ACCOUNTS).where(ACCOUNTS.c.key_hash == _hash(key))).one_or_none()
        if row is None or row.revoked is not None:
            raise BadKey("The API key is not accepted.", "Ask the custodian for a new one.")
        return AccountHolder(row.account, row.role, row.created)

    def revoke(self, account: str) -> None:
        """End an account; its key is refused from now on, and its name is not given again."""
        with self._database.transaction() as connection:
            changed = connection.execute(
                update(ACCOUNTS)
                .where(ACCOUNTS.c.account == account, ACCOUNTS.c.revoked.is_(None))
                .values(revoked=_now())
            )
            if changed.rowcount != 1:
                raise BadRequest(f'There is no account "{account}" to revoke.', "See the list of accounts.")

    def listing(self) -> tuple[AccountHolder, ...]:
        """All accounts, revoked ones included; no keys, no hashes."""
        with self._database.snapshot() as connection:
            rows = connection.execute(select(ACCOUNTS).order_by("account")).all()
        return tuple(AccountHolder(row.account, row.role, row.created, row.revoked) for row in rows)


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
