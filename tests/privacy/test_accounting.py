"""Composition, zCDP and loss distributions agree with the exact audit; the distance of shipped tables to the ideal."""

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import BadRequest, MissingExtra
from discreet.noise import gaussian, laplace
from discreet.noise.families import build
from discreet.noise.families.rounded_normal import rounded_normal
from discreet.privacy.accounting import (
    ALLOWANCE,
    LossDistribution,
    TableCost,
    add_distance,
    basic_composition,
    distance_to_ideal,
    ideal_rho,
    rho_for,
    same_table_epsilon,
    table_delta,
    zcdp_delta,
)
from discreet.privacy.audit import delta as exact_delta
from discreet.privacy.audit import epsilon as exact_epsilon
from discreet.privacy.composition import gaussian_delta_above


def p_end(epsilon, m):
    """Rinott's p(m): e^(-eps m) / C_m."""
    return math.exp(-epsilon * m) / sum(math.exp(-epsilon * abs(z)) for z in range(-m, m + 1))


def test_theorem_7_1_adds_up_exactly():
    one, two = laplace(epsilon=0.5, m=20, modulus=2**64), laplace(epsilon=0.25, m=30, modulus=2**64)
    epsilon, delta = basic_composition([TableCost(one, 0.5, 2), TableCost(two, 0.25, 3)])
    assert epsilon == Fraction(7, 4)
    assert delta == 2 * exact_delta(one, epsilon=0.5) + 3 * exact_delta(two, epsilon=0.25)
    assert float(delta) == pytest.approx(2 * p_end(0.5, 20) + 3 * p_end(0.25, 30), rel=1e-9)


def test_replace_one_costs_twice_and_its_pair_is_exact_where_it_is_quick():
    """The oracle's correction: (2 eps, 1 - (1 - p(m))^2) for one table."""
    table = laplace(epsilon=1.0, m=10, modulus=2**64)
    epsilon, delta = basic_composition([TableCost(table, 1.0)], changes=2)
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
    found = same_table_epsilon([TableCost(table, 1.0 / d, d)], 1, Fraction(corrected * (1 + 1e-6)))
    assert found == pytest.approx(1.0, abs=1e-5)
    if d > 1:
        assert same_table_epsilon([TableCost(table, 1.0 / d, d)], 1, Fraction(p_end(1.0 / d, 8))) == math.inf


def test_kinds_that_are_too_many_or_too_wide_are_left_to_others():
    wide = laplace(epsilon=0.1, modulus=2**64)
    assert same_table_epsilon([TableCost(wide, 0.1)], 1, Fraction(1, 10**9)) is None
    narrow = laplace(epsilon=1.0, m=5)
    assert same_table_epsilon([TableCost(narrow, 1.0, 9)], 1, Fraction(1, 10)) is None
    assert same_table_epsilon([TableCost(narrow, 1.0), TableCost(narrow, 2.0)], 1, Fraction(1, 10)) is None


@pytest.mark.parametrize(
    "table", [laplace(epsilon=0.5, m=9, modulus=2**32), gaussian(V=9.0, m=12, modulus=2**32)]
)
@pytest.mark.parametrize("epsilon", [0.2, 0.5, 1.0, 2.0])
def test_the_ideal_delta_and_distance_bound_the_shipped_table(table, epsilon):
    """Truncated tables have infinite zCDP; without e^epsilon on one distance the bound would not be proved."""
    shipped = float(exact_delta(table, epsilon=epsilon))
    assert shipped <= add_distance(
        zcdp_delta(ideal_rho(table), epsilon), epsilon, 1, distance_to_ideal(table)
    )


@pytest.mark.slow
@settings(max_examples=40)
@given(st.floats(1e-3, 10), st.floats(1e-12, 0.1))
def test_rho_is_the_largest_that_keeps_epsilon_and_delta(epsilon, delta):
    rho = rho_for(epsilon, delta)
    assert zcdp_delta(rho, epsilon) <= delta < zcdp_delta(rho * (1 + 1e-6), epsilon)
    assert rho + 2 * math.sqrt(rho * math.log(1 / delta)) >= epsilon * (1 - 1e-9)


def test_any_order_gives_a_valid_delta_and_the_best_is_found():
    """The minimum over a fine grid of orders is not below what is returned by more than a hair."""
    for rho, epsilon in ((0.02, 0.7), (0.3, 0.2), (1.0, 12.0), (1e-5, 0.05)):
        orders = 1 + np.geomspace(1e-3, 1e6, 200_000)
        logs = (orders - 1) * (orders * rho - epsilon) - np.log(orders - 1) + orders * np.log1p(-1 / orders)
        assert zcdp_delta(rho, epsilon) == pytest.approx(min(1.0, math.exp(logs.min())), rel=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [lambda: zcdp_delta(-1.0, 1.0), lambda: rho_for(0.0, 0.1), lambda: gaussian_delta_above(1.0, -1.0)],
)
def test_what_is_no_privacy_parameter_is_refused(wrong):
    with pytest.raises(BadRequest):
        wrong()


class TestLossDistribution:
    """The library and our closed forms agree; its grid rounds the loss up, so it is queried a little above."""

    @pytest.mark.parametrize(("epsilon", "m", "d"), [(1.0, 10, 1), (0.25, 12, 4), (0.1, 30, 10)])
    def test_truncated_laplace_has_the_closed_form(self, epsilon, m, d):
        """All losses are +-epsilon or infinite: at the sum of epsilons delta is 1 - (1 - p(m))^d."""
        losses = LossDistribution({laplace(epsilon=epsilon, m=m, modulus=2**64): d})
        closed = 1 - (1 - p_end(epsilon, m)) ** d
        hair = d * 1e-4 + 1e-6
        assert losses.delta(d * epsilon + hair) == pytest.approx(closed, rel=1e-3)
        assert losses.delta(d * epsilon + hair) >= closed

    @pytest.mark.parametrize(
        ("neighbours", "changes", "cells"), [("add-remove", 1, 3), ("replace-one", 2, 1)]
    )
    def test_it_bounds_the_exact_composition_from_above_and_nearly_meets_it(self, neighbours, changes, cells):
        table = laplace(epsilon=0.5, m=14, modulus=2**32)
        losses = LossDistribution({table: cells}, changes=changes, grid=1e-5)
        for epsilon in (0.3, 0.8, 1.2):
            exact = float(exact_delta(table, epsilon=epsilon, neighbours=neighbours, cells=cells))
            assert exact <= losses.delta(epsilon) <= exact + 1e-4
        known = exact_epsilon(table, delta=1e-2, neighbours=neighbours, cells=cells)
        assert losses.epsilon(1e-2) == pytest.approx(known, abs=1e-3)

    def test_no_epsilon_is_claimed_below_what_double_precision_can_tell(self):
        assert LossDistribution({laplace(epsilon=1.0, m=40): 1}).epsilon(ALLOWANCE) == math.inf

    def test_tables_of_many_rows_are_refused(self):
        with pytest.raises(BadRequest, match="one row"):
            LossDistribution({build("maxent", {"D": 5, "V": 3.0}): 1})


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(MissingExtra, match="dp-accounting"):
        LossDistribution({laplace(epsilon=1.0): 1})


def test_the_distance_to_the_ideal_distribution_is_the_mass_that_is_missing():
    """Truncated Laplace: the ideal mass beyond m, and what the table gives too much within."""
    m, epsilon = 3, 1.0
    table = laplace(epsilon=epsilon, m=m, modulus=2**64)
    a = math.exp(-epsilon)
    beyond = 2 * a ** (m + 1) / (1 + a)
    assert float(distance_to_ideal(table)) == pytest.approx(beyond, rel=1e-12)
    z = np.arange(-40, 41)
    normal = np.exp(-z * z / 8) / np.exp(-z * z / 8).sum()
    rounded = stats.norm.cdf((z + 0.5) / 2) - stats.norm.cdf((z - 0.5) / 2)
    cut = gaussian(V=4.0, m=5, modulus=2**64)
    assert float(distance_to_ideal(cut)) == pytest.approx(normal[np.abs(z) > 5].sum(), rel=1e-9)
    for coarse, ideal in ((gaussian(V=4.0, modulus=2**10), normal), (rounded_normal(4.0, 2**10), rounded)):
        shipped = coarse.rows[0].probabilities()
        gap = (
            sum(abs(p - float(shipped.get(value, 0))) for value, p in zip(z.tolist(), ideal, strict=True)) / 2
        )
        assert float(distance_to_ideal(coarse)) == pytest.approx(gap, rel=1e-6)
    assert distance_to_ideal(build("maxent", {"D": 5, "V": 3.0, "symmetric": True})) is None
    assert distance_to_ideal(build("maxent", {"D": 5, "V": 3.0})) is None


def test_a_full_modulus_is_as_good_as_the_ideal():
    for table in (laplace(epsilon=0.3, modulus=2**64), gaussian(V=50.0, modulus=2**64)):
        assert 0 < distance_to_ideal(table) < Fraction(1, 10**16)
    assert distance_to_ideal(rounded_normal(50.0)) < Fraction(1, 10**13)
