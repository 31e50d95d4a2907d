"""zCDP: from rho to epsilon and back, from the safe side; truncated tables keep the distance to their ideal."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BadRequest
from discreet.noise import gaussian, laplace
from discreet.privacy.audit import delta as exact_delta
from discreet.privacy.composition_zcdp import (
    ideal_rho,
    rho_for,
    with_distance,
    zcdp_delta,
)
from discreet.privacy.distance import distance_to_ideal
from discreet.privacy.gaussian import gaussian_delta_above


@pytest.mark.parametrize(
    "table", [laplace(epsilon=0.5, m=9, modulus=2**32), gaussian(V=9.0, m=12, modulus=2**32)]
)
@pytest.mark.parametrize("epsilon", [0.2, 0.5, 1.0, 2.0])
def test_the_ideal_delta_and_distance_bound_the_shipped_table(table, epsilon):
    """Truncated tables have infinite zCDP; without e^epsilon on one distance the bound would not be proved."""
    shipped = float(exact_delta(table, epsilon=epsilon))
    assert shipped <= with_distance(
        zcdp_delta(ideal_rho(table), epsilon), epsilon, 1, distance_to_ideal(table)
    )


def test_zcdp_of_a_gaussian_is_above_its_exact_curve_and_near_it():
    for rho, epsilon in ((0.01, 0.5), (0.1, 1.5), (0.5, 5.0)):
        exact = gaussian_delta_above(math.sqrt(2 * rho), epsilon)
        assert exact < zcdp_delta(rho, epsilon) < 8 * exact
        loose = math.exp(-((epsilon - rho) ** 2) / (4 * rho))
        assert zcdp_delta(rho, epsilon) < loose


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
    [
        lambda: zcdp_delta(-1.0, 1.0),
        lambda: rho_for(0.0, 0.1),
        lambda: gaussian_delta_above(1.0, -1.0),
    ],
)
def test_what_is_no_privacy_parameter_is_refused(wrong):
    with pytest.raises(BadRequest):
        wrong()
