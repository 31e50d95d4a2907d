"""A claim says everything that an epsilon needs to mean something."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.privacy.audit import group_bound
from discreet.privacy.claim import Claim, float_down, float_up, group_delta, three_digits_up


def test_the_sentence_has_epsilon_delta_neighbours_invariants_method_and_assumption():
    claim = Claim(
        1.0,
        2.5e-10,
        "pld",
        neighbours="replace-one",
        records_per_unit=3,
        invariants=("n",),
        scope='All answers of the family "census" together',
    )
    for words in (
        'All answers of the family "census" together are computationally (1, 2.5e-10)-differentially private',
        "one person (of at most 3 records) whose records are replaced",
        "the number of records is public",
        "privacy-loss distribution",
        "AES-256",
    ):
        assert words in claim.sentence
    plain = Claim(0.5, 0.0, "basic").sentence
    for words in (
        "(0.5, 0)",
        "one person added or removed",
        "nothing is released exactly",
        "basic composition",
    ):
        assert words in plain


def test_groups_follow_from_the_claim_for_one():
    claim = Claim(0.5, 1e-6, "basic").for_group(3)
    assert claim.epsilon == 1.5
    assert claim.delta == pytest.approx(1e-6 * math.expm1(1.5) / math.expm1(0.5))
    assert "3 persons added or removed" in claim.sentence
    assert claim.delta == pytest.approx(group_bound(Fraction(1, 10**6), epsilon=0.5, group=3))
    with pytest.raises(BadRequest):
        claim.for_group(2)
    with pytest.raises(BadRequest):
        Claim(0.5, 0.0, "basic").for_group(0)
    assert (group_delta(1e-9, 0.0, 4), group_delta(0.5, 1.0, 3), group_delta(1e-9, 300.0, 3)) == (
        4e-9,
        1.0,
        1.0,
    )


@pytest.mark.parametrize(
    "wrong", [{"epsilon": -1.0}, {"delta": 2.0}, {"method": "hope"}, {"epsilon": math.nan}]
)
def test_a_claim_that_means_nothing_is_refused(wrong):
    with pytest.raises(BadRequest):
        Claim(**({"epsilon": 1.0, "delta": 0.0, "method": "basic"} | wrong))


@given(st.floats(1e-300, 1e300))
def test_a_printed_number_is_never_below_the_promised_one(number):
    printed = float(three_digits_up(number))
    assert number <= printed <= number * 1.0101


@given(st.fractions(min_value=0, max_value=10))
def test_floats_of_fractions_err_on_the_named_side(number):
    assert Fraction(float_down(number)) <= number <= Fraction(float_up(number))
    assert float_up(number) - float_down(number) <= math.ulp(float(number))
