import numpy as np
import pytest
from scipy.stats.contingency import association

from discreet.errors import BadRequest
from discreet.inference.hypothesis_tests.cramers_v import _noise_moments, _noise_part, cramers_v
from discreet.inference.hypothesis_tests.p_value import with_noise
from discreet.noise import laplace, maxent

FALSE_ALARM = 1e-4
Z = 3.9  # two-sided, for FALSE_ALARM
TRUE = np.array([[120, 60, 40], [70, 90, 50], [30, 45, 80]])


def test_without_noise_it_is_cramers_v(no_noise):
    found = cramers_v(TRUE, no_noise)
    assert found.estimate == pytest.approx(association(TRUE, method="cramer"), abs=1e-12)
    assert found.naive == pytest.approx(found.estimate)


def test_the_noise_part_is_the_expected_quadratic_form():
    """Against the plain sum over every cell's coefficient in every residual."""
    rng = np.random.default_rng(1)
    counts, variance = rng.uniform(20, 90, (3, 4)), rng.uniform(1, 5, (3, 4))
    p, q = counts.sum(axis=1) / counts.sum(), counts.sum(axis=0) / counts.sum()
    expected = 0.0
    for i, j in np.ndindex(3, 4):
        row, column = (np.arange(3) == i) - p[i], (np.arange(4) == j) - q[j]
        expected += (np.outer(row, column) ** 2 * variance).sum() / (counts.sum() * p[i] * q[j])
    assert _noise_part(counts, variance) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "noise", [laplace(epsilon=0.2, m=12), maxent(D=10, V=20, js=2)], ids=["laplace", "maxent"]
)
def test_the_corrected_square_is_unbiased_and_the_naive_is_not(noise):
    rng = np.random.default_rng(20)
    draws = [cramers_v(with_noise(TRUE, noise, rng), noise) for _ in range(1500)]
    truth = association(TRUE, method="cramer") ** 2
    corrected = np.array([draw.estimate**2 for draw in draws])
    naive = np.array([draw.naive**2 for draw in draws])
    error = corrected.std() / np.sqrt(len(draws))
    assert abs(corrected.mean() - truth) < Z * error
    assert naive.mean() - truth > Z * error


def test_noise_moments_are_those_of_the_large_row():
    noise = laplace(epsilon=0.5, m=7)
    mean, variance = _noise_moments(np.array([[50]]), noise)
    assert mean[0, 0] == pytest.approx(0, abs=1e-9)
    assert variance[0, 0] == pytest.approx(float(noise.row(50).variance()))


def test_pure_noise_has_no_association():
    noise = laplace(epsilon=0.1, m=10)
    found = cramers_v(with_noise(np.full((4, 4), 30), noise, np.random.default_rng(3)), noise)
    assert found.estimate < 0.5 * found.naive
    assert "Noise makes any table look associated" in found.why


@pytest.mark.parametrize("table", [[1, 2], [[5, 4, 3]], [[5, 0], [4, 0]]])
def test_tables_without_a_v_are_refused(table, no_noise):
    with pytest.raises(BadRequest):
        cramers_v(table, no_noise)


def test_a_column_that_only_a_left_out_row_held_is_left_out_too():
    noise = laplace(epsilon=0.5, m=9)
    table = np.array([[-9, 4, 4], [60, -3, 30], [20, 1, 50]])
    assert 0 < cramers_v(table, noise).estimate < 1
    kept = cramers_v(table[1:][:, [0, 2]], noise)
    assert cramers_v(table, noise).estimate == pytest.approx(kept.estimate)
