"""Recodes say what a value becomes; two ranges never claim one value."""

import datetime as dt
from decimal import Decimal

import pytest

from discreet.errors import BadDescription
from discreet.model.variable import parse_missing, parse_recodes, value_range

CODES = ("child", "adult")


def test_ranges_hold_both_ends_unless_the_upper_one_is_left_out():
    assert value_range("15..64", "adult").holds(Decimal(64))
    assert not value_range("15..<64", "adult").holds(Decimal(64))
    assert value_range("..14", "child").holds(Decimal(-3))
    born = value_range("1990-01-01..1999-12-31", "nineties")
    assert born.of_dates
    assert born.holds(dt.date(1999, 12, 31))


@pytest.mark.parametrize("text", ["M", "a..b", "..", "1.5", "x..3"])
def test_other_texts_are_single_values(text):
    assert value_range(text, "child") is None


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"0..14": "child", "14..64": "adult"}, "overlap"),
        ({"..14": "child", "..64": "adult"}, "overlap"),
        ({"64..15": "adult"}, "is empty"),
        ({"1990-13-01..": "adult"}, "is no date"),
        ({"M": "chlid"}, 'Did you mean "child"'),
        ({"M": 3}, "no table of texts"),
    ],
)
def test_recodes_that_contradict_themselves_are_refused(values, words):
    with pytest.raises(BadDescription, match=words):
        parse_recodes(values, CODES, "age")


def test_ranges_that_only_touch_are_allowed_and_missing_values_may_be_ranges():
    found = parse_recodes({"0..<15": "child", "15..": "adult", "M ": "adult"}, CODES, "age")
    assert len(found.ranges) == 2
    assert found.single == (("M", "adult"),)
    found = parse_missing(["NA", "-99..-1"], "age")
    assert [value for value, _ in found.single] == ["NA"]
    assert found.ranges[0].holds(Decimal(-5))
    with pytest.raises(BadDescription, match="in quotes"):
        parse_missing([-9], "age")
