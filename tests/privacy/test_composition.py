import math
from fractions import Fraction
from itertools import product as cartesian

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm
from tests.privacy import conftest as by_hand

from discreet.errors import InfeasibleDesign
from discreet.noise.families.rounded_normal import rounded_normal
from discreet.noise.table import NoiseRow, NoiseTable
from discreet.privacy import audit, delta, group_bound
from discreet.privacy import composition as many_cells
from discreet.privacy.accounting import distance_to_ideal
from discreet.privacy.audit import delta as exact_delta
from discreet.privacy.composition import gaussian_delta, gaussian_delta_above, gaussian_mu
from discreet.privacy.hockey_stick import Profile

ZERO_STAYS = NoiseTable(
    16, (NoiseRow((0,), (16,)), NoiseRow((-1, 1), (9, 16)), NoiseRow((-1, 0, 1), (4, 12, 16))), family="file"
)


def joint_distribution(table, counts):
    distributions = [by_hand.slow_distribution(table, count) for count in counts]
    return {
        tuple(y for y, _ in cell): math.prod((p for _, p in cell), start=Fraction(1))
        for cell in cartesian(*(distribution.items() for distribution in distributions))
    }


def slow_joint_delta(table, changes, epsilon):
    """Enumerate all counts and all joint outputs: cells that rise by one and cells that fall by one."""
    worst = Fraction(0)
    for counts in cartesian(range(len(table.rows) + 1), repeat=len(changes)):
        pairs = list(zip(counts, changes, strict=True))
        here = joint_distribution(table, [c + (change < 0) for c, change in pairs])
        there = joint_distribution(table, [c + (change > 0) for c, change in pairs])
        worst = max(worst, by_hand.slow_delta(here, there, epsilon), by_hand.slow_delta(there, here, epsilon))
    return worst


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.0, 3.0])
@pytest.mark.parametrize(
    ("changes", "wish"), [((1, 1), {"cells": 2}), ((1, -1), {"neighbours": "replace-one"})]
)
def test_two_cells_and_replace_one_equal_the_enumeration_of_all_joint_outputs(epsilon, changes, wish):
    slow = slow_joint_delta(ZERO_STAYS, changes, epsilon)
    assert abs(delta(ZERO_STAYS, epsilon=epsilon, **wish) - slow) <= slow / 10**30


@pytest.mark.parametrize(("epsilon", "m", "d"), [(1.0, 6, 2), (0.9, 5, 3), (2.0, 7, 4)])
def test_truncated_laplace_in_overlapping_cells_has_the_corrected_delta_of_theorem_4_2(epsilon, m, d):
    table = by_hand.laplace(epsilon / d, m)
    p_m = float(table.rows[0].probabilities()[m])
    overlapping = delta(table, epsilon=epsilon + 1e-12, cells=d)
    assert float(overlapping) == pytest.approx(1 - (1 - p_m) ** d, rel=1e-9)
    assert float(overlapping) > p_m  # the pointwise bound as printed is too small


@pytest.mark.parametrize("d", [1, 2])
def test_replace_one_doubles_both_epsilon_and_the_number_of_cells(d):
    table = by_hand.laplace(1.0 / d, 6)
    p_m = float(table.rows[0].probabilities()[6])
    both = delta(table, epsilon=2.0 + 1e-12, neighbours="replace-one", cells=d)
    assert float(both) == pytest.approx(1 - (1 - p_m) ** (2 * d), rel=1e-9)


def test_where_not_all_combinations_are_tried_the_result_is_an_upper_bound_and_says_so(monkeypatch):
    exact = audit(ZERO_STAYS, epsilon=0.5, neighbours="replace-one")
    monkeypatch.setattr(many_cells, "LARGEST_WORK", 1)
    many_cells.compose.cache_clear()
    bound = audit(ZERO_STAYS, epsilon=0.5, neighbours="replace-one")
    many_cells.compose.cache_clear()
    assert exact.exact
    assert not bound.exact
    assert bound.delta >= exact.delta


masses = st.lists(st.tuples(st.integers(0, 500), st.integers(0, 500)), min_size=8, max_size=40)


@pytest.mark.slow
@given(masses, st.floats(0, 3), st.integers(2, 12))
@settings(max_examples=200, deadline=None)
def test_coarsening_never_lowers_a_divergence_and_keeps_all_keys(some, epsilon, most):
    coarse = many_cells.coarsen(list(some), most=most)
    total = max(1, sum(p for p, _ in some))
    for side in (0, 1):
        assert sum(each[side] for each in coarse) == sum(each[side] for each in some)
        assert all(each[side] >= 0 for each in coarse)
    assert len(coarse) <= most + 4
    turned = ([(q, p) for p, q in each] for each in (coarse, some))
    for fine, rough in ((some, coarse), reversed(list(turned))):
        assert Profile.of(rough, total).delta(epsilon) >= Profile.of(fine, total).delta(epsilon)


def test_a_coarsened_product_is_an_upper_bound_within_a_thousandth(monkeypatch):
    table = by_hand.normal(1.0, 8, modulus=2**32)
    exact = [delta(table, epsilon=e, cells=3) for e in (0.5, 1.5, 2.5)]
    monkeypatch.setattr(many_cells, "MOST_OUTPUTS", 100)
    many_cells.compose.cache_clear()
    bounds = [audit(table, epsilon=e, cells=3) for e in (0.5, 1.5, 2.5)]
    many_cells.compose.cache_clear()
    assert not any(bound.exact for bound in bounds)
    for truth, bound in zip(exact, bounds, strict=True):
        assert truth <= bound.delta <= truth * Fraction(1001, 1000)


@given(st.floats(0, 2))
@settings(max_examples=50, deadline=None)
def test_a_group_is_never_worse_than_the_generic_bound_says(epsilon):
    single = delta(ZERO_STAYS, epsilon=epsilon)
    together = delta(ZERO_STAYS, epsilon=2 * epsilon, group=2)
    assert float(together) <= group_bound(single, epsilon=epsilon, group=2) * (1 + 1e-12)


def test_the_generic_group_bound_survives_zero_and_overflow():
    assert group_bound(Fraction(1, 8), epsilon=0, group=3) == 0.375
    assert group_bound(Fraction(1, 8), epsilon=1e6, group=3) == math.inf
    assert group_bound(Fraction(0), epsilon=1e6, group=3) == 0


@pytest.mark.parametrize(("mu", "epsilon"), [(0.3, 0.1), (1.0, 1.0), (1.0, 3.0), (4.0, 2.0)])
def test_delta_is_the_integral_of_the_positive_part(mu, epsilon):
    start = epsilon / mu + mu / 2
    slow, _ = quad(
        lambda x: norm.pdf(x - mu) - math.exp(epsilon) * norm.pdf(x), start, start + 40, epsabs=1e-14
    )
    assert gaussian_delta(mu, epsilon) == pytest.approx(slow, rel=1e-8)


@settings(max_examples=100, deadline=None)
@given(st.floats(0.01, 20), st.floats(-12, -1))
def test_mu_never_exceeds_its_delta_and_wastes_nothing(epsilon, log_delta):
    delta = 10**log_delta
    mu = gaussian_mu(epsilon, delta)
    assert gaussian_delta(mu, epsilon) <= delta
    assert gaussian_delta(mu * (1 + 1e-9), epsilon) > delta * (1 - 1e-12)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 1e-6), (math.inf, 1e-6), (1.0, 0.0), (1.0, 1.0), (1.0, -0.1)]
)
def test_budgets_that_mean_nothing_are_refused(epsilon, delta):
    with pytest.raises(InfeasibleDesign):
        gaussian_mu(epsilon, delta)


@pytest.mark.parametrize("mu", [0.3, 1e-3, 1e-5, 1.4315147116355814e-06])
def test_a_claim_is_above_the_integral_for_noise_however_wide(mu):
    """The difference of two nearly equal numbers loses digits. Wrong alternative: 1e-9 more, whatever μ is."""
    for kink in (0.0, 2.0, 4.7, 6.0126):
        epsilon = (kink + mu / 2) * mu
        distribution, _ = quad(
            lambda x, kink=kink: norm.pdf(kink + x) * -math.expm1(-mu * x), 0, 12, epsabs=0, epsrel=1e-12
        )
        assert distribution * (1 - 1e-10) <= gaussian_delta_above(mu, epsilon) <= distribution * (1 + 1e-5)


def test_the_gaussian_curve_bounds_a_shipped_rounded_normal():
    """Exact audit of the integers against the trade-off; a mu that is 1 % too small does not bound it."""
    V = 9.0
    table = rounded_normal(V)
    close = 0
    for epsilon in np.linspace(0.05, 2.0, 40):
        exact = float(exact_delta(table, epsilon=float(epsilon)))
        assert exact <= gaussian_delta_above(1 / 3, float(epsilon)) + 4 * float(distance_to_ideal(table))
        close += exact > gaussian_delta_above(0.99 / 3, float(epsilon))
    assert close > 0


def test_delta_bounds_an_excess_and_not_how_often_the_ratio_passes_e_to_epsilon():
    """Gaussian noise at (.5, .05): a shown number is that telling in more than a fifth of cases, not in a twentieth."""
    epsilon, delta = 0.5, 0.05
    mu = gaussian_mu(epsilon, delta)
    assert gaussian_delta(mu, epsilon) == pytest.approx(delta)
    beyond = norm.sf((epsilon - mu**2 / 2) / mu)  # the log-ratio is normal with mean mu²/2 and variance mu²
    assert beyond == pytest.approx(0.2204, abs=1e-4)
    other = norm.sf((epsilon + mu**2 / 2) / mu)
    assert beyond - math.exp(epsilon) * other == pytest.approx(delta)
