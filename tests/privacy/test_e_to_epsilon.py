from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.privacy.e_to_epsilon import Exponential, log_up


@given(st.floats(0, 700), st.sampled_from([40, 60, 120]))
@settings(max_examples=100, deadline=None)
def test_the_enclosure_holds_the_exponential_and_is_as_narrow_as_asked(epsilon, digits):
    low, high = Exponential.of(epsilon).bounds(digits)
    truth = Fraction(Context(prec=200).exp(Decimal(epsilon)))
    assert low <= truth <= high
    assert high - low <= low * Fraction(10) ** (2 - digits)


def test_fractions_without_a_finite_decimal_are_enclosed_too():
    low, high = Exponential.of(Fraction(1, 3)).bounds(50)
    assert low**3 < Fraction(Context(prec=200).exp(Decimal(1))) < high**3


def test_a_comparison_that_needs_more_digits_gets_them():
    near = Fraction(Context(prec=150).exp(Decimal(1)))
    above, below = near + Fraction(1, 10**140), near - Fraction(1, 10**140)
    assert Exponential.of(1).below(above.numerator, above.denominator)
    assert not Exponential.of(1).below(below.numerator, below.denominator)


def test_infinity_is_beyond_every_number_and_a_huge_epsilon_needs_no_digits():
    assert Exponential.of(math.inf).beyond(2**640)
    assert Exponential.of(1e300).beyond(2**640)
    assert not Exponential.of(1e6).below(2**64, 1)


@pytest.mark.parametrize("epsilon", [-1, -0.5, math.nan, -math.inf, Fraction(-1, 2), Decimal("NaN")])
def test_an_epsilon_that_is_no_number_from_zero_upward_is_refused(epsilon):
    with pytest.raises(BadRequest, match="from 0 upward"):
        Exponential.of(epsilon)


@given(st.fractions(1, 10**6))
@settings(max_examples=100, deadline=None)
def test_the_logarithm_errs_upward_by_one_float_at_most(ratio):
    result = log_up(ratio)
    assert Exponential.of(result).bounds(80)[1] >= ratio
    if result > 0:
        assert Exponential.of(math.nextafter(result, 0)).below(ratio.numerator, ratio.denominator)
