from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, nbinom, poisson

from discreet.errors import BadRequest
from discreet.inference.channel import (
    Distribution,
    Prior,
    flat,
    negative_binomial_prior,
    poisson_prior,
    posterior,
    sum_distribution,
)
from discreet.noise import laplace, maxent
from discreet.noise.cell_distribution import SumDistribution

from .conftest import chances


def slow(released, noise, prior):
    terms = {
        n: prior(n) * chances(noise, n).get(released - n, 0)
        for n in range(max(0, released - 150), released + 150)
    }
    whole = sum(terms.values())
    return {n: t / whole for n, t in terms.items() if t > 0}


@pytest.mark.slow
@pytest.mark.parametrize("released", [0, 4, 20])
@pytest.mark.parametrize(
    ("prior", "distribution"),
    [
        (flat(), lambda n: 1.0),
        (poisson_prior(6.0), lambda n: poisson.pmf(n, 6.0)),
        (negative_binomial_prior(6.0, 2.0), lambda n: nbinom.pmf(n, 2.0, 2.0 / 8.0)),
    ],
    ids=["flat", "poisson", "negative binomial"],
)
def test_it_is_bayes_theorem(any_noise, released, prior, distribution):
    found = posterior(released, any_noise, prior)
    expected = slow(released, any_noise, distribution)
    assert found.counts.tolist() == sorted(expected)
    np.testing.assert_allclose(found.chances, [expected[n] for n in sorted(expected)], rtol=1e-9)
    assert found.prior == prior.name


def test_the_shortest_interval_has_its_chance(any_noise):
    found = posterior(15, any_noise)
    low, high = found.interval(0.8)
    assert found.chance_of(low, high) >= 0.8 - 1e-9
    shorter = [found.chance_of(s, s + high - low - 1) for s in range(low - 30, high + 30)]
    assert max(shorter) < 0.8


def test_a_released_zero_is_most_likely_a_zero_and_large_counts_have_the_moments_of_the_noise():
    zero = posterior(0, maxent(D=5, V=3, js=2))
    assert zero.mode == 0
    assert 0 < zero.chance_of(1, 5) < 1
    noise = laplace(epsilon=1.0, m=5)
    found = posterior(20, noise)
    assert (found.mean, found.mode) == (pytest.approx(20), 20)
    assert found.variance == pytest.approx(float(noise.row(20).variance()))


def test_priors_and_levels_without_meaning_are_refused():
    for make in (lambda: poisson_prior(0), lambda: negative_binomial_prior(1.0, -1.0)):
        with pytest.raises(BadRequest):
            make()
    with pytest.raises(BadRequest, match="level"):
        posterior(5, laplace(epsilon=1.0, m=3)).interval(1.0)
    nobody = Prior("nobody", lambda n: np.where(n == 0, 0.0, -np.inf))
    with pytest.raises(BadRequest, match="rules out"):
        posterior(50, laplace(epsilon=1.0, m=3), nobody)


def test_one_term_is_the_noise_table_and_an_impossible_count_is_refused():
    noise = laplace(epsilon=0.7, m=4)
    one, other = posterior(5, noise), posterior(5, SumDistribution(noise.rows[0], 1))
    assert one.counts.tolist() == other.counts.tolist() == list(range(1, 10))
    assert one.chances.tolist() == other.chances.tolist()
    with pytest.raises(BadRequest, match="cannot be released"):
        posterior(-5, noise)


def slow_sum(distributions, times):
    """The convolution, one by one, in fractions."""
    total = {0: Fraction(1)}
    for distribution, often in zip(distributions, times, strict=True):
        for _ in range(often):
            fresh: dict[int, Fraction] = {}
            for at, chance in total.items():
                for value, part in zip(
                    distribution.values.tolist(), distribution.chances.tolist(), strict=True
                ):
                    fresh[at + value] = fresh.get(at + value, Fraction(0)) + chance * Fraction(part)
            total = fresh
    return total


weights = st.lists(st.integers(0, 9), min_size=1, max_size=5).filter(lambda w: sum(w) > 0)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(-6, 6), weights, st.integers(1, 4)), min_size=1, max_size=3))
def test_a_sum_is_the_convolution(parts):
    distributions = [Distribution(first, np.array(w) / sum(w)) for first, w, _ in parts]
    times = [often for _, _, often in parts]
    found = sum_distribution(distributions, times)
    expected = slow_sum(distributions, times)
    for value, chance in zip(found.values.tolist(), found.chances.tolist(), strict=True):
        assert chance == pytest.approx(float(expected.get(value, 0)), abs=1e-12)
    assert found.chances.sum() == pytest.approx(1, abs=1e-9)


def test_ten_thousand_coins_are_binomial():
    found = sum_distribution([Distribution(0, np.array([0.7, 0.3]))], [10_000])
    np.testing.assert_allclose(found.chances, binom.pmf(found.values, 10_000, 0.3), atol=1e-13)
    assert len(found.chances) < 2_000  # the window, not the whole range


def test_the_highest_value_that_is_not_rare():
    distribution = Distribution(0, np.array([0.9, 0.08, 0.02]))
    assert [distribution.upper_quantile(alpha) for alpha in (0.01, 0.05, 0.2)] == [2, 1, 0]
