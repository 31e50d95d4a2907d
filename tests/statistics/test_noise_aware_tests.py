"""The size and power of the noise-aware test of independence, and the naive test's inflated size."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from discreet.inference.hypothesis_tests.independence import independence_tests
from discreet.inference.hypothesis_tests.p_value import with_noise
from discreet.noise import NoiseRow, NoiseTable, laplace
from discreet_studies.bench.size_grid import GRID
from discreet_studies.bench.tests_size import p_values

#: The chance that one comparison fails although nothing is wrong.
FALSE_ALARM = 1e-4
Z = norm.isf(FALSE_ALARM / 2)
LEVEL = 0.05
TABLES = 500
NO_NOISE = NoiseTable(1, (NoiseRow((0,), (1,)),))
ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "noise_aware_tests.json").read_text("utf-8"))


def true_tables(rng, level=4.0, interaction=0.0, number=TABLES):
    """The paper's tables: 10 x 10 Poisson counts, row and column effects uniform on -1/2..1/2."""
    rows, columns = rng.uniform(-0.5, 0.5, (number, 10, 1)), rng.uniform(-0.5, 0.5, (number, 1, 10))
    together = interaction * rng.uniform(-0.5, 0.5, (number, 10, 10))
    return rng.poisson(np.exp(level + rows + columns + together))


def rejected(p_values):
    return int((p_values <= LEVEL).sum())


def test_a_wrong_noise_table_does_not_keep_the_size():
    """The same tables tested as if their noise were smaller: found out at once."""
    rng = np.random.default_rng(64)
    released = with_noise(true_tables(rng, number=200), laplace(epsilon=0.1, m=7), rng)
    found = independence_tests(released, laplace(epsilon=0.7, m=7))
    assert binomtest(rejected(found.p_value), 200, LEVEL, alternative="greater").pvalue < FALSE_ALARM


def test_at_400_people_a_cell_the_size_is_nominal_and_the_naive_size_is_still_inflated():
    level = float(np.log(400 / (2 * np.sinh(0.5)) ** 2))
    noise = laplace(epsilon=0.1, m=10)
    rng = np.random.default_rng(65)
    true = true_tables(rng, level)
    assert true.mean() == pytest.approx(400, rel=0.02)
    found = independence_tests(with_noise(true, noise, rng), noise)
    aware, naive = rejected(found.p_value), rejected(found.naive_p_value)
    assert binomtest(aware, TABLES, LEVEL).pvalue > FALSE_ALARM
    assert binomtest(naive, TABLES, LEVEL, alternative="greater").pvalue < FALSE_ALARM
    printed = ORACLE["average_cell_400"]["printed"]["naive_size"]
    assert binomtest(naive, TABLES, printed).pvalue > FALSE_ALARM


def test_noise_costs_power_and_leaves_most_of_it():
    """An interaction that the exact table shows nearly always is still found behind noise of deviation 2."""
    noise = laplace(epsilon=0.5, m=7)
    rng = np.random.default_rng(66)
    true = true_tables(rng, interaction=0.7, number=200)
    exact = rejected(independence_tests(true, NO_NOISE).p_value)
    released = with_noise(true, noise, rng)
    assert exact == rejected(independence_tests(released, noise).p_value) == 200  # as the erratum says: 100 %
    weak = true_tables(rng, interaction=0.35, number=200)
    exact = rejected(independence_tests(weak, NO_NOISE).p_value)
    aware = rejected(independence_tests(with_noise(weak, noise, rng), noise).p_value)
    assert 0.75 * exact < aware < exact


#: Some points of the published grid: what the plain chi-square distribution rejects there at 5 % is written beside it.
POINTS = {
    "laplace.5-10x10-10": 0.21,
    "laplace.5-6x8-8": 0.15,
    "maxent-10x10-5": 0.19,
    "laplace.5-100-10-distribution": 0.21,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(POINTS))
def test_true_hypotheses_are_rejected_as_often_as_said_and_by_the_chi_square_distribution_far_too_often(name):
    point = next(each for each in GRID if each.name == name)
    found = p_values(point, TABLES, seed=67)
    for level in (0.05, 0.01):
        hits = int((found.aware <= level).sum())
        assert binomtest(hits, TABLES, level, alternative="greater").pvalue > FALSE_ALARM
        assert binomtest(hits, TABLES, 0.7 * level, alternative="less").pvalue > FALSE_ALARM
    wrong = rejected(found.chi_square)
    assert binomtest(wrong, TABLES, LEVEL, alternative="greater").pvalue < FALSE_ALARM
    assert binomtest(wrong, TABLES, POINTS[name]).pvalue > FALSE_ALARM


@pytest.mark.slow
def test_the_bootstrap_keeps_its_size_in_small_tables_and_the_naive_test_does_not():
    point = next(each for each in GRID if each.name == "laplace.5-2x2-5")
    found = p_values(point, 300, seed=68)
    assert found.methods.count("bootstrap") > 210
    assert binomtest(rejected(found.aware), 300, LEVEL).pvalue > FALSE_ALARM
    assert binomtest(rejected(found.naive), 300, LEVEL, alternative="greater").pvalue < FALSE_ALARM
