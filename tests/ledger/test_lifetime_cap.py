"""Statements refuse or change one row: the conditional update adds what fits and nothing else."""

from fractions import Fraction

import pytest

from discreet.errors import BadDescription, BadRequest
from discreet.ledger.database import BUDGETS
from discreet.ledger.entries import Budget, Charge
from discreet.ledger.ledger import Ledger
from discreet.ledger.lifetime_cap import (
    charge_within_cap,
    declare_budget,
    insert_charge,
    no_budget_for_version,
)

KEY = bytes(range(32))

CENSUS = BUDGETS.c.family == "census"


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.sqlite", KEY)
    ledger.declare(Budget("census", (Fraction(1), Fraction(1, 10**6))))
    return ledger


def test_what_fits_to_the_last_unit_is_added_and_one_unit_more_is_not(ledger):
    with ledger.database.transaction() as connection:
        assert charge_within_cap(connection, BUDGETS, CENSUS, 10**12, 0)
        assert not charge_within_cap(connection, BUDGETS, CENSUS, 1, 0)
        assert charge_within_cap(connection, BUDGETS, CENSUS, 0, 10**12)
        assert not charge_within_cap(connection, BUDGETS, CENSUS, 0, 1)
    assert ledger.state("census").spent == (Fraction(1), Fraction(1, 10**6))


def test_a_request_is_recorded_once_and_only_under_a_known_budget(ledger):
    charge = Charge("census", "a", Fraction(1, 2), Fraction(0))
    with ledger.database.transaction() as connection:
        assert insert_charge(connection, charge, 1, 0, 9, "now")
        assert not insert_charge(connection, charge, 1, 0, 9, "now")
        with pytest.raises(BadRequest, match='no budget "nobody"'):
            insert_charge(connection, Charge("nobody", "a", Fraction(1), Fraction(0)), 1, 0, 9, "now")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cap": (Fraction(2), Fraction(1, 10**6))}, "cannot be raised"),
        ({"composition": "zcdp"}, "cannot be raised or changed"),
        ({"neighbours": "replace-one"}, "one cap cannot bound both"),
        ({"composition": "hope"}, 'no rule "hope"'),
    ],
)
def test_a_budget_keeps_what_it_declared(ledger, changes, words):
    declared = {"cap": (Fraction(1), Fraction(1, 10**6))} | changes
    with pytest.raises(BadDescription) as refused, ledger.database.transaction() as connection:
        declare_budget(connection, Budget("census", **declared))
    assert words in f"{refused.value.message} {refused.value.advice}"


def test_a_custodian_is_told_the_cost_and_what_is_left(ledger):
    with ledger.database.transaction() as connection:
        charge_within_cap(connection, BUDGETS, CENSUS, 10**12 // 4, 0)
        told = str(no_budget_for_version(connection, Charge("census", "a", Fraction(3, 2), Fraction(0))))
    assert "it costs epsilon 1.5, delta 0, and epsilon 0.75, delta 1e-6 is left" in told
