"""Measures of perturbed tables against the formula as the papers print it, cell by cell."""

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from discreet_studies.measures import entropy_risk, hellinger_distance, losses, pearson

COUNTS = st.lists(st.integers(0, 40), min_size=6, max_size=6).filter(lambda c: sum(c) > 0 and max(c) < sum(c))


def slow_risk(a, b):
    """RM by the paper's three sums, with log 0 as 0."""

    def log0(x):
        return log(x) if x > 0 else 0.0

    n, m = sum(a), sum(b)
    a, b, n = [x * m for x in a], [x * n for x in b], n * m
    low = [min(x, y) for x, y in zip(a, b, strict=True)]
    missing = n - sum(low)
    kept = sum(k / n * log0(k / y) for k, y in zip(low, b, strict=True) if y)
    lost = sum((x - k) / n * log0((x - k) / missing) for x, k in zip(a, low, strict=True) if missing)
    added = sum((y - k) / n * log0((y - k) / y) for y, k in zip(b, low, strict=True) if y)
    entropy = -sum(x / n * log0(x / n) for x in a)
    return 1 + (kept + lost + added) / entropy


@given(COUNTS, COUNTS)
@settings(deadline=None, max_examples=100)
def test_the_risk_measure_is_the_papers_formula(a, b):
    assert entropy_risk([a], [b])[0] == pytest.approx(slow_risk(a, b), abs=1e-9)


@given(COUNTS)
@settings(deadline=None, max_examples=30)
def test_an_unchanged_table_has_the_greatest_risk_and_no_distance(a):
    assert entropy_risk([a], [a])[0] == pytest.approx(1.0)
    assert hellinger_distance([a], [a])[0] == 0
    assert all(loss[0] == 0 for loss in losses([a], [a]).values())


def test_pearsons_statistic_is_scipys():
    rng = np.random.default_rng(3)
    tables = rng.poisson(20, (5, 4, 6))
    found = pearson(tables)
    for table, x2, df, p in zip(tables, found.pearson, found.df, found.p_value, strict=True):
        expected = chi2_contingency(table, correction=False)
        assert (x2, df, p) == pytest.approx((expected.statistic, expected.dof, expected.pvalue))


def test_empty_rows_and_columns_do_not_count():
    table = np.array([[8, 4, 0], [3, 9, 0], [0, 0, 0]])
    found, small = pearson(table[None]), pearson(table[None, :2, :2])
    assert found.df.tolist() == [1]
    assert found.association == pytest.approx(small.association)


def test_distances_by_hand():
    a, b = [4, 9, 0], [1, 16, 4]
    assert hellinger_distance([a], [b])[0] == pytest.approx(sqrt((1 + 1 + 4) / 2))
    assert {k: v[0] for k, v in losses([a], [b]).items()} == {"l1": 14, "l2": 9 + 49 + 16, "l3": 1 + 1 + 2}
