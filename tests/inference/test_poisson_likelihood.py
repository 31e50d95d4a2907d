import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import poisson

from discreet.inference.channel import channel_of
from discreet.inference.poisson_likelihood import PoissonLikelihood
from discreet.noise import NoiseRow, NoiseTable, laplace


def slow(released, mu, noise):
    """log P(x | mu) and E(n | x, mu), term by term."""
    terms = {
        n: float(noise.row(n).probabilities().get(released - n, 0)) * poisson.pmf(n, mu)
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


def test_without_noise_it_is_the_poisson_law(no_noise):
    evidence = channel_of(no_noise).evidence([[3, 0]])
    log_likelihood, mean = PoissonLikelihood.of(evidence).expect(np.array([[2.5, 0.0]]))
    assert log_likelihood[0] == pytest.approx(poisson.logpmf(3, 2.5), abs=1e-12)
    assert mean.tolist() == [[3.0, 0.0]]


def test_counts_in_the_millions_lose_no_digits():
    noise = laplace(epsilon=0.5, m=7)
    likelihood = PoissonLikelihood.of(channel_of(noise).evidence([[5_000_000]]))
    rise = likelihood.expect(np.array([[5_000_001.0]]))[0] - likelihood.expect(np.array([[5_000_000.0]]))[0]
    # One step of 1 at the top of a parabola of curvature 1 / mu: -1 / (2 mu) plus a slope of the same size.
    assert abs(rise[0]) < 1e-6
    assert likelihood.unrestricted()[1][0, 0] == pytest.approx(5_000_000, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("released", [0, 5, 14, 40])
def test_the_unrestricted_maximum_is_that_of_a_direct_search(any_noise, released):
    likelihood = PoissonLikelihood.of(channel_of(any_noise).evidence([[released]]))
    top, mu = likelihood.unrestricted()
    grid = np.linspace(0.0, released + any_noise.largest + 1, 2001)
    heights = np.array([likelihood.expect(np.array([[m]]))[0][0] for m in grid])
    best = grid[heights.argmax()]
    step = grid[1]
    direct = minimize_scalar(
        lambda m: -likelihood.expect(np.array([[m]]))[0][0],
        bounds=(max(0.0, best - step), best + step),
        method="bounded",
        options={"xatol": 1e-12},
    )
    assert top[0] == pytest.approx(max(-direct.fun, heights.max()), abs=1e-9)
    assert likelihood.expect(mu)[0][0] == pytest.approx(top[0], abs=1e-12)


def test_the_unrestricted_mean_is_not_the_released_count():
    mu = PoissonLikelihood.of(channel_of(laplace(epsilon=0.1, m=10)).evidence([[8]])).unrestricted()[1]
    assert mu[0, 0] == pytest.approx(7.7129, abs=1e-3)


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
    assert likelihood.unrestricted()[1][0, 0] == pytest.approx(10, abs=0.01)
