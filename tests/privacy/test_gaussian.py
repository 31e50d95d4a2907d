from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from discreet.errors import InfeasibleDesign
from discreet.privacy.gaussian import gaussian_delta, gaussian_mu


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


def test_no_noise_at_all_loses_nothing_when_nothing_moves():
    assert gaussian_delta(0.0, 1.0) == 0.0
