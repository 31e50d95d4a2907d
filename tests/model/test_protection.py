"""A protection is checked as it is declared: an option of the other method would seem to be in force."""

import re

import pytest

from discreet.errors import BadDescription
from discreet.model.protection import Protection, parse_modulus, parse_protection

DP = {"method": "dp", "noise": {"family": "laplace"}}


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"method": "dpp"}, 'method is "dpp"'),
        ({"keys": "hash"}, 'keys is "hash"'),
        ({"additivity": "fit"}, 'additivity is "fit"'),
        ({"noise": {}}, "no family and no file"),
        ({"noise": {"family": "abs", "file": "x"}}, "or both"),
        ({"modulus": 2**64 + 1}, "key modulus"),
        ({"keys": "abs", "modulus": 2**32}, "one byte"),
        ({"big_n": 1}, "big_n is 1"),
        ({"max_cells": 0}, "at least 1"),
        ({"budget": {"epsilon": 1}}, "means nothing under the method cellkey"),
        ({**DP, "keys": "additive"}, "means nothing under the method dp"),
        ({"method": "dp", "noise": {"file": "x"}}, "cannot be read from a file"),
    ],
)
def test_what_cannot_be_meant_is_refused(declared, words):
    with pytest.raises(BadDescription, match=words):
        Protection(**declared)


def test_a_protection_is_a_value_that_nobody_can_change():
    noise = {"family": "maxent", "D": 4}
    one, two = Protection(noise=noise), Protection(noise=dict(reversed(noise.items())))
    noise["D"] = 9
    assert one.noise["D"] == 4
    assert (one, hash(one)) == (two, hash(two))
    with pytest.raises(TypeError):
        one.noise["D"] = 9
    assert (Protection().is_dp, Protection(**DP).is_dp) == (False, True)
    assert (parse_modulus("2^64"), parse_modulus(256)) == (2**64, 256)


SECTION = {"method": "dp", "universe": {"variables": ["sex"]}, "budget": {"name": "b", "epsilon": 1}}


def test_margins_are_joint_where_gaussian_noise_may_be_and_can_be():
    assert parse_protection(SECTION).universe["margins"] == "joint"
    for more in ({"noise": {"family": "laplace"}}, {"budget": {"delta": 0}}):
        assert parse_protection(SECTION | more).universe["margins"] == "own"
    assert parse_protection(SECTION, {"form": "largest-weight"}).universe["margins"] == "own"
    assert parse_protection(SECTION).budget["calibrate"] is True


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("dp", "is not a section"),
        ({"metod": "dp"}, 'Did you mean "method"?'),
        ({"fit_to": "area"}, "Give a list"),
        ({"noise": "maxent"}, "is not a table"),
        ({"non_negative": "yes"}, "true or false"),
        ({"modulus": "many"}, 'a power such as "2^64"'),
    ],
)
def test_a_wrong_section_is_refused_with_what_to_do(section, message):
    with pytest.raises(BadDescription, match=re.escape(message)):
        parse_protection(section)
