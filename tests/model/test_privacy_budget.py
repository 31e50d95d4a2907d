"""Amounts of a budget are the decimals that were written, down to what the ledger books.

What is promised is read as the decimals that were written; terms that promise nothing are refused.
"""

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
    ("entry", "words"),
    [
        ({"epsilon": 1}, "lacks `name`"),
        ({"family": "f", "epsilon": 1}, "lacks `cap_epsilon`"),
        ({"family": "f"}, "lacks `epsilon`"),
        ({"family": "f", "cap_epsilon": 4, "epsilon": 1, "eps": 1}, "unknown key"),
        ({"family": "f", "epsilon": 0, "cap_epsilon": 4}, "above 0"),
        ({"family": "f", "epsilon": "1", "cap_epsilon": 4}, "Give a number"),
        ({"family": "f", "epsilon": True, "cap_epsilon": 4}, "Give a number"),
        ({"family": "f", "cap_epsilon": 4, "epsilon": 1, "delta": 1}, "below 1"),
        ({"family": "f", "epsilon": 2, "cap_epsilon": 1}, "cap"),
        ({"family": "f", "cap_epsilon": 4, "epsilon": 1, "neighbours": "bounded"}, "neighbours"),
        ({"family": "f", "cap_epsilon": 4, "epsilon": 1, "invariants": ["n"]}, "replace-one"),
        ({"family": "f", "cap_epsilon": 4, "epsilon": 1, "invariants": ["sex", "age"]}, "Name one variable"),
        ({"family": "f", "cap_epsilon": 4, "epsilon": 1, "invariants": "n"}, "invariants"),
        ({"family": "f", "cap_epsilon": 4, "epsilon": 1, "records_per_unit": 0}, "1 to 1000"),
        ({"family": "f", "cap_epsilon": 4, "epsilon": 1, "records_per_unit": 1.5}, "whole number"),
        ({"family": "", "epsilon": 1, "cap_epsilon": 4}, "no name"),
        (
            {"family": "f", "epsilon": 1, "cap_epsilon": 4, "answer_cost": 4.5},
            "answer_cost is 4.5, and the budget has cap_epsilon 4",
        ),
        ({"family": "f", "epsilon": 1, "cap_epsilon": 4, "max_exact": 1}, "between 0 and 1"),
        ({"family": "f", "epsilon": 0.1234567890123, "cap_epsilon": 4}, "at most 12 decimals"),
        ({"family": "f", "epsilon": 1, "cap_epsilon": 4, "delta": 1.5e-18}, "at most 18 decimals"),
        ({"family": "f", "epsilon": float("inf"), "cap_epsilon": 4}, "Give a number"),
        ({"family": 3, "epsilon": 1, "cap_epsilon": 4}, "quotes"),
    ],
)
def test_terms_that_promise_nothing_are_refused(entry, words):
    with pytest.raises(BadDescription, match=words):
        parse_terms(entry)
