"""The null distribution of the statistic, and p-values from it: by the chi-square, by moments, or by a bootstrap."""

import numpy as np
import pytest
from scipy.stats import binomtest, poisson

from discreet.inference.channel import TruncatedDistribution, by_cell
from discreet.inference.hypothesis_tests import null_distribution as null_module
from discreet.inference.hypothesis_tests.cell_moments import (
    CellMoments,
    CellParts,
    columns,
    table_moments,
    wide_moments,
)
from discreet.inference.hypothesis_tests.likelihood_ratio import chi_square, likelihood_ratios
from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel
from discreet.inference.hypothesis_tests.null_distribution import (
    Leverage,
    NullDistribution,
    null_distribution,
)
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
from discreet.noise.cell_distribution import SumDistribution

#: The chance that one comparison fails although nothing is wrong, in standard deviations of a normal distribution.
FALSE_ALARM = 1e-4
Z = 3.9


def fitted_batch(noise, people, shape=(6, 8), tables=400, seed=5):
    rng = np.random.default_rng(seed)
    model = HierarchicalModel.of([(0,), (1,)], np.ones(shape))
    means = rng.uniform(0.5, 1.5, (tables, shape[0], 1)) * rng.uniform(0.5, 1.5, (tables, 1, shape[1]))
    return likelihood_ratios(with_noise(rng.poisson(people * means), noise, rng), noise, model), model


@pytest.mark.parametrize(
    ("noise", "people"),
    [(laplace(epsilon=0.5, m=10), 8), (maxent(D=5, V=3, js=2), 5), (maxent(D=5, V=3, js=2), 2)],
)
def test_the_mean_and_variance_are_those_of_the_statistic_and_the_chi_squares_are_not(noise, people):
    found, model = fitted_batch(noise, people)
    distribution = null_distribution(found, model, noise)
    error = found.statistic.std() / np.sqrt(len(found.df))
    assert abs((found.statistic - distribution.mean).mean()) < Z * error
    assert (found.statistic - distribution.mean).var() == pytest.approx(distribution.variance.mean(), rel=0.3)
    assert abs((found.statistic - found.df).mean()) > Z * error


def test_for_many_people_it_is_the_chi_square_distribution():
    noise = maxent(D=5, V=3, js=2)
    found, model = fitted_batch(noise, 500, (4, 4), 20)
    distribution = null_distribution(found, model, noise)
    assert distribution.mean == pytest.approx(9, abs=0.1)
    assert distribution.variance == pytest.approx(18, abs=0.4)
    assert distribution.chi_square_holds.all()
    assert distribution.by_distribution(found.statistic) == pytest.approx(
        chi_square(found.statistic, found.df)
    )


def test_cells_that_cannot_occur_have_no_part():
    noise = laplace(epsilon=1.0, m=5)
    rng = np.random.default_rng(1)
    tables = with_noise(rng.poisson(9, (4, 4, 4)), noise, rng)
    possible = np.ones((4, 4))
    possible[3] = 0
    without = HierarchicalModel.of([(0,), (1,)], possible)
    smaller = HierarchicalModel.of([(0,), (1,)], np.ones((3, 4)))
    one = null_distribution(likelihood_ratios(tables, noise, without), without, noise)
    other = null_distribution(likelihood_ratios(tables[:, :3], noise, smaller), smaller, noise)
    assert one.mean == pytest.approx(other.mean, rel=1e-6)
    assert one.variance == pytest.approx(other.variance, rel=1e-6)


def test_very_many_parameters_give_every_cell_the_same_leverage(monkeypatch):
    noise = laplace(epsilon=1.0, m=5)
    found, model = fitted_batch(noise, 20, tables=10)
    exact = null_distribution(found, model, noise)
    monkeypatch.setattr(null_module, "_MOST_PARAMETERS", 5)
    rough = null_distribution(found, model, noise)
    assert rough.mean == pytest.approx(exact.mean, rel=0.02)
    assert rough.variance == pytest.approx(exact.variance, rel=0.05)


def test_a_cautious_p_value_is_larger_where_there_is_doubt_and_one_where_nothing_is_left():
    distribution = NullDistribution(
        np.full(3, 30.0),
        np.array([1.0, 20.0, 20.0]),
        np.full(3, 50.0),
        np.array([30, 30, 0]),
        np.zeros(3, dtype=bool),
    )
    statistic = np.full(3, 45.0)
    plain, cautious = (distribution.p_values(statistic, cautious=each) for each in (False, True))
    assert distribution.reliable.tolist() == [True, False, False]
    assert cautious[0] == plain[0]
    assert cautious[1] > 5 * plain[1]
    assert plain[2] == cautious[2] == 1
    both = NullDistribution.of_sum([distribution.of(0), distribution.of(1)])
    assert (both.mean[0], both.doubt[0], both.variance[0], both.df[0]) == (60, 21, 100, 60)
    assert both.crowded.tolist() == [False]


MODELS = [
    ((4, 5), [(0,), (1,)]),
    ((2, 3, 4), [(0, 1), (0, 2), (1, 2)]),
    ((7,), [()]),
    ((3, 2, 2), [(0, 1), (2,)]),
]


@pytest.mark.parametrize(("shape", "generators"), MODELS)
def test_leverages_are_those_of_the_written_out_projection(shape, generators):
    model = HierarchicalModel.of(generators, np.ones(shape))
    rng = np.random.default_rng(8)
    weights = rng.uniform(0.1, 9.0, (3, int(np.prod(shape))))
    terms = rng.normal(size=weights.shape)
    found = Leverage.of(model, weights)
    design = model.design(np.ones(shape, dtype=bool)).toarray()
    for table in range(3):
        inverse = np.linalg.pinv(design.T @ np.diag(weights[table]) @ design)
        slow = np.diag(design @ inverse @ design.T)
        np.testing.assert_allclose(found.log_variance()[table], slow, rtol=1e-6)
        total = design.T @ terms[table]
        assert found.explained(terms)[table] == pytest.approx(total @ inverse @ total, rel=1e-6)
    parameters = model.offset.size - model.degrees_of_freedom(np.ones(shape, dtype=bool))
    assert (weights * found.log_variance()).sum(axis=1) == pytest.approx(parameters)


def test_rows_of_tiny_means_keep_their_parameter():
    model = HierarchicalModel.of([(0,), (1,)], np.ones((3, 3)))
    weights = np.outer([1.0, 1e-9, 5.0], [2.0, 3.0, 1e-6]).reshape(1, -1)
    assert (weights * Leverage.of(model, weights).log_variance()).sum() == pytest.approx(5, rel=1e-3)


COUNTS = np.arange(160)


def slow_parts(noise, mu):
    """The moments at one mean, by the definition: every count, every released value, derivatives by differences."""
    distribution = np.zeros((160, 180))
    for n in COUNTS:
        for value, mass in zip(noise.row(n).values, noise.row(n).masses(), strict=True):
            distribution[n, n + value] = mass / noise.modulus
    h = 1e-4 * mu
    chance, up, down = (poisson.pmf(COUNTS, at) @ distribution for at in (mu, mu + h, mu - h))
    means = np.linspace(0.0, 12.0, 4001)[:, None] ** 2
    top = (poisson.pmf(COUNTS, means) @ distribution).max(axis=0)
    seen = chance > 1e-13
    chance, up, down, top = (each[seen] for each in (chance, up, down, top))
    part = 2 * np.log(top / chance)
    slope = (up - down) / (2 * h)
    expected, information = chance @ part, chance @ (slope / chance) ** 2
    excess = (slope / chance) ** 2 / information - 1
    return {
        "expected": expected,
        "variance": chance @ (part - expected) ** 2,
        "slope": slope @ part,
        "bend": (up - 2 * chance + down) / h**2 @ part - 2 * information,
        "information": information,
        "overlap": chance @ (part * excess),
        "kurtosis": chance @ excess**2,
    }


@pytest.mark.parametrize("mu", [0.8, 6.0, 20.0])
def test_the_moments_are_those_of_the_definition(mu):
    noise = maxent(D=5, V=3, js=2)
    found = table_moments(noise).at(np.array([mu]))
    for name, value in slow_parts(noise, mu).items():
        assert getattr(found, name)[0] == pytest.approx(value, rel=5e-3, abs=2e-3), name


def test_without_noise_the_moments_are_those_of_the_poisson_deviance(no_noise):
    for mu in (0.3, 4.0, 60.0):
        found = table_moments(no_noise).at(np.array([mu]))
        x = np.arange(400)
        chance = poisson.pmf(x, mu)
        part = 2 * (poisson.logpmf(x, np.maximum(x, 1e-300)) - poisson.logpmf(x, mu))
        part = np.where(chance > 0, part, 0)
        assert found.expected[0] == pytest.approx(chance @ part, rel=2e-3)
        assert found.variance[0] == pytest.approx(chance @ part**2 - (chance @ part) ** 2, rel=5e-3)
        assert found.information[0] == pytest.approx(1 / mu, rel=1e-3)


@pytest.mark.slow
def test_for_large_means_they_are_those_of_the_chi_square_distribution(any_noise):
    found = table_moments(any_noise).at(np.array([150.0]))
    assert found.expected[0] == pytest.approx(1, abs=0.15)
    assert found.variance[0] == pytest.approx(2, abs=0.6)


def test_beyond_the_table_only_the_units_change():
    parts = CellParts(*(np.array([1.0, 2.0]) for _ in range(7)))
    table = CellMoments.of(np.array([4.0, 9.0]), 1.0, parts)
    for column, known in zip(columns(table.at(np.array([9.0]))), columns(parts), strict=True):
        assert column[0] == pytest.approx(known[1])
    far = table.at(np.array([99.0]))
    assert far.expected[0] == 2
    assert far.information[0] == pytest.approx(2 * 10 / 100)


MEANS = np.linspace(0.3, 12, 60) ** 2


def moments(row, terms):
    kept = TruncatedDistribution.of(SumDistribution(row, terms))
    return wide_moments(kept.distribution, kept.variance)


@pytest.mark.parametrize("noise", [laplace(epsilon=0.5, m=7), laplace(epsilon=0.1, m=10)])
def test_the_moments_are_those_of_the_slow_way(noise):
    fast, slow = moments(noise.rows[0], 1).at(MEANS), table_moments(noise).at(MEANS)
    for one, other in zip(columns(fast), columns(slow), strict=True):
        np.testing.assert_allclose(one, other, atol=0.03, rtol=0.01)
    np.testing.assert_allclose(fast.expected, slow.expected, atol=2e-3)


def test_under_long_laplace_noise_a_cell_has_more_than_the_chi_square_distribution_says_until_its_mean_is_large():
    found = moments(laplace(epsilon=0.1, modulus=2**64).rows[0], 1)
    assert found.at(np.array([60.0])).expected > 1.3
    assert found.parts.expected[-1] == pytest.approx(1, abs=0.005)
    assert found.parts.variance[-1] == pytest.approx(2, abs=0.02)
    assert np.abs(np.diff(found.parts.expected[195:205])).max() < 0.02  # the two ways meet
    assert np.abs(np.diff(found.parts.information[195:205])).max() < 0.02


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
