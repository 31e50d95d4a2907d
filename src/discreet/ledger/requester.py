"""The requester: account, role and datasets of a request, the cached keys of a server, and the quota of free groups.

    lookup       in memory, by the hash of the key
    refresh      when a key is looked up and the ledger's file has changed, or the cache is older than `FRESH` seconds
    failure      a stale cache is used for `STALE` seconds; after that no key is accepted

So a revoked key is refused at once, or after `FRESH` seconds with a ledger in PostgreSQL. A flood of wrong keys reads the
ledger no more often than one right key does. A ledger that is locked or out of reach does not show in the response to a
wrong key: a key that cannot be checked is refused like a wrong one.

A free group is counted once for each account, dataset and variable; using it again, in any table, is free. Counting and
recording are one transaction that locks the account, so that two concurrent requests cannot both take the last group. A
request that a rule refuses records nothing.

Nothing here needs the database until groups are counted: a table starts without SQLAlchemy.
"""

from __future__ import annotations

import hashlib
import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING

from discreet.errors import BadKey, DiscreetError, LedgerUnusable, NotAllowed
from discreet.ledger.entries import now
from discreet.model.dataset import ROLES
from discreet.model.messages.text import message
from discreet.model.request import TableRequest

if TYPE_CHECKING:
    from discreet.ledger.database import LedgerDatabase


@dataclass(frozen=True, slots=True)
class AccountHolder:
    """An account."""

    account: str
    role: str
    created: str
    revoked: str | None = None


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """A key as it is listed: everything but the key.

    `id` is the beginning of its hash, `role` at most the account's, and `datasets` None for all of them.
    """

    id: str
    account: str
    role: str
    datasets: tuple[str, ...] | None
    created: str
    expires: str | None
    revoked: str | None

    def is_valid(self, at: str = "") -> bool:
        """Whether it is neither revoked nor expired, at a time or now."""
        return self.revoked is None and (self.expires is None or (at or now()) < self.expires)


@dataclass(frozen=True, slots=True)
class Register:
    """All accounts by name and all keys by hash, in one snapshot."""

    accounts: dict[str, AccountHolder]
    keys: dict[str, KeyFacts]

    def key(self, key: str, at: str = "") -> KeyFacts:
        """The facts of a key that is valid at a time or now, its role at most that of its account.

        Raises:
            BadKey: It is unknown, expired or revoked, or its account is; the message does not say which.
        """
        found = self.keys.get(hash_key(key))
        holder = None if found is None else self.accounts[found.account]
        if found is None or holder is None or holder.revoked is not None or not found.is_valid(at):
            raise not_accepted()
        return replace(found, role=min(found.role, holder.role, key=ROLES.index))


def not_accepted() -> BadKey:
    """The one refusal of keys and tokens; it gives no reason."""
    return BadKey("The API key is not accepted.", "Leave the key out, or ask the custodian for a new one.")


def hash_key(key: str) -> str:
    """The stored hash of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


FRESH, STALE = 2.0, 60.0
log = logging.getLogger("discreet.server")


class KeyCache:
    """The cached register of one workspace.

    Args:
        read: Reads it from the ledger; returns None if there are no accounts.
        mark: A cheap value that changes with the ledger.
        clock: The time in seconds.
    """

    def __init__(
        self,
        read: Callable[[], Register | None],
        mark: Callable[[], object] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._mark = mark
        self._marked: object = None
        self._clock = clock
        self._register: Register | None = None
        self._read_at: float | None = None
        self._tried_at: float | None = None
        self._reading = Lock()

    def is_due(self) -> bool:
        """Whether the register must be read before the next lookup, or is being read."""
        return self._reading.locked() or self._is_old()

    def _is_old(self) -> bool:
        old = self._tried_at is None or self._clock() - self._tried_at >= FRESH
        return old or self._mark() != self._marked

    def refresh(self) -> None:
        """Read the register, or wait while another thread does. Failures are logged, not raised."""
        with self._reading:
            if not self._is_old():
                return
            try:
                self._tried_at, self._marked = self._clock(), self._mark()
                self._register = self._read()
                self._read_at = self._clock()
            except DiscreetError as error:
                log.error("The accounts cannot be read, and keys are refused soon: %s", error)  # noqa: TRY400 - complete

    def key(self, key: str) -> KeyFacts:
        """The facts of a valid key.

        Raises:
            BadKey: It is not accepted, or cannot be checked.
        """
        register = self._current()
        if register is None:
            raise not_accepted()
        return register.key(key)

    def account(self, name: str) -> AccountHolder | None:
        """An account by name, revoked ones included."""
        register = self._current()
        return None if register is None else register.accounts.get(name)

    def is_lost(self) -> bool:
        """Whether the cache is too old to be used."""
        return self._read_at is None or self._clock() - self._read_at > STALE

    def _current(self) -> Register | None:
        return None if self.is_lost() else self._register


def require_role(account: str, has: str, needed: str) -> None:
    """Refuse an account whose role is below the needed one.

    Raises:
        NotAllowed: With the role that it needs.
    """
    if ROLES.index(has) < ROLES.index(needed):
        raise NotAllowed(
            message(
                'The account "{account}" has the role {has}; this needs the role {needed}.',
                account=account,
                has=has,
                needed=needed,
            ),
            message("Ask the custodian for another role."),
        )


@dataclass(frozen=True, slots=True)
class Requester:
    """The account that makes a request; a dry run (`takes` False) records nothing."""

    account: str
    database: LedgerDatabase | None = None
    role: str = "reader"
    takes: bool = True
    #: The datasets of the key; None for all.
    datasets: frozenset[str] | None = None
    #: How the account was identified: the id of a key, `oidc` or `proxy`.
    by: str = ""

    def require(self, role: str) -> None:
        """Refuse a request that needs a higher role.

        Raises:
            NotAllowed: With the role that it needs.
        """
        require_role(self.account, self.role, role)


def requester_of(key: KeyFacts) -> Requester:
    """The requester of an API key."""
    scope = None if key.datasets is None else frozenset(key.datasets)
    return Requester(key.account, role=key.role, datasets=scope, by=key.id)


@contextmanager
def count_free_groups(asker: Requester, request: TableRequest) -> Iterator[Callable[[str, str], int]]:
    """Count and record the free groups of a canonical request, unless the block refuses it.

    Yields:
        A meter: for a variable and an account, the number of groups used before, without this request's.
    """
    from sqlalchemy import func, insert, select  # noqa: PLC0415

    from discreet.ledger.database import ACCOUNTS, GROUPS  # noqa: PLC0415

    own = {
        name: {
            hashlib.sha256(json.dumps(sorted(group)).encode()).hexdigest()
            for group in groups
            if len(group) > 1
        }
        for name, groups in request.groups
    }
    scope = (GROUPS.c.account == asker.account, GROUPS.c.dataset == request.dataset)
    if asker.database is None:
        raise LedgerUnusable("The ledger is missing, and groups are counted in it.", "Make an account first.")
    with asker.database.transaction() as connection:
        connection.execute(
            select(ACCOUNTS.c.account).where(ACCOUNTS.c.account == asker.account).with_for_update()
        )
        if connection.dialect.name == "postgresql":  # accounts of a proxy or token have no row to lock
            connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(asker.account))))

        def count(variable: str, _account: str) -> int:
            others = GROUPS.c.members.not_in(own.get(variable, set()))
            found = select(func.count()).where(*scope, GROUPS.c.variable == variable, others)
            return int(connection.execute(found).scalar_one())

        yield count
        if not asker.takes:
            return
        for variable, groups in own.items():
            known = select(GROUPS.c.members).where(*scope, GROUPS.c.variable == variable)
            for members in groups - set(connection.execute(known).scalars()):
                row = {
                    "account": asker.account,
                    "dataset": request.dataset,
                    "variable": variable,
                    "members": members,
                }
                connection.execute(insert(GROUPS).values(**row))
