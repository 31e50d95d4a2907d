"""Theorem 7.1 and its corrections: many tables add up exactly, and one kind of table has its own delta."""

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.noise import laplace
from discreet.privacy.audit import delta as exact_delta
from discreet.privacy.composition_basic import Spent, basic, one_kind, table_delta

ORACLE = json.loads((Path(__file__).parents[1] / "oracles" / "dp.json").read_text())


def p_end(epsilon, m):
    """Rinott's p(m): e^(-eps m) / C_m."""
    return math.exp(-epsilon * m) / sum(math.exp(-epsilon * abs(z)) for z in range(-m, m + 1))


def test_theorem_7_1_adds_up_exactly():
    one, two = laplace(epsilon=0.5, m=20, modulus=2**64), laplace(epsilon=0.25, m=30, modulus=2**64)
    epsilon, delta = basic([Spent(one, 0.5, 2), Spent(two, 0.25, 3)])
    assert epsilon == Fraction(7, 4)
    assert delta == 2 * exact_delta(one, epsilon=0.5) + 3 * exact_delta(two, epsilon=0.25)
    assert float(delta) == pytest.approx(2 * p_end(0.5, 20) + 3 * p_end(0.25, 30), rel=1e-9)


def test_replace_one_costs_twice_and_its_pair_is_exact_where_it_is_quick():
    """The oracle's correction: (2 eps, 1 - (1 - p(m))^2) for one table."""
    table = laplace(epsilon=1.0, m=10, modulus=2**64)
    epsilon, delta = basic([Spent(table, 1.0)], changes=2)
    assert epsilon == 2
    assert float(delta) == pytest.approx(1 - (1 - p_end(1.0, 10)) ** 2, rel=1e-9)
    wide = laplace(epsilon=0.05, m=400, modulus=2**64)
    bound = table_delta(wide, 0.05, changes=2)
    assert bound == 2 * exact_delta(wide, epsilon=0.05)
    assert float(bound) >= -math.expm1(2 * math.log1p(-p_end(0.05, 400))) * (1 - 1e-9)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_one_kind_of_table_composes_to_the_corrected_delta(d):
    """With d overlapping cells at eps/d, delta is 1 - (1 - p(m))^d, not p(m) (Theorem 4.2 as printed)."""
    table = laplace(epsilon=1.0 / d, m=8, modulus=2**64)
    corrected = 1 - (1 - p_end(1.0 / d, 8)) ** d
    found = one_kind([Spent(table, 1.0 / d, d)], 1, Fraction(corrected * (1 + 1e-6)))
    assert found == pytest.approx(1.0, abs=1e-5)
    if d > 1:
        assert one_kind([Spent(table, 1.0 / d, d)], 1, Fraction(p_end(1.0 / d, 8))) == math.inf


def test_kinds_that_are_too_many_or_too_wide_are_left_to_others():
    wide = laplace(epsilon=0.1, modulus=2**64)
    assert one_kind([Spent(wide, 0.1)], 1, Fraction(1, 10**9)) is None
    narrow = laplace(epsilon=1.0, m=5)
    assert one_kind([Spent(narrow, 1.0, 9)], 1, Fraction(1, 10)) is None
    assert one_kind([Spent(narrow, 1.0), Spent(narrow, 2.0)], 1, Fraction(1, 10)) is None


def test_printed_deltas_of_the_paper_come_out():
    for case in ORACLE["rinott_delta"]:
        table = laplace(epsilon=case["epsilon"], m=case["m"], modulus=2**64)
        assert float(table_delta(table, case["epsilon"])) == pytest.approx(case["delta"], rel=1e-4)
