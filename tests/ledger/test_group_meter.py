"""The meter of free groups: each counts once, however it is written, and a refused request takes nothing."""

from dataclasses import replace

import pytest

from discreet.ledger.accounts import Accounts
from discreet.ledger.group_meter import Asker, metered_groups
from discreet.ledger.ledger import Ledger
from discreet.model.request import TableRequest


@pytest.fixture
def asker(tmp_path):
    database = Ledger.create(tmp_path / "ledger.sqlite").database
    Accounts(database).create("ann", "reader")
    return Asker("ann", database)


def request(*groups, dataset="town"):
    return TableRequest(dataset, ("age",), groups=(("age", groups),))


def used_before(asker, asked):
    with metered_groups(asker, asked) as meter:
        return meter("age", "ann")


def test_a_group_counts_once_in_any_order_and_single_codes_never(asker):
    assert used_before(asker, request(("a", "b"), ("c",))) == 0
    assert used_before(asker, request(("b", "a"))) == 0
    assert used_before(asker, request(("b", "c"))) == 1
    assert used_before(asker, request(("a", "c"))) == 2
    assert used_before(asker, request(("a", "b"), dataset="other")) == 0


def test_a_dry_run_and_a_refused_request_take_nothing(asker):
    used_before(replace(asker, takes=False), request(("a", "b")))
    with pytest.raises(RuntimeError), metered_groups(asker, request(("a", "b"))):
        raise RuntimeError("a rule refuses")
    assert used_before(asker, request(("b", "c"))) == 0
