import numpy as np
import pytest
from scipy.stats import poisson

from discreet.inference.channel import TruncatedDistribution, channel_of
from discreet.inference.hypothesis_tests.cell_moments import (
    CellMoments,
    CellParts,
    columns,
    releasable,
    table_moments,
    wide_moments,
)
from discreet.noise import laplace, maxent
from discreet.noise.cell_distribution import SumDistribution

COUNTS = np.arange(160)


def slow_parts(noise, mu):
    """The moments at one mean, by the definition: every count, every released value, derivatives by differences."""
    law = np.zeros((160, 180))
    for n in COUNTS:
        for value, mass in zip(noise.row(n).values, noise.row(n).masses(), strict=True):
            law[n, n + value] = mass / noise.modulus
    h = 1e-4 * mu
    chance, up, down = (poisson.pmf(COUNTS, at) @ law for at in (mu, mu + h, mu - h))
    means = np.linspace(0.0, 12.0, 4001)[:, None] ** 2
    top = (poisson.pmf(COUNTS, means) @ law).max(axis=0)
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


def test_slope_and_bend_are_the_derivatives_of_the_mean():
    table = table_moments(maxent(D=5, V=3, js=2))
    means, parts = table.means[20:120], table.parts
    slope = np.gradient(parts.expected[20:120], means)
    known = (parts.slope / np.sqrt(table.means + table.noise))[20:120]
    np.testing.assert_allclose(slope[1:-1], known[1:-1], atol=0.02)
    bend = (parts.bend / (table.means + table.noise))[20:120]
    np.testing.assert_allclose(np.gradient(known, means)[2:-2], bend[2:-2], atol=0.05)


@pytest.mark.slow
def test_for_large_means_they_are_those_of_the_chi_square_law(any_noise):
    found = table_moments(any_noise).at(np.array([150.0]))
    assert found.expected[0] == pytest.approx(1, abs=0.15)
    assert found.variance[0] == pytest.approx(2, abs=0.6)


def test_the_values_that_can_be_released(any_noise):
    values = releasable(channel_of(any_noise), 30)
    slow = {n + v for n in range(31) for v in any_noise.row(n).values}
    assert values.tolist() == sorted(slow)


def test_beyond_the_table_only_the_units_change():
    parts = CellParts(*(np.array([1.0, 2.0]) for _ in range(7)))
    table = CellMoments.of(np.array([4.0, 9.0]), 1.0, parts)
    for column, known in zip(columns(table.at(np.array([9.0]))), columns(parts), strict=True):
        assert column[0] == pytest.approx(known[1])
    far = table.at(np.array([99.0]))
    assert far.expected[0] == 2
    assert far.information[0] == pytest.approx(2 * 10 / 100)


def test_cells_that_are_left_out_have_nothing():
    parts = CellParts(*(np.array([1.0, 2.0]) for _ in range(7)))
    assert all(column.tolist() == [0, 2] for column in columns(parts.within(np.array([False, True]))))


MEANS = np.linspace(0.3, 12, 60) ** 2


def moments(row, terms):
    kept = TruncatedDistribution.of(SumDistribution(row, terms))
    return wide_moments(kept.law, kept.variance)


@pytest.mark.parametrize("noise", [laplace(epsilon=0.5, m=7), laplace(epsilon=0.1, m=10)])
def test_the_moments_are_those_of_the_slow_way(noise):
    fast, slow = moments(noise.rows[0], 1).at(MEANS), table_moments(noise).at(MEANS)
    for one, other in zip(columns(fast), columns(slow), strict=True):
        np.testing.assert_allclose(one, other, atol=0.03, rtol=0.01)
    np.testing.assert_allclose(fast.expected, slow.expected, atol=2e-3)


def test_under_long_laplace_noise_a_cell_has_more_than_the_chi_square_law_says_until_its_mean_is_large():
    found = moments(laplace(epsilon=0.1, modulus=2**64).rows[0], 1)
    assert found.at(np.array([60.0])).expected > 1.3
    assert found.parts.expected[-1] == pytest.approx(1, abs=0.005)
    assert found.parts.variance[-1] == pytest.approx(2, abs=0.02)
    assert np.abs(np.diff(found.parts.expected[195:205])).max() < 0.02  # the two ways meet
    assert np.abs(np.diff(found.parts.information[195:205])).max() < 0.02


def test_a_sum_of_many_terms_is_nearly_normal():
    found = moments(laplace(epsilon=0.5, modulus=2**64).rows[0], 60)
    assert found.at(np.array([400.0])).expected == pytest.approx(1, abs=0.03)
