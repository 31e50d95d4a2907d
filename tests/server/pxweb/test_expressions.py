"""Selections as PxWebApi writes them."""

from fnmatch import translate

import pytest

from discreet.errors import BadRequest, UnknownCategory
from discreet.model import selection
from discreet.model.selection import MOST_READ
from discreet.server.pxweb import expressions
from discreet.server.pxweb.expressions import expand, split_list

CODES = ["0-4", "5-9", "10-14", "a,b", "Ä", "*", "TOP(1)", "_T"]


@pytest.mark.parametrize(
    ("expressions", "selected"),
    [
        (["5-9", "0-4", "5-9"], ["0-4", "5-9"]),
        (["TOP(2)"], ["0-4", "5-9"]),
        (["top(1,2)"], ["10-14"]),
        (["BOTTOM(1)"], ["_T"]),
        (["bottom(2,1)"], ["*", "TOP(1)"]),
        (["RANGE(5-9,[a,b])"], ["5-9", "10-14", "a,b"]),
        (["FROM(TOP(1))"], ["TOP(1)", "_T"]),
        (["To(5-9)"], ["0-4", "5-9"]),
        (["?-?"], ["0-4", "5-9"]),
        (["1*", "*,*"], ["10-14", "a,b"]),
        (["ä"], ["Ä"]),
        (["TOP(99)"], CODES),
    ],
)
def test_an_expression_selects_codes_in_their_order(expressions, selected):
    assert list(expand("age", expressions, CODES)) == selected


def test_a_code_that_is_there_is_meant_itself():
    """Wrong alternatives: `*` as everything, and TOP(1) as the first code, where both are codes."""
    assert expand("age", ["*"], CODES) == ("*",)
    assert expand("age", ["TOP(1)"], CODES) == ("TOP(1)",)
    assert expand("age", ["*"], ["a", "b"]) == ("a", "b")


def test_a_bracket_of_a_pattern_is_no_pattern():
    """Wrong alternative: shell patterns, in which [ab]* selects what begins with a or b."""
    assert expand("age", ["[ab]*"], ["a1", "[ab]1"]) == ("[ab]1",)


@pytest.mark.parametrize(
    "text",
    ["TOP(x)", "TOP()", "TOP(-1)", "TOP(1,2,3)", "RANGE(0-4)", "FROM()", "TOP(0)", "RANGE(5-9,0-4)", "q*"],
)
def test_what_selects_nothing_is_refused(text):
    with pytest.raises(BadRequest, match=r"cannot be read|selects nothing"):
        expand("age", [text], CODES)


def test_an_unknown_code_is_told_with_the_nearest():
    with pytest.raises(UnknownCategory) as told:
        expand("age", ["10-15"], CODES)
    assert "10-14" in told.value.advice


def test_lists_are_split_outside_brackets():
    assert split_list("") == []
    assert split_list("a,[b,c],RANGE(d,e), f") == ["a", "b,c", "RANGE(d,e)", "f"]


def test_many_stars_are_one_and_what_is_longer_than_every_code_is_not_tried(monkeypatch):
    """Wrong alternative: `.*` for each star, which does not end; a form of a megabyte is not even compiled."""
    compiled = []
    monkeypatch.setattr(selection.fnmatch, "translate", lambda form: compiled.append(form) or translate(form))
    codes = [f"R01D01A{number:03}" for number in range(100)]
    assert expand("area", ["*" * 60 + "042"], codes) == ("R01D01A042",)
    for form in ("*" * 60 + "zz", "*1" * 9 + "zz"):
        with pytest.raises(BadRequest, match="selects nothing"):
            expand("area", [form], codes)
    assert compiled == ["*" * 60 + "042", "*" * 60 + "zz"]


def test_what_is_no_code_is_read_once_and_no_more_often_than_is_affordable(monkeypatch):
    """Wrong alternative: each as it comes; a request of 16 KB asked for seconds of work."""
    read, places = [], expressions._places
    monkeypatch.setattr(expressions, "_places", lambda text, known: read.append(text) or places(text, known))
    codes = [f"r{number}" for number in range(100)]
    assert len(expand("area", ["*"] * 2_000, codes)) == len(codes)
    assert read == ["*"]
    read.clear()
    with pytest.raises(BadRequest, match=f"has {MOST_READ + 1} expressions") as told:
        expand("area", [f"TOP({number + 1})" for number in range(MOST_READ + 1)], codes)
    assert read == []
    assert f"at most {MOST_READ}" in told.value.advice
    assert len(expand("area", ["*", *codes, *(code.upper() for code in codes)], codes)) == len(codes)
