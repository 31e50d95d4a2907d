import numpy as np
import pytest
from scipy.stats import binomtest, poisson

from discreet.inference.bootstrap import bootstrap_p_value, simulated, with_noise
from discreet.inference.centring import _ROOTS, _moments, centred, releasable
from discreet.inference.channel import channel_of
from discreet.inference.hierarchical_model import HierarchicalModel
from discreet.inference.log_linear import ratios
from discreet.noise import laplace, maxent

FALSE_ALARM = 1e-4


def test_without_noise_the_moments_are_those_of_the_poisson_deviance(no_noise):
    expected, variance = _moments(no_noise)
    for place in (3, 60, 200):
        mu = _ROOTS[place] ** 2
        x = np.arange(400)
        part = 2 * (poisson.logpmf(x, np.maximum(x, 1e-300)) - poisson.logpmf(x, mu))
        chance = poisson.pmf(x, mu)
        mean = (chance * np.where(chance > 0, part, 0)).sum()
        assert expected[place] == pytest.approx(mean, rel=1e-6)
        square = (chance * np.where(chance > 0, part, 0) ** 2).sum()
        assert variance[place] == pytest.approx(square - mean**2, rel=1e-5)


@pytest.mark.slow
def test_for_large_means_they_are_those_of_the_chi_square_law(any_noise):
    expected, variance = _moments(any_noise)
    assert expected[-1] == pytest.approx(1, abs=0.15)
    assert variance[-1] == pytest.approx(2, abs=0.6)


def test_the_values_that_can_be_released(any_noise):
    values = releasable(channel_of(any_noise), 30)
    slow = {n + v for n in range(31) for v in any_noise.row(n).values}
    assert values.tolist() == sorted(slow)


def test_cells_that_cannot_occur_have_no_part():
    noise = laplace(epsilon=1.0, m=5)
    means, possible = np.array([[[4.0, 7.0], [2.0, 0.0]]]), np.array([[True, True], [True, False]])
    three = centred(np.array([3.0]), means[:, :1, :], possible[:1], noise)
    four = centred(np.array([3.0]), means, possible, noise)
    assert three != four
    assert four == centred(np.array([3.0]), np.array([[4.0, 7.0, 2.0]]), np.ones(3, dtype=bool), noise)


@pytest.mark.slow
def test_the_centred_bootstrap_keeps_its_size_at_one_person_a_cell_and_the_plain_one_does_not():
    rng = np.random.default_rng(61)
    noise, draws, tables = maxent(D=5, V=3, js=2), 79, 250
    model = HierarchicalModel.of([(0,), (1,)], np.ones((5, 5)))
    means = rng.uniform(0.3, 1.7, (tables, 5, 1)) * rng.uniform(0.3, 1.7, (tables, 1, 5))
    found = ratios(with_noise(rng.poisson(means), noise, rng), noise, model)
    drawn = np.concatenate([simulated(found.means[t], noise, draws, t) for t in range(tables)])
    again = ratios(drawn, noise, model)
    rejected = {}
    for name, one, many in (
        ("plain", found.statistic, again.statistic),
        (
            "centred",
            centred(found.statistic, found.means, model.possible, noise),
            centred(again.statistic, again.means, model.possible, noise),
        ),
    ):
        p_values = [bootstrap_p_value(o, m) for o, m in zip(one, many.reshape(tables, draws), strict=True)]
        rejected[name] = sum(p <= 0.05 for p in p_values)
    assert binomtest(rejected["centred"], tables, 0.05, alternative="greater").pvalue > FALSE_ALARM
    assert binomtest(rejected["plain"], tables, 0.05, alternative="greater").pvalue < FALSE_ALARM
