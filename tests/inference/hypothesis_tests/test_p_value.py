import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.inference.channel import by_cell
from discreet.inference.hypothesis_tests.likelihood_ratio import likelihood_ratios
from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel
from discreet.inference.hypothesis_tests.null_distribution import NullDistribution, null_distribution
from discreet.inference.hypothesis_tests.p_value import (
    SEED,
    SURE,
    bootstrap_p_values,
    choose_method,
    p_value,
    reason,
    simulate,
    with_noise,
)
from discreet.noise import laplace, maxent

NOISE = laplace(epsilon=0.5, m=10)


def distribution(mean, doubt, variance, df, crowded=False):
    numbers = (np.array([float(each)]) for each in (mean, doubt, variance))
    return NullDistribution(*numbers, np.array([df]), np.array([crowded]))


@pytest.mark.parametrize(
    ("known", "cells", "method", "draws"),
    [
        (distribution(8.01, 0.0, 16.1, 8), 15, "chi-square", 499),
        (distribution(40, 1.0, 85, 35), 48, "moments", 499),
        (distribution(9.5, 0.1, 20, 8), 15, "moments", 499),
        (distribution(9.5, 2.0, 20, 8), 15, "bootstrap", 499),
        (distribution(1.3, 0.0, 3.0, 1), 4, "bootstrap", 499),
        (distribution(30, 0.3, 70, 24, True), 60, "bootstrap", 499),
        (distribution(500, 90, 800, 400), 1_000, "bootstrap", 99),
        (distribution(500, 90, 800, 400), 40_000, "moments", 499),
    ],
)
def test_the_first_method_that_holds_is_taken(known, cells, method, draws):
    assert choose_method(known, NOISE, cells, 499, "poisson") == (method, draws)


@pytest.mark.parametrize(
    ("epsilon", "method", "draws"), [(1, "bootstrap", 499), (0.05, "bootstrap", 99), (0.01, "moments", 499)]
)
def test_the_wider_the_distributions_the_less_is_drawn(epsilon, method, draws):
    """Wrong alternative: the work counted by the window on a wide distribution, whatever its width."""
    noise = by_cell(laplace(epsilon=epsilon, m=int(30 / epsilon)), (5, 2))
    assert choose_method(distribution(9.5, 2.0, 20, 8), noise, 10, 499, "poisson") == (method, draws)


@pytest.mark.parametrize(
    ("method", "known", "words"),
    [
        (
            "chi-square",
            distribution(8.01, 0.0, 16.1, 8),
            "nearly the mean and the variance of the chi-square law, 8 and 16",
        ),
        ("chi-square", distribution(40, 1, 85, 35), "does not hold"),
        (
            "moments",
            distribution(40, 1, 85, 35),
            "40.0 and 85.0, not 35 and 70. The p-value comes from a multiple",
        ),
        ("moments", distribution(40, 50, 85, 35), "errs on the safe side"),
        ("bootstrap", distribution(40, 50, 85, 35), "99 tables drawn from the hypothesis"),
    ],
)
def test_the_reader_is_told_where_the_p_value_comes_from_and_why(method, known, words):
    assert words in reason(method, known, 99)


def test_the_methods_agree_where_all_hold():
    table = np.array([[[520, 310, 411], [300, 250, 290], [180, 133, 166]]])
    model = HierarchicalModel.of([(0,), (1,)], np.ones((3, 3)))
    found = likelihood_ratios(table, NOISE, model)
    known = null_distribution(found, model, NOISE)
    values = [
        p_value(method, found, known, model, NOISE, total=None, replicates=499, seed=1)
        for method in ("chi-square", "moments", "bootstrap")
    ]
    assert values[1] == pytest.approx(values[0], abs=0.01)
    assert values[2] == pytest.approx(values[0], abs=0.07)


FALSE_ALARM = 1e-4


def fitted(tables, noise):
    model = HierarchicalModel.of([(0,), (1,)], np.ones(tables.shape[1:]))
    found = likelihood_ratios(tables, noise, model)
    return found, null_distribution(found, model, noise).p_values(found.statistic), model


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
