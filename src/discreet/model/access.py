"""Access to a dataset on a server: public, or accounts with at least some role.

    [access]
    who = "analyst"               # "public", or the lowest role with access: reader, analyst, custodian
    accounts = ["anna", "ben"]    # only these accounts, and custodians

No number depends on it; `discreet relabel` may change it after a load. Without the section the option `access` of the
workspace decides. It restricts the server only, not those who can read the workspace's folder.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from discreet.errors import BadDescription
from discreet.model.description.sections import check_section

#: Each role may do what those before it may.
ROLES = ("reader", "analyst", "custodian")
PUBLIC = "public"
AUDIENCES = (PUBLIC, *ROLES)


@dataclass(frozen=True, slots=True)
class Access:
    """The accounts that may see a dataset.

    Args:
        who: One of `AUDIENCES`; empty where the workspace decides.
        accounts: Only these accounts and custodians; empty for all accounts of the role.
    """

    who: str = ""
    accounts: tuple[str, ...] = ()

    def allows(self, account: str | None, role: str | None, otherwise: str = PUBLIC) -> bool:
        """Whether an account may see the dataset; an anonymous reader has no account and no role.

        `otherwise` is the audience where the description names none.

        >>> Access("analyst").allows("anna", "reader"), Access("analyst").allows("anna", "custodian")
        (False, True)
        >>> Access().allows(None, None), Access().allows(None, None, otherwise="reader")
        (True, False)
        """
        who = self.who or (ROLES[0] if self.accounts else otherwise)
        if who == PUBLIC:
            return True
        if account is None or role is None or ROLES.index(role) < ROLES.index(who):
            return False
        return not self.accounts or account in self.accounts or role == ROLES[-1]


def parse_access(section: Any) -> Access:
    """Parse `[access]`.

    >>> parse_access({"who": "reader"})
    Access(who='reader', accounts=())
    """
    check_section(section, "access", [field.name for field in fields(Access)])
    who, accounts = section.get("who", ""), section.get("accounts", [])
    if "who" in section and who not in AUDIENCES:
        raise BadDescription(f"`who` of [access] is {who!r}.", f"Give one of: {', '.join(AUDIENCES)}.")
    if not isinstance(accounts, list) or not all(isinstance(each, str) and each for each in accounts):
        raise BadDescription(f"`accounts` of [access] is {accounts!r}.", "Give a list of names of accounts.")
    if accounts and who == PUBLIC:
        raise BadDescription(
            "[access] names accounts, and says that everybody may.", "Leave out `accounts`, or give a role."
        )
    return Access(who, tuple(accounts))
