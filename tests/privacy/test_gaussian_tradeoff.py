from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.stats import norm

from discreet.errors import InfeasibleDesign
from discreet.noise.families.rounded_normal import rounded_normal
from discreet.privacy.accounting import distance_to_ideal, zcdp_delta
from discreet.privacy.audit import delta as exact_delta
from discreet.privacy.gaussian_tradeoff import gaussian_delta, gaussian_delta_above, gaussian_mu, total_mu


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
        law, _ = quad(
            lambda x, kink=kink: norm.pdf(kink + x) * -math.expm1(-mu * x), 0, 12, epsabs=0, epsrel=1e-12
        )
        assert law * (1 - 1e-10) <= gaussian_delta_above(mu, epsilon) <= law * (1 + 1e-5)


def test_no_noise_at_all_loses_nothing_when_nothing_moves():
    assert gaussian_delta(0.0, 1.0) == 0.0


def test_the_gaussian_curve_is_the_known_one():
    for mu, epsilon in ((0.3, 0.1), (1.0, 1.0), (2.0, 4.0), (0.05, 0.2)):
        direct = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(
            -mu / 2 - epsilon / mu
        )
        assert gaussian_delta_above(mu, epsilon) == pytest.approx(direct, rel=1e-6, abs=1e-15)
        assert gaussian_delta_above(mu, epsilon) >= direct * (1 - 1e-12) or direct < 1e-14
    assert total_mu([2.0, 2.0], changes=2) == pytest.approx(math.sqrt(2))
    assert (gaussian_delta_above(0.0, 1.0), zcdp_delta(0.0, 1.0)) == (0.0, 0.0)


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
