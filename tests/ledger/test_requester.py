"""The requester: a free group counts once, a refused request takes none, and a role may do what lower ones may."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from discreet.errors import NotAllowed
from discreet.ledger.accounts import Accounts
from discreet.ledger.ledger import Ledger
from discreet.ledger.requester import Requester, count_free_groups, require_role
from discreet.model.dataset import ROLES
from discreet.model.request import TableRequest

KEY = bytes(range(32))


@pytest.fixture
def asker(tmp_path):
    database = Ledger.create(tmp_path / "ledger.sqlite", KEY).database
    Accounts(database).create("ann", "reader")
    return Requester("ann", database)


def request(*groups, dataset="town"):
    return TableRequest(dataset, ("age",), groups=(("age", groups),))


def used_before(asker, asked):
    with count_free_groups(asker, asked) as meter:
        return meter("age", "ann")


def test_a_group_counts_once_in_any_order_and_single_codes_never(asker):
    assert used_before(asker, request(("a", "b"), ("c",))) == 0
    assert used_before(asker, request(("b", "a"))) == 0
    assert used_before(asker, request(("b", "c"))) == 1
    assert used_before(asker, request(("a", "c"))) == 2
    assert used_before(asker, request(("a", "b"), dataset="other")) == 0


def test_a_dry_run_and_a_refused_request_take_nothing(asker):
    used_before(replace(asker, takes=False), request(("a", "b")))
    with pytest.raises(RuntimeError), count_free_groups(asker, request(("a", "b"))):
        raise RuntimeError("a rule refuses")
    assert used_before(asker, request(("b", "c"))) == 0


@pytest.mark.slow
def test_somebody_without_an_account_of_ours_waits_for_themselves_on_postgresql(postgres_url):
    """Two requests at once that both see no group used is the wrong alternative: there is no row of an account to lock."""
    olga = Requester("olga@office", Ledger.create(postgres_url, KEY).database)
    seen = []
    with ThreadPoolExecutor(1) as other:
        with count_free_groups(olga, request(("a", "b"))) as meter:
            waiting = other.submit(lambda: seen.append(used_before(olga, request(("b", "c")))))
            assert meter("age", "olga@office") == 0
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.5)
        waiting.result(timeout=30)
    assert seen == [1]


@pytest.mark.parametrize("has", ROLES)
@pytest.mark.parametrize("needed", ROLES)
def test_a_role_may_do_what_lower_ones_may(has, needed):
    if ROLES.index(has) >= ROLES.index(needed):
        assert require_role("ann", has, needed) is None
    else:
        with pytest.raises(NotAllowed, match=f'"ann" has the role {has}; this needs the role {needed}'):
            require_role("ann", has, needed)
