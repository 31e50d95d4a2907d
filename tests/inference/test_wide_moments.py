import numpy as np
import pytest

from discreet.inference.cell_moments import columns, table_moments
from discreet.inference.noise_by_cell import KeptLaw
from discreet.inference.wide_moments import wide_moments
from discreet.noise import laplace
from discreet.noise.sum_law import SumLaw

MEANS = np.linspace(0.3, 12, 60) ** 2


def moments(row, terms):
    kept = KeptLaw.of(SumLaw(row, terms))
    return wide_moments(kept.law, kept.variance)


@pytest.mark.parametrize("noise", [laplace(epsilon=0.5, m=7), laplace(epsilon=0.1, m=10)])
def test_the_moments_are_those_of_the_slow_way(noise):
    fast, slow = moments(noise.rows[0], 1).at(MEANS), table_moments(noise).at(MEANS)
    for one, other in zip(columns(fast), columns(slow), strict=True):
        np.testing.assert_allclose(one, other, atol=0.03, rtol=0.01)
    np.testing.assert_allclose(fast.expected, slow.expected, atol=2e-3)


def test_under_long_laplace_noise_a_cell_has_more_than_the_chi_square_law_says_until_its_mean_is_large():
    found = moments(laplace(epsilon=0.1, modulus=2**64).rows[0], 1)
    assert found.at(np.array([60.0])).expected > 1.3
    assert found.parts.expected[-1] == pytest.approx(1, abs=0.005)
    assert found.parts.variance[-1] == pytest.approx(2, abs=0.02)
    assert np.abs(np.diff(found.parts.expected[195:205])).max() < 0.02  # the two ways meet
    assert np.abs(np.diff(found.parts.information[195:205])).max() < 0.02


def test_a_sum_of_many_terms_is_nearly_normal():
    found = moments(laplace(epsilon=0.5, modulus=2**64).rows[0], 60)
    assert found.at(np.array([400.0])).expected == pytest.approx(1, abs=0.03)
