from itertools import product

import numpy as np
import pytest
from scipy.stats import multinomial

from discreet.errors import BadRequest
from discreet.inference.channel import channel_of
from discreet.inference.multinomial_likelihood import MultinomialLikelihood
from discreet.noise import laplace


def slow(released, mu, total, noise):
    """Over every true table with the total: the chance of the release, and the mean counts."""
    whole, means = 0.0, np.zeros(len(released))
    shares = np.array(mu) / np.sum(mu)
    for counts in product(range(total + 1), repeat=len(released)):
        if sum(counts) != total:
            continue
        chance = multinomial.pmf(counts, total, shares)
        for n, x in zip(counts, released, strict=True):
            chance *= float(noise.row(n).probabilities().get(x - n, 0))
        whole += chance
        means += chance * np.array(counts)
    return np.log(whole), means / whole


@pytest.mark.slow
@pytest.mark.parametrize(("released", "total"), [([3, 4, 5], 12), ([0, 9, 0], 9), ([6, 5, 4], 14)])
@pytest.mark.parametrize("scale", [0.2, 1.0, 7.0])
def test_it_is_the_sum_over_all_tables_with_the_total_whatever_the_scale(any_noise, released, total, scale):
    mu = scale * np.array([2.0, 4.0, 3.0])
    likelihood = MultinomialLikelihood.of(channel_of(any_noise).evidence([released]), total)
    log_likelihood, means = likelihood.expect(mu[None])
    expected, expected_means = slow(released, mu, total, any_noise)
    assert log_likelihood[0] == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(means[0], expected_means, atol=1e-9)
    assert means.sum() == pytest.approx(total)


def test_each_table_of_a_batch_has_its_own_total():
    noise = laplace(epsilon=1.0, m=4)
    tables = np.array([[3, 4], [8, 1]])
    evidence = channel_of(noise).evidence(tables)
    mu = np.array([[2.0, 3.0], [5.0, 5.0]])
    both = MultinomialLikelihood.of(evidence, np.array([7, 10])).expect(mu)[0]
    for table, total in ((0, 7), (1, 10)):
        alone = MultinomialLikelihood.of(channel_of(noise).evidence(tables[[table]]), total)
        assert both[table] == pytest.approx(alone.expect(mu[[table]])[0][0], abs=1e-12)


def test_an_impossible_total_is_refused():
    evidence = channel_of(laplace(epsilon=1.0, m=4)).evidence([[3, 4]])
    with pytest.raises(BadRequest, match="allow 0 to 15"):
        MultinomialLikelihood.of(evidence, 16)
