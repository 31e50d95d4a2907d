"""Each role may do what those before it may, and no more."""

import pytest

from discreet.errors import NotAllowed
from discreet.ledger.roles import ROLES, require_role


@pytest.mark.parametrize("has", ROLES)
@pytest.mark.parametrize("needed", ROLES)
def test_a_role_may_do_what_lower_ones_may(has, needed):
    if ROLES.index(has) >= ROLES.index(needed):
        assert require_role("ann", has, needed) is None
    else:
        with pytest.raises(NotAllowed, match=f'"ann" has the role {has}; this needs the role {needed}'):
            require_role("ann", has, needed)


def test_a_role_that_does_not_exist_is_a_fault_of_the_caller():
    with pytest.raises(ValueError, match="not in tuple"):
        require_role("ann", "king", "reader")
