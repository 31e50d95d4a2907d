import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.inference.bootstrap import SEED, SURE, bootstrap_p_values, simulate, with_noise
from discreet.inference.hierarchical_model import HierarchicalModel
from discreet.inference.null_law import null_law
from discreet.inference.ratios import ratios
from discreet.noise import laplace, maxent

FALSE_ALARM = 1e-4


def fitted(tables, noise):
    model = HierarchicalModel.of([(0,), (1,)], np.ones(tables.shape[1:]))
    found = ratios(tables, noise, model)
    return found, null_law(found, model, noise).p_values(found.statistic), model


def test_the_observed_table_counts_among_the_drawn():
    """The wrong way, without it: a p-value of 0, which no number of draws shows."""
    noise = maxent(D=3, V=1.5, js=0)
    found, p, model = fitted(np.array([[[30, 1], [2, 41]], [[9, 9], [9, 9]]]), noise)
    values = bootstrap_p_values(p, found.means, model, noise, replicates=99)
    assert values.tolist() == [0.01, 1.0]


def test_a_batch_has_the_p_values_of_its_tables_and_of_the_slow_way():
    """Rounds and one batch against one table at a time with all draws counted; only p-values above 5 % may differ."""
    noise, rng = maxent(D=3, V=1.5, js=0), np.random.default_rng(4)
    found, p, model = fitted(with_noise(rng.poisson([[4, 9], [6, 8]], (12, 2, 2)), noise, rng), noise)
    p[:4] = [0.001, 0.01, 0.04, 0.1]
    batch = bootstrap_p_values(p, found.means, model, noise, replicates=199)
    short = 0
    for table, value in enumerate(batch):
        one = slice(table, table + 1)
        assert bootstrap_p_values(p[one], found.means[one], model, noise, replicates=199)[0] == value
        rounds = [simulate(found.means[table], noise, n, SEED + i) for i, n in enumerate((49, 50, 100))]
        drawn = fitted(np.concatenate(rounds), noise)[1]
        slow = (1 + (drawn <= p[table] + 1e-9).sum()) / 200
        short += value != slow
        assert value == slow or (value > SURE and slow > SURE)
    assert 0 < short < len(batch)


def test_draws_have_the_means_the_noise_and_the_total():
    noise = laplace(epsilon=0.5, m=7)
    means = np.array([[10.0, 20.0], [0.0, 5.0]])
    free = simulate(means, noise, 4000, 1)
    np.testing.assert_allclose(free.mean(axis=0), means, atol=0.4)
    spread = means + float(noise.row(0).variance())
    np.testing.assert_allclose(free.var(axis=0), spread, rtol=0.12)
    fixed = simulate(means, maxent(D=1, V=0.5, js=0), 300, 1, total=35)
    assert fixed.shape == (300, 2, 2)
    assert (simulate(means, noise, 5, 3) == simulate(means, noise, 5, 3)).all()


def test_keys_cover_all_of_a_modulus_of_64_bits():
    noise = laplace(epsilon=1.0, modulus=2**64)
    draws = with_noise(np.full(4000, 100), noise, np.random.default_rng(2))
    assert draws.mean() == pytest.approx(100, abs=0.2)


@pytest.mark.slow
def test_its_size_is_nominal_with_one_person_a_cell_and_that_of_the_bare_statistic_is_not():
    """The wrong way compares statistics: means fitted to few people are uneven, and drawn statistics too small."""
    rng, noise, tables = np.random.default_rng(77), maxent(D=5, V=3, js=2), 200
    means = rng.uniform(0.5, 1.5, (tables, 3, 1)) * rng.uniform(0.5, 1.5, (tables, 1, 5))
    found, p, model = fitted(with_noise(rng.poisson(means), noise, rng), noise)
    aware = bootstrap_p_values(p, found.means, model, noise, replicates=99)
    drawn = np.concatenate([simulate(mean, noise, 99, SEED) for mean in found.means])
    larger = fitted(drawn, noise)[0].statistic.reshape(tables, 99) >= found.statistic[:, None] - 1e-9
    bare = (1 + larger.sum(axis=1)) / 100
    assert binomtest(int((aware <= 0.05).sum()), tables, 0.05, alternative="greater").pvalue > FALSE_ALARM
    assert binomtest(int((bare <= 0.05).sum()), tables, 0.05, alternative="greater").pvalue < FALSE_ALARM
