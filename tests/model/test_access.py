"""Who may see a dataset: as it is declared, and nobody else."""

import pytest

from discreet.errors import BadDescription
from discreet.model.access import ROLES, Access, parse_access


def test_a_role_opens_to_itself_and_to_those_above():
    for needed in ROLES:
        allowed = [role for role in ROLES if Access(needed).allows("ann", role)]
        assert allowed == list(ROLES[ROLES.index(needed) :])
        assert not Access(needed).allows(None, None)


def test_named_accounts_alone_may_and_custodians_besides():
    """To open it to everybody of the role is the wrong alternative."""
    for access in (Access("reader", ("ann",)), Access("", ("ann",))):
        assert access.allows("ann", "reader")
        assert not access.allows("ben", "analyst")
        assert access.allows("carl", "custodian")
        assert not access.allows(None, None)


def test_what_the_description_leaves_open_the_workspace_decides():
    assert Access().allows(None, None)
    assert not Access().allows(None, None, otherwise="reader")
    assert Access("public").allows(None, None, otherwise="custodian")


@pytest.mark.parametrize(
    "section",
    [
        "public",
        {"who": "everybody"},
        {"who": ""},
        {"whom": "public"},
        {"accounts": "ann"},
        {"accounts": [1]},
        {"who": "public", "accounts": ["ann"]},
    ],
)
def test_what_cannot_be_meant_is_refused(section):
    with pytest.raises(BadDescription, match="access"):
        parse_access(section)
