"""Amounts of a budget are the decimals that were written; terms that promise nothing are refused."""

from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.errors import BadDescription, BadRequest
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.privacy_budget import (
    FAILURE_UNIT,
    LOSS_UNIT,
    format_amount,
    parse_terms,
    read_amount,
    round_up_to_units,
)
from discreet.model.universe import dp_terms


@pytest.mark.parametrize("written", ["1.1", 1.1, Decimal("1.1"), Fraction(11, 10)])
def test_every_way_to_write_a_decimal_is_the_same_amount(written):
    assert read_amount(written, "epsilon") == Fraction(11, 10)


def test_a_float_is_not_the_decimal_that_it_is_written_as():
    """The fault that exact amounts repair: 1.1 as a float is more than 1.1, and a cap of 1.1 does not pay for it."""
    assert round_up_to_units(Fraction(11, 10), 0)[0] == Fraction(11, 10)
    assert round_up_to_units(Fraction(1.1), 0)[0] == Fraction(11, 10) + LOSS_UNIT


@pytest.mark.parametrize("value", [True, None, "much", "nan", "inf", float("inf"), "1e999999999", [1]])
def test_what_is_no_number_is_refused_at_once(value):
    with pytest.raises(BadRequest, match="Give a number"):
        read_amount(value, "epsilon")


def test_an_amount_that_cannot_be_booked_whole_is_refused():
    assert read_amount("1e-18", "delta", FAILURE_UNIT) == FAILURE_UNIT
    with pytest.raises(BadRequest, match="at most 12 decimals"):
        read_amount("0.0000000000001", "epsilon")


def test_amounts_are_shown_with_every_digit():
    told = [format_amount(Fraction(text)) for text in ("1.1", "4", "0", "0.017296760254", "7e-18", "120")]
    assert told == ["1.1", "4", "0", "0.017296760254", "7e-18", "120"]


def test_what_is_written_in_the_file_reaches_the_terms_without_a_float_between(private_town):
    text = private_town.description.replace("cap_epsilon = 9.0", "cap_epsilon = 9.000000000001")
    text = text.replace("delta = 1e-9", "delta = 0.000000001000000001", 1)
    terms, _ = dp_terms(parse_dataset(text))
    assert terms.cap_epsilon == 9 + LOSS_UNIT
    assert terms.delta == Fraction(1, 10**9) + FAILURE_UNIT


#: What a budget must say.
NEEDED = {"name": "census", "epsilon": 1, "cap_epsilon": 4}


def test_terms_are_read_as_the_decimals_that_were_written():
    terms = parse_terms({"family": "census", "epsilon": 0.1, "delta": 1e-9, "cap_epsilon": 3})
    assert (terms.epsilon, terms.delta, terms.cap_epsilon) == (Fraction(1, 10), Fraction(1, 10**9), 3)
    assert (terms.changes, terms.known_total) == (1, False)
    known = parse_terms({**NEEDED, "neighbours": "replace-one", "invariants": ["n"]})
    assert (known.changes, known.known_total) == (2, True)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"name": None}, "lacks `name`"),
        ({"cap_epsilon": None}, "lacks `cap_epsilon`"),
        ({"epsilon": None}, "lacks `epsilon`"),
        ({"eps": 1}, "unknown key"),
        ({"epsilon": 0}, "above 0"),
        ({"epsilon": "1"}, "Give a number"),
        ({"epsilon": True}, "Give a number"),
        ({"epsilon": float("inf")}, "Give a number"),
        ({"epsilon": 0.1234567890123}, "at most 12 decimals"),
        ({"delta": 1}, "below 1"),
        ({"delta": 1.5e-18}, "at most 18 decimals"),
        ({"neighbours": "bounded"}, "neighbours"),
        ({"invariants": ["n"]}, "replace-one"),
        ({"invariants": ["sex", "age"]}, "Name one variable"),
        ({"invariants": "n"}, "invariants"),
        ({"records_per_unit": 0}, "1 to 1000"),
        ({"records_per_unit": 1.5}, "whole number"),
        ({"name": ""}, "no name"),
        ({"name": 3}, "quotes"),
        ({"family": "f"}, "`name` and `family`"),
        ({"answer_cost": 4.5}, "answer_cost is 4.5, and the budget has cap_epsilon 4"),
        ({"epsilon": 5}, "One version spends epsilon 5 and delta .*, more than the lifetime cap of 4"),
        ({"epsilon": 1e-12, "delta": 1e-6}, r"cap_delta is 4e\+06, .* of the 4,000,000,000,000 versions"),
        ({"max_exact": 1}, "between 0 and 1"),
    ],
)
def test_terms_that_promise_nothing_are_refused(changed, words):
    entry = {key: value for key, value in (NEEDED | changed).items() if value is not None}
    with pytest.raises(BadDescription, match=words):
        parse_terms(entry)
