"""The size of tests of weighted tables over designs of `discreet bench survey-tests`, and of simpler tests."""

import numpy as np
import pytest
from scipy.stats import binomtest, chi2

from discreet.inference.hypothesis_tests.log_linear_model import HierarchicalModel
from discreet.inference.hypothesis_tests.survey_tests import rao_scott
from discreet.survey.sample_sums import CategorySums
from discreet_studies.bench.survey_tests import (
    AVERAGE,
    DESIGNS,
    LEVEL,
    Design,
    exact_effect,
    p_values,
    published,
    survey_table,
)

#: The chance that one comparison fails although nothing is wrong.
FALSE_ALARM = 1e-4
#: The sizes that are promised.
LEAST, MOST = 0.035, 0.065
TABLES = 400


def rejected(p_values):
    return int((p_values <= LEVEL).sum())


def is_above(count, most):
    return binomtest(count, TABLES, most, alternative="greater").pvalue < FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "wrong"),
    [(DESIGNS[1], "no_clusters"), (DESIGNS[2], "no_clusters"), (DESIGNS[7], "naive")],
    ids=lambda value: getattr(value, "name", value),
)
def test_the_size_is_kept_where_a_simpler_test_loses_it(design, wrong):
    found = p_values(design, TABLES, seed=6)
    count = rejected(found["aware"])
    assert not is_above(count, MOST)
    assert binomtest(count, TABLES, LEAST, alternative="less").pvalue > FALSE_ALARM
    assert is_above(rejected(found[wrong]), MOST)


@pytest.mark.slow
def test_a_first_order_correction_rejects_too_often_where_clusters_act_unevenly():
    """In each cluster all records of the first column are in one row; those of other columns are in any."""
    design, rng = Design((2, 5), 80, 60), np.random.default_rng(9)
    model = HierarchicalModel.of([(0,), (1,)], np.ones(design.shape))
    found = []
    for _ in range(TABLES):
        columns = rng.choice(5, p=[0.4, 0.15, 0.15, 0.15, 0.15], size=(80, 60))
        rows = np.where(columns == 0, rng.integers(0, 2, (80, 1)), rng.integers(0, 2, (80, 60)))
        cells = (np.arange(80)[:, None] * 10 + rows * 5 + columns).ravel()
        unit, category = np.divmod(np.arange(800), 10)
        weight, none = np.full(800, float(AVERAGE)), np.zeros(800, dtype=np.int64)
        records = np.bincount(cells, minlength=800).astype(float)
        sums = CategorySums(category, none, unit, records, weight, weight, weight, ())
        effect = published(exact_effect(sums, design), rng).before_rounding()
        found.append(rao_scott(survey_table(sums, design, rng), model, effect))
    first = np.array([chi2.sf(each.statistic, each.df) for each in found])
    assert not is_above(rejected(np.array([each.p_value for each in found])), MOST)
    assert is_above(rejected(first), MOST)


@pytest.mark.slow
def test_power_is_nearly_that_of_the_table_without_noise():
    found = p_values(DESIGNS[4], 100, seed=6, effect=2 * DESIGNS[4].effect)
    assert rejected(found["aware"]) > 90
    assert rejected(found["aware"]) >= rejected(found["exact"]) - 5
