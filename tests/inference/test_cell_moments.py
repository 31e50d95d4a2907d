import numpy as np
import pytest
from scipy.stats import poisson

from discreet.inference.cell_moments import CellMoments, Parts, columns, releasable, table_moments
from discreet.inference.channel import channel_of
from discreet.noise import maxent

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
    parts = Parts(*(np.array([1.0, 2.0]) for _ in range(7)))
    table = CellMoments.of(np.array([4.0, 9.0]), 1.0, parts)
    for column, known in zip(columns(table.at(np.array([9.0]))), columns(parts), strict=True):
        assert column[0] == pytest.approx(known[1])
    far = table.at(np.array([99.0]))
    assert far.expected[0] == 2
    assert far.information[0] == pytest.approx(2 * 10 / 100)


def test_cells_that_are_left_out_have_nothing():
    parts = Parts(*(np.array([1.0, 2.0]) for _ in range(7)))
    assert all(column.tolist() == [0, 2] for column in columns(parts.within(np.array([False, True]))))
