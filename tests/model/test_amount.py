"""Amounts of a budget are the decimals that were written, down to what the ledger books."""

from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.errors import BadRequest
from discreet.model.amount import FAILURE_UNIT, LOSS_UNIT, booked, read_amount, shown
from discreet.model.dataset_toml import parse_dataset
from discreet.model.declared_dp import declared_dp


@pytest.mark.parametrize("written", ["1.1", 1.1, Decimal("1.1"), Fraction(11, 10)])
def test_every_way_to_write_a_decimal_is_the_same_amount(written):
    assert read_amount(written, "epsilon") == Fraction(11, 10)


def test_a_float_is_not_the_decimal_that_it_is_written_as():
    """The fault that exact amounts repair: 1.1 as a float is more than 1.1, and a cap of 1.1 does not pay for it."""
    assert booked(Fraction(11, 10), 0)[0] == Fraction(11, 10)
    assert booked(Fraction(1.1), 0)[0] == Fraction(11, 10) + LOSS_UNIT


@pytest.mark.parametrize("value", [True, None, "much", "nan", "inf", float("inf"), "1e999999999", [1]])
def test_what_is_no_number_is_refused_at_once(value):
    with pytest.raises(BadRequest, match="Give a number"):
        read_amount(value, "epsilon")


def test_an_amount_that_cannot_be_booked_whole_is_refused():
    assert read_amount("1e-18", "delta", FAILURE_UNIT) == FAILURE_UNIT
    with pytest.raises(BadRequest, match="at most 12 decimals"):
        read_amount("0.0000000000001", "epsilon")


def test_amounts_are_shown_with_every_digit():
    told = [shown(Fraction(text)) for text in ("1.1", "4", "0", "0.017296760254", "7e-18", "120")]
    assert told == ["1.1", "4", "0", "0.017296760254", "7e-18", "120"]


def test_what_is_written_in_the_file_reaches_the_terms_without_a_float_between(private_town):
    text = private_town.description.replace("cap_epsilon = 9.0", "cap_epsilon = 9.000000000001")
    text = text.replace("delta = 1e-9", "delta = 0.000000001000000001", 1)
    terms, _ = declared_dp(parse_dataset(text))
    assert terms.cap_epsilon == 9 + LOSS_UNIT
    assert terms.delta == Fraction(1, 10**9) + FAILURE_UNIT
