"""The roles of accounts, and who may do what."""

from __future__ import annotations

from discreet.errors import NotAllowed
from discreet.model.access import ROLES
from discreet.model.told import told


def require_role(account: str, has: str, needed: str) -> None:
    """Refuse an account whose role is below the one that is needed.

    Raises:
        NotAllowed: With the role that it needs.
    """
    if ROLES.index(has) < ROLES.index(needed):
        raise NotAllowed(
            told(
                'The account "{account}" has the role {has}; this needs the role {needed}.',
                account=account,
                has=has,
                needed=needed,
            ),
            told("Ask the custodian for another role."),
        )
