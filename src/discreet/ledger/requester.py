"""The roles of accounts, and who may do what.

The meter of free groups: how many groups of their own people have made of a dataset's variables.

A group is counted once for each account, dataset and variable; asking for it again, in any table, is free.
Counting and recording are one transaction that locks the account, so that two requests at once cannot both
take the last group. A request that a rule refuses records nothing.
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
    """Refuse an account whose role is below the one that is needed.

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
    """Who is asking, and where what they use is written down; a dry run takes nothing."""

    account: str
    database: LedgerDatabase | None = None
    role: str = "reader"
    takes: bool = True
    #: The only datasets that the key is for; None for all.
    datasets: frozenset[str] | None = None
    #: How it is known who asks: the id of a key, `oidc` or `proxy`.
    by: str = ""

    def require(self, role: str) -> None:
        """Refuse what needs a higher role.

        Raises:
            NotAllowed: With the role that it needs.
        """
        require_role(self.account, self.role, role)


def requester_of(key: KeyFacts) -> Requester:
    """Who asks with a key, in its role and for its datasets."""
    scope = None if key.datasets is None else frozenset(key.datasets)
    return Requester(key.account, role=key.role, datasets=scope, by=key.id)


@contextmanager
def count_free_groups(asker: Requester, request: TableRequest) -> Iterator[Callable[[str, str], int]]:
    """Count and record the groups of a canonical request, unless the block refuses it.

    Yields:
        A meter: for a variable and an account, how many groups were used before, this request's not counted.
    """
    # Only an account that makes groups of its own needs the database: a plain table starts without SQLAlchemy.
    from sqlalchemy import func, insert, select  # noqa: PLC0415

    from discreet.ledger.database import ACCOUNTS, GROUPS  # noqa: PLC0415

    own = {name: {_name_of(group) for group in groups if len(group) > 1} for name, groups in request.groups}
    scope = (GROUPS.c.account == asker.account, GROUPS.c.dataset == request.dataset)
    if asker.database is None:
        raise LedgerUnusable("The ledger is missing, and groups are counted in it.", "Make an account first.")
    with asker.database.transaction() as connection:
        connection.execute(
            select(ACCOUNTS.c.account).where(ACCOUNTS.c.account == asker.account).with_for_update()
        )
        if (
            connection.dialect.name == "postgresql"
        ):  # somebody whom a proxy or a token names has no row to lock
            connection.execute(select(func.pg_advisory_xact_lock(func.hashtext(asker.account))))

        def used(variable: str, _account: str) -> int:
            others = GROUPS.c.members.not_in(own.get(variable, set()))
            found = select(func.count()).where(*scope, GROUPS.c.variable == variable, others)
            return int(connection.execute(found).scalar_one())

        yield used
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


def _name_of(group: tuple[str, ...]) -> str:
    """A fixed name of a set of codes."""
    return hashlib.sha256(json.dumps(sorted(group)).encode()).hexdigest()
