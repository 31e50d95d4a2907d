import numpy as np
import pytest

from discreet.inference.centring import _ROOTS, _moments, centred
from discreet.inference.noise_by_cell import KeptLaw, NoiseByCell
from discreet.inference.wide_centring import wide_moments
from discreet.noise import laplace
from discreet.noise.sum_law import SumLaw


@pytest.mark.parametrize("noise", [laplace(epsilon=0.5, m=7), laplace(epsilon=0.1, m=10)])
def test_the_moments_are_those_of_the_slow_way(noise):
    expected, variance = _moments(noise)
    found = wide_moments(KeptLaw.of(SumLaw(noise.rows[0], 1))).at(_ROOTS**2)
    np.testing.assert_allclose(found[0], expected, atol=2e-3)
    np.testing.assert_allclose(found[1], variance, atol=1e-2)


def test_under_long_laplace_noise_a_cell_has_more_than_the_chi_square_law_says_until_its_mean_is_large():
    found = wide_moments(KeptLaw.of(SumLaw(laplace(epsilon=0.1, modulus=2**64).rows[0], 1)))
    assert found.at(np.array([60.0]))[0] > 1.3
    assert found.expected[-1] == pytest.approx(1, abs=0.005)
    assert found.variance[-1] == pytest.approx(2, abs=0.02)
    assert np.abs(np.diff(found.expected[195:205])).max() < 0.02  # the two ways meet


def test_a_sum_of_many_terms_is_nearly_normal():
    found = wide_moments(KeptLaw.of(SumLaw(laplace(epsilon=0.5, modulus=2**64).rows[0], 60)))
    assert found.at(np.array([400.0]))[0] == pytest.approx(1, abs=0.03)


def test_one_law_for_all_cells_is_centred_as_a_table_is():
    noise = laplace(epsilon=0.5, m=7)
    means, possible = np.array([[[4.0, 17.0], [2.0, 60.0]]]), np.array([[True, True], [True, False]])
    cells = NoiseByCell.of([SumLaw(noise.rows[0], 1)], np.zeros((2, 2), dtype=int))
    one, other = (centred(np.array([3.0]), means, possible, law) for law in (noise, cells))
    np.testing.assert_allclose(one, other, atol=5e-3)
