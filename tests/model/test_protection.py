"""A protection is checked as it is declared: what belongs to the other method would be believed to be in force."""

import pytest

from discreet.errors import BadDescription
from discreet.model.protection import Protection

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
