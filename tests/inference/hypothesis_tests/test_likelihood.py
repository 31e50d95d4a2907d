from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import multinomial, poisson

from discreet.errors import BadRequest
from discreet.inference.channel import NoiseByCell, channel_of
from discreet.inference.hypothesis_tests.likelihood import (
    MultinomialLikelihood,
    PoissonLikelihood,
    WidePoisson,
)
from discreet.noise import NoiseRow, NoiseTable, laplace
from discreet.noise.cell_distribution import SumDistribution
from discreet.noise.table import NO_NOISE

from ..conftest import chances


def slow(released, mu, noise):
    """log P(x | mu) and E(n | x, mu), term by term."""
    terms = {
        n: chances(noise, n).get(released - n, 0) * poisson.pmf(n, mu)
        for n in range(max(0, released - 200), released + 200)
    }
    whole = sum(terms.values())
    return np.log(whole), sum(n * t for n, t in terms.items()) / whole


@pytest.mark.slow
@pytest.mark.parametrize(("released", "mu"), [(0, 0.3), (4, 6.0), (30, 25.0), (45, 45.0)])
def test_it_is_the_sum_over_all_counts(any_noise, released, mu):
    evidence = channel_of(any_noise).evidence([[released]])
    log_likelihood, mean = PoissonLikelihood.of(evidence).expect(np.array([[mu]]))
    expected = slow(released, mu, any_noise)
    np.testing.assert_allclose([log_likelihood[0], mean[0, 0]], expected, rtol=1e-10)


def test_counts_in_the_millions_lose_no_digits():
    noise = laplace(epsilon=0.5, m=7)
    likelihood = PoissonLikelihood.of(channel_of(noise).evidence([[5_000_000]]))
    rise = likelihood.expect(np.array([[5_000_001.0]]))[0] - likelihood.expect(np.array([[5_000_000.0]]))[0]
    # One step of 1 at the top of a parabola of curvature 1 / mu: -1 / (2 mu) plus a slope of the same size.
    assert abs(rise[0]) < 1e-6
    assert likelihood.free_maximum()[1][0, 0] == pytest.approx(5_000_000, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("released", [0, 5, 14, 40])
def test_the_unrestricted_maximum_is_that_of_a_direct_search(any_noise, released):
    likelihood = PoissonLikelihood.of(channel_of(any_noise).evidence([[released]]))
    top, mu = likelihood.free_maximum()
    grid = np.linspace(0.0, released + any_noise.largest + 1, 1001)
    many = PoissonLikelihood.of(channel_of(any_noise).evidence(np.full((grid.size, 1), released)))
    heights = many.expect(grid[:, None])[0]
    best, step = grid[heights.argmax()], grid[1]
    direct = minimize_scalar(
        lambda m: -likelihood.expect(np.array([[m]]))[0][0],
        bounds=(max(0.0, best - step), best + step),
        method="bounded",
        options={"xatol": 1e-12},
    )
    assert top[0] == pytest.approx(max(-direct.fun, heights.max()), abs=1e-9)
    assert likelihood.expect(mu)[0][0] == pytest.approx(top[0], abs=1e-12)


def test_the_higher_of_two_peaks_is_found():
    """A table that releases 50 for counts of 10, 50 and 90: three peaks, the first the highest."""
    rows = tuple(
        NoiseRow((40,), (10,))
        if n == 10
        else NoiseRow((-40, 0), (9, 10))
        if n == 90
        else NoiseRow((0,), (10,))
        for n in range(92)
    )
    likelihood = PoissonLikelihood.of(channel_of(NoiseTable(10, rows)).evidence([[50]]))
    heights = [likelihood.expect(np.array([[m]]))[0][0] for m in (10.0, 28.0, 50.0, 70.0, 90.0)]
    assert min(heights[0], heights[2]) > heights[1]
    assert min(heights[2], heights[4]) > heights[3]
    assert likelihood.free_maximum()[1][0, 0] == pytest.approx(10, abs=0.01)


ROW = laplace(epsilon=1 / 20, modulus=2**64).rows[0]
GAPS = NoiseRow((-40, -39, 0, 39, 40), (10, 20, 30, 40, 50))
DISTRIBUTIONS = [
    SumDistribution(ROW, 1),
    SumDistribution(ROW, 4),
    NO_NOISE,
    SumDistribution(GAPS, 1),
    SumDistribution(ROW, 60),
]


@pytest.fixture(scope="module")
def wide():
    """Noise of five distributions; the widest takes a while to work out."""
    return NoiseByCell.of(DISTRIBUTIONS, np.array([[0, 1, 2], [3, 4, 0]]))


@settings(max_examples=30)
@given(seed=st.integers(0, 2**32 - 1), size=st.floats(-1, 4), ratio=st.floats(0.01, 30))
def test_windows_lose_no_digit_of_the_sum_over_all_counts(wide, seed, size, ratio):
    rng = np.random.default_rng(seed)
    means = rng.uniform(0.1, 2, (2, 2, 3)) * 10**size
    released = rng.poisson(means) + wide.draw(2, rng)
    far = means * ratio
    found, expected = WidePoisson.of(released, wide).expect(far)
    slow, slow_expected = PoissonLikelihood.of(wide.evidence(released)).expect(far)
    np.testing.assert_allclose(found, slow, rtol=1e-11, atol=1e-8)
    np.testing.assert_allclose(expected, slow_expected, rtol=1e-9, atol=1e-9)


def test_the_unrestricted_maximum_is_that_of_the_full_sum():
    rng = np.random.default_rng(4)
    smooth = NoiseByCell.of(DISTRIBUTIONS, np.array([[0, 1, 2], [1, 4, 0]]))
    released = rng.poisson(300, (3, 2, 3)) + smooth.draw(3, rng)
    found = WidePoisson.of(released, smooth).free_maximum()[0]
    slow = PoissonLikelihood.of(smooth.evidence(released)).free_maximum()[0]
    np.testing.assert_allclose(found, slow, atol=1e-8)


def test_equal_counts_of_cells_with_different_distributions_are_kept_apart():
    """Two distributions of the same reach: only the kind tells their cells apart."""
    flat, peaked = NoiseRow((-1, 0, 1), (4, 8, 12)), NoiseRow((-1, 0, 1), (1, 11, 12))
    noise = NoiseByCell.of([SumDistribution(flat, 1), SumDistribution(peaked, 1)], np.array([0, 1]))
    evidence = noise.evidence(np.array([[9, 9]]))
    means = PoissonLikelihood.of(evidence).free_maximum()[0]
    wide = WidePoisson.of(np.array([[9, 9]]), noise).free_maximum()[0]
    np.testing.assert_allclose(means, wide, atol=1e-9)
    alone = [
        PoissonLikelihood.of(
            NoiseByCell.of([SumDistribution(row, 1)], np.array([0])).evidence(np.array([[9]]))
        )
        for row in (flat, peaked)
    ]
    assert means[0] == pytest.approx(sum(float(one.free_maximum()[0][0]) for one in alone), abs=1e-9)


def slow_multinomial_likelihood(released, mu, total, noise):
    """Over every true table with the total: the chance of the release, and the mean counts."""
    whole, means = 0.0, np.zeros(len(released))
    shares = np.array(mu) / np.sum(mu)
    for counts in product(range(total + 1), repeat=len(released)):
        if sum(counts) != total:
            continue
        chance = multinomial.pmf(counts, total, shares)
        for n, x in zip(counts, released, strict=True):
            chance *= chances(noise, n).get(x - n, 0)
        whole += chance
        means += chance * np.array(counts)
    return np.log(whole), means / whole


@pytest.mark.slow
@pytest.mark.parametrize(("released", "total"), [([3, 4, 5], 12), ([0, 9, 0], 9), ([6, 5, 4], 14)])
def test_it_is_the_sum_over_all_tables_with_the_total_whatever_the_scale(any_noise, released, total):
    mu = np.array([2.0, 4.0, 3.0])
    likelihood = MultinomialLikelihood.of(channel_of(any_noise).evidence([released]), total)
    expected, expected_means = slow_multinomial_likelihood(released, mu, total, any_noise)
    for scale in (0.2, 1.0, 7.0):
        log_likelihood, means = likelihood.expect(scale * mu[None])
        assert log_likelihood[0] == pytest.approx(expected, abs=1e-9)
        np.testing.assert_allclose(means[0], expected_means, atol=1e-9)


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
