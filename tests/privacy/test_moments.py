"""Moments of a row, against the same sums in whole numbers."""

import math
from fractions import Fraction

import pytest

from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy.moments import row_moments, table_moments

ZERO, SKEW = NoiseRow((0,), (8,)), NoiseRow((-1, 0, 3), (3, 7, 8))


def test_the_moments_of_a_row_are_its_sums_as_fractions():
    found = row_moments(SKEW, 7)
    law = {-1: Fraction(3, 8), 0: Fraction(4, 8), 3: Fraction(1, 8)}
    assert found.bias == sum(v * p for v, p in law.items()) == 0
    assert found.variance == sum(v * v * p for v, p in law.items()) == Fraction(3, 2)
    assert found.entropy == pytest.approx(-sum(float(p) * math.log(p) for p in law.values()))
    assert (found.count, found.p_exact, found.support) == (7, Fraction(1, 2), (-1, 0, 3))


def test_the_variance_is_around_the_bias_and_not_around_zero():
    found = row_moments(NoiseRow((1, 3), (1, 2)), 0)
    assert (found.bias, found.variance, found.p_exact) == (2, 1, 0)


def test_a_row_without_noise_has_no_entropy_and_not_minus_zero():
    found = row_moments(ZERO, 0)
    assert (found.variance, found.p_exact) == (0, 1)
    assert math.copysign(1, found.entropy) == 1


def test_a_table_has_the_moments_of_each_row_with_its_count():
    found = table_moments(NoiseTable(8, (ZERO, SKEW)))
    assert [row.count for row in found] == [0, 1]
    assert found[1] == row_moments(SKEW, 1)
