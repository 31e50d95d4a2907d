"""Fixed-point quotients: halves away from zero, and no product passes 64 bits."""

from __future__ import annotations

import numpy as np

from discreet.survey.fixed_point import nearest_quotient, times_ratio


def test_quotients_are_rounded_halves_away_from_zero():
    assert nearest_quotient(np.array([1, -1, 3, -3, 2]), 2).tolist() == [1, -1, 2, -2, 1]
    assert times_ratio(np.array([1, -1]), np.array([5, 5]), np.array([2, 2])).tolist() == [3, -3]


def test_products_beyond_64_bits_are_never_formed():
    """factor x numerator is 10^24 here; a plain product of 64-bit integers would be wrong without a word."""
    large = np.array([10**6, -(10**6)])
    assert times_ratio(large, 10**18, 10**12).tolist() == [10**12, -(10**12)]
    assert ((large * np.int64(10**18)) // 10**12).tolist() != [10**12, -(10**12)]


def test_a_quotient_is_the_nearest_for_every_small_numerator():
    for denominator in (1, 2, 3, 7):
        for numerator in range(-20, 21):
            found = int(nearest_quotient(np.array([numerator]), denominator)[0])
            assert abs(found * denominator - numerator) * 2 <= denominator
