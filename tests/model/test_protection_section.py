"""`[protection]`: what is wrong is told, and what `dp` leaves out is filled in."""

import pytest

from discreet.errors import BadDescription
from discreet.model.protection_section import parse_modulus, protection_of

DP = {"method": "dp", "universe": {"variables": ["sex"]}, "budget": {"name": "b", "epsilon": 1}}


def test_a_modulus_may_be_written_as_a_power():
    assert parse_modulus("2^64") == 2**64
    assert parse_modulus(256) == 256
    with pytest.raises(BadDescription):
        parse_modulus("many")


def test_margins_are_joint_where_gaussian_noise_may_be_and_can_be():
    assert protection_of(DP).universe["margins"] == "joint"
    for more in ({"noise": {"family": "laplace"}}, {"budget": {"delta": 0}}):
        assert protection_of(DP | more).universe["margins"] == "own"
    assert protection_of(DP, {"form": "largest-weight"}).universe["margins"] == "own"
    assert protection_of(DP).budget["calibrate"] is True


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("dp", "is not a section"),
        ({"metod": "dp"}, 'Did you mean "method"?'),
        ({"fit_to": "area"}, "Give a list"),
        ({"noise": "maxent"}, "is not a table"),
        ({"non_negative": "yes"}, "true or false"),
    ],
)
def test_a_wrong_section_is_refused_with_what_to_do(section, message):
    with pytest.raises(BadDescription) as raised:
        protection_of(section)
    assert message in str(raised.value)
