from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from discreet.inference.discrete_distribution import Distribution, sum_distribution
from discreet.noise import laplace


def slow_sum(laws, times):
    """The convolution, one by one, in fractions."""
    total = {0: Fraction(1)}
    for law, often in zip(laws, times, strict=True):
        for _ in range(often):
            fresh: dict[int, Fraction] = {}
            for at, chance in total.items():
                for value, part in zip(law.values.tolist(), law.chances.tolist(), strict=True):
                    fresh[at + value] = fresh.get(at + value, Fraction(0)) + chance * Fraction(part)
            total = fresh
    return total


weights = st.lists(st.integers(0, 9), min_size=1, max_size=5).filter(lambda w: sum(w) > 0)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(-6, 6), weights, st.integers(1, 4)), min_size=1, max_size=3))
def test_a_sum_is_the_convolution(parts):
    laws = [Distribution(first, np.array(w) / sum(w)) for first, w, _ in parts]
    times = [often for _, _, often in parts]
    found = sum_distribution(laws, times)
    expected = slow_sum(laws, times)
    for value, chance in zip(found.values.tolist(), found.chances.tolist(), strict=True):
        assert chance == pytest.approx(float(expected.get(value, 0)), abs=1e-12)
    assert found.chances.sum() == pytest.approx(1, abs=1e-9)


def test_ten_thousand_coins_are_binomial():
    found = sum_distribution([Distribution(0, np.array([0.7, 0.3]))], [10_000])
    np.testing.assert_allclose(found.chances, binom.pmf(found.values, 10_000, 0.3), atol=1e-13)
    assert len(found.chances) < 2_000  # the window, not the whole range


def test_mean_and_variance_of_a_sum_of_noise():
    row = laplace(epsilon=0.5, m=7).rows[0]
    one = Distribution(-7, np.array([float(p) for p in row.probabilities().values()]))
    many = sum_distribution([one], [400])
    assert many.mean == pytest.approx(0, abs=1e-6)
    assert many.variance == pytest.approx(400 * float(row.variance()), rel=1e-6)


def test_moves_and_mirrors():
    law = Distribution(2, np.array([0.0, 0.25, 0.75, 0.0]))
    assert law.shift(5).first == 7
    assert law.mirror().chances.tolist() == [0.0, 0.75, 0.25, 0.0]
    assert law.mirror().first == -5


def test_the_highest_value_that_is_not_rare():
    law = Distribution(0, np.array([0.9, 0.08, 0.02]))
    assert [law.upper_quantile(alpha) for alpha in (0.01, 0.05, 0.2)] == [2, 1, 0]
