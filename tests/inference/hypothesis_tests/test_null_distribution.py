import numpy as np
import pytest
from scipy.stats import poisson

from discreet.inference.channel import TruncatedDistribution
from discreet.inference.hypothesis_tests import null_distribution as module
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
from discreet.inference.hypothesis_tests.p_value import with_noise
from discreet.noise import laplace, maxent
from discreet.noise.cell_distribution import SumDistribution

#: The chance that one comparison fails although nothing is wrong, in standard deviations of a normal distribution.
FALSE_ALARM = 1e-4
Z = 3.9


def fitted(noise, people, shape=(6, 8), tables=400, seed=5):
    rng = np.random.default_rng(seed)
    model = HierarchicalModel.of([(0,), (1,)], np.ones(shape))
    means = rng.uniform(0.5, 1.5, (tables, shape[0], 1)) * rng.uniform(0.5, 1.5, (tables, 1, shape[1]))
    return likelihood_ratios(with_noise(rng.poisson(people * means), noise, rng), noise, model), model


@pytest.mark.parametrize(
    ("noise", "people"),
    [(laplace(epsilon=0.5, m=10), 8), (maxent(D=5, V=3, js=2), 5), (maxent(D=5, V=3, js=2), 2)],
)
def test_the_mean_and_variance_are_those_of_the_statistic_and_the_chi_squares_are_not(noise, people):
    found, model = fitted(noise, people)
    distribution = null_distribution(found, model, noise)
    error = found.statistic.std() / np.sqrt(len(found.df))
    assert abs((found.statistic - distribution.mean).mean()) < Z * error
    assert (found.statistic - distribution.mean).var() == pytest.approx(distribution.variance.mean(), rel=0.3)
    assert abs((found.statistic - found.df).mean()) > Z * error


def test_for_many_people_it_is_the_chi_square_distribution():
    noise = maxent(D=5, V=3, js=2)
    found, model = fitted(noise, 500, (4, 4), 20)
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
    found, model = fitted(noise, 20, tables=10)
    exact = null_distribution(found, model, noise)
    monkeypatch.setattr(module, "_MOST_PARAMETERS", 5)
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
