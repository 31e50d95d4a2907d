"""What is booked: whole units, charges rounded up and caps down, and names that tell everything apart."""

from fractions import Fraction

import pytest

from discreet.errors import BadDescription, BadRequest
from discreet.ledger.entries import (
    LARGEST,
    BudgetState,
    Charge,
    canonical_request,
    cap_units,
    charge_units,
    records_name,
    request_key,
)
from discreet.model.amount import FAILURE_UNIT, LOSS_UNIT


def test_a_charge_is_rounded_up_and_a_cap_down():
    third = Fraction(1, 3)
    assert (
        (charge_units(third, LOSS_UNIT) - 1) * LOSS_UNIT < third < charge_units(third, LOSS_UNIT) * LOSS_UNIT
    )
    loss, failure = cap_units((third, third))
    assert loss * LOSS_UNIT < third < (loss + 1) * LOSS_UNIT
    assert failure * FAILURE_UNIT < third < (failure + 1) * FAILURE_UNIT
    assert charge_units(Fraction(1, 10), LOSS_UNIT) == 10**11 == cap_units((Fraction(1, 10), Fraction(0)))[0]


@pytest.mark.parametrize("value", [-LOSS_UNIT, (LARGEST + 1) * LOSS_UNIT])
def test_a_charge_outside_what_a_ledger_can_hold_is_refused(value):
    with pytest.raises(BadRequest, match="cannot be booked"):
        charge_units(value, LOSS_UNIT)


@pytest.mark.parametrize("cap", [(Fraction(-1), Fraction(0)), (Fraction(1), Fraction(11, 10))])
def test_a_cap_below_zero_or_a_failure_above_one_is_refused(cap):
    with pytest.raises(BadDescription, match="cannot be booked"):
        cap_units(cap)


def test_names_tell_parts_apart_however_they_are_joined():
    assert canonical_request("a,b", "c") != canonical_request("a", "b,c")
    assert records_name("town", "1", "f") != records_name("town", "2", "f")
    charge = Charge("census", canonical_request("town", "a"), Fraction(1), Fraction(0))
    assert charge.key == request_key(charge.request) != request_key("town")
    with pytest.raises(ValueError, match="JSON"):
        canonical_request(float("nan"))


def test_what_is_left_is_the_cap_without_what_is_spent():
    state = BudgetState("census", "basic", (Fraction(2), Fraction(1)), (Fraction(1, 2), Fraction(1)), (), ())
    assert state.left == (Fraction(3, 2), 0)
