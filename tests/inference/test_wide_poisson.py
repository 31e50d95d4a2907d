import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.inference.noise_by_cell import NoiseByCell
from discreet.inference.poisson_likelihood import PoissonLikelihood, log_factorial
from discreet.inference.wide_poisson import WideEvidence, WidePoisson
from discreet.noise import NoiseRow, laplace
from discreet.noise.sum_law import SumLaw
from discreet.noise.table import NO_NOISE

ROW = laplace(epsilon=1 / 20, modulus=2**64).rows[0]
GAPS = NoiseRow((-40, -39, 0, 39, 40), (10, 20, 30, 40, 50))
LAWS = [SumLaw(ROW, 1), SumLaw(ROW, 4), NO_NOISE, SumLaw(GAPS, 1), SumLaw(ROW, 60)]


@pytest.fixture(scope="module")
def wide():
    """Noise of five laws; the widest takes a while to work out."""
    return NoiseByCell.of(LAWS, np.array([[0, 1, 2], [3, 4, 0]]))


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), size=st.floats(-1, 4), ratio=st.floats(0.01, 30))
def test_windows_lose_no_digit_of_the_sum_over_all_counts(wide, seed, size, ratio):
    rng = np.random.default_rng(seed)
    means = rng.uniform(0.1, 2, (2, 2, 3)) * 10**size
    released = rng.poisson(means) + wide.drawn(2, rng)
    far = means * ratio
    found, expected = WidePoisson.of(released, wide).expect(far)
    slow, slow_expected = PoissonLikelihood.of(wide.evidence(released)).expect(far)
    np.testing.assert_allclose(found, slow, rtol=1e-11, atol=1e-8)
    np.testing.assert_allclose(expected, slow_expected, rtol=1e-9, atol=1e-9)


def test_the_unrestricted_maximum_is_that_of_the_full_sum():
    rng = np.random.default_rng(4)
    smooth = NoiseByCell.of(LAWS, np.array([[0, 1, 2], [1, 4, 0]]))
    released = rng.poisson(300, (3, 2, 3)) + smooth.drawn(3, rng)
    found = WidePoisson.of(released, smooth).unrestricted()[0]
    slow = PoissonLikelihood.of(smooth.evidence(released)).unrestricted()[0]
    np.testing.assert_allclose(found, slow, atol=1e-8)


def test_equal_counts_of_cells_with_different_laws_are_kept_apart():
    """Two laws of the same reach: only the kind tells their cells apart."""
    flat, peaked = NoiseRow((-1, 0, 1), (4, 8, 12)), NoiseRow((-1, 0, 1), (1, 11, 12))
    noise = NoiseByCell.of([SumLaw(flat, 1), SumLaw(peaked, 1)], np.array([0, 1]))
    evidence = noise.evidence(np.array([[9, 9]]))
    means = PoissonLikelihood.of(evidence).unrestricted()[0]
    wide = WidePoisson.of(np.array([[9, 9]]), noise).unrestricted()[0]
    np.testing.assert_allclose(means, wide, atol=1e-9)
    alone = [
        PoissonLikelihood.of(NoiseByCell.of([SumLaw(row, 1)], np.array([0])).evidence(np.array([[9]])))
        for row in (flat, peaked)
    ]
    assert means[0] == pytest.approx(sum(float(one.unrestricted()[0][0]) for one in alone), abs=1e-9)


def test_what_is_surely_zero_and_what_may_be():
    noise = NoiseByCell.of([SumLaw(ROW, 1), NO_NOISE], np.array([0, 1, 1]))
    evidence = WideEvidence.of(np.array([[20, 0, 7]]), noise)
    assert evidence.sure_zero().tolist() == [[False, True, False]]
    assert evidence.allows_zero().tolist() == [[True, True, False]]


def test_an_impossible_count_is_refused():
    with pytest.raises(BadRequest, match="probability below"):
        WideEvidence.of(np.array([[-5]]), NoiseByCell.of([NO_NOISE], np.array([0])))


def test_the_table_of_log_factorials_is_the_function():
    many = np.arange(10_000)
    np.testing.assert_array_equal(log_factorial(many)[:50], log_factorial(many[:50]))
