from __future__ import annotations

import numpy as np
import pytest

from discreet.assess.averaging_factor import averaging_factor
from discreet.model.request import TableRequest

#: Of the comparison of a variance with the variance that the factor promises.
FALSE_ALARM = 1e-4


@pytest.fixture(scope="module")
def stored(town_workspace):
    return town_workspace.stored("town")


def test_the_factor_is_worked_by_hand(stored):
    """Sex in tables of up to three variables beside geography: age 3, job 4, and region 2 or area 5."""
    found = averaging_factor(stored, TableRequest("town", rows=("sex",)))
    beside = 1 + 1 / 3 + 1 / 4 + 1 / 12
    assert found.factor == pytest.approx(beside * (1 + 1 / 2 + 1 / 5))
    assert found.tables == 4 * 3


def test_a_finer_level_counts_per_area_and_a_coarser_one_adds_nothing(stored):
    region = averaging_factor(stored, TableRequest("town", rows=("region", "sex", "age", "job")))
    assert region.factor == pytest.approx(1 + 2 / 5)
    area = averaging_factor(stored, TableRequest("town", rows=("area", "sex", "age", "job")))
    assert (area.factor, area.tables) == (1, 1)


def test_a_filter_uses_up_a_variable(stored):
    request = TableRequest("town", rows=("sex",), filters=(("age", ("adult",)),))
    assert averaging_factor(stored, request).factor == pytest.approx((1 + 1 / 4) * (1 + 1 / 2 + 1 / 5))


def test_rules_that_forbid_tables_lower_the_factor(town, tmp_path):
    rule = '\n[[rule]]\nkind = "max-variables"\nmost = 1\n'
    stored = town.load(tmp_path / "strict", town.description + rule).stored("town")
    found = averaging_factor(stored, TableRequest("town", rows=("sex",)))
    assert found.factor == pytest.approx(1 + 1 / 2 + 1 / 5)


def test_best_weights_reach_the_variance_that_the_factor_promises():
    """Sums of 1, 3, 4 and 12 noises weighted by 1/K: their mean has variance V / (1 + 1/3 + 1/4 + 1/12)."""
    rng, cells = np.random.default_rng(6), np.array([1, 3, 4, 12])
    sums = np.array([rng.normal(0, 1, (40_000, k)).sum(axis=1) for k in cells])
    weights = (1 / cells) / (1 / cells).sum()
    variance, promised = (weights @ sums).var(), 1 / (1 / cells).sum()
    spread = 3.9 * promised * np.sqrt(2 / 40_000)
    assert abs(variance - promised) < spread
    assert (sums.mean(axis=0)).var() > promised + spread  # plain averaging gains less
