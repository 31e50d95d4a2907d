"""The requester: account, role and datasets of a request, and its quota of free groups.

A free group is counted once for each account, dataset and variable; using it again, in any table, is free. Counting and
recording are one transaction that locks the account, so that two concurrent requests cannot both take the last group. A
request that a rule refuses records nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import LedgerUnusable, NotAllowed
from discreet.model.access import ROLES
from discreet.model.messages.text import message
from discreet.model.request import TableRequest

if TYPE_CHECKING:
    from discreet.ledger.accounts import KeyFacts
    from discreet.ledger.database import LedgerDatabase


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
    # Only free groups need the database: a plain table starts without SQLAlchemy.
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
