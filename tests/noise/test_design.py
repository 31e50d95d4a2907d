from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import InfeasibleDesign
from discreet.noise.design import (
    least_delta,
    least_variance,
    require_delta,
    require_epsilon,
    require_width,
    smallest_width,
    symmetric_delta,
    symmetric_moment,
)
from discreet.noise.families.abs import abs_guide


def equation_21(D, gamma, epsilon):
    """Proposition 2 as printed, with its floor and its two cases."""
    C = 1 / (2 * sum(math.exp(-gamma * z * z) for z in range(1, D + 1)) + 1)
    star = math.floor(0.5 - epsilon / (2 * gamma))
    extra = sum(
        math.exp(-gamma * z * z) - math.exp(epsilon) * math.exp(-gamma * (z - 1) ** 2)
        for z in range(-D + 1, star + 1)
    )
    return C * math.exp(-gamma * D * D) + C * extra


@settings(max_examples=100, deadline=None)
@given(D=st.integers(1, 25), gamma=st.floats(0.001, 1), epsilon=st.floats(0.01, 4))
def test_equation_21_is_the_hockey_stick_divergence(D, gamma, epsilon):
    assert symmetric_delta(D, gamma, epsilon) == pytest.approx(equation_21(D, gamma, epsilon), rel=1e-9)


@pytest.mark.parametrize("D", [11, 15])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_the_least_delta_is_not_above_the_papers_fine_grid(D, epsilon):
    grid = [symmetric_delta(D, gamma, epsilon) for gamma in np.arange(0.0001, 0.3, 0.0001)]
    assert least_delta(epsilon, D).delta <= min(grid) * (1 + 1e-12)
    assert least_delta(epsilon, D).delta == pytest.approx(min(grid), rel=1e-2)


def test_the_analytic_choice_is_up_to_half_above_the_least_delta():
    """Eq. 29 against the minimum over γ, for the two supports of Figure 2."""
    excess = [
        symmetric_delta(D, epsilon / (2 * D - 1), epsilon) / least_delta(epsilon, D).delta - 1
        for D in (11, 15)
        for epsilon in np.arange(0.1, 2.55, 0.1)
    ]
    assert min(excess) >= -1e-12
    assert max(excess) == pytest.approx(0.49, abs=0.02)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-4), (1.0, 1e-3), (2.0, 1e-6)])
def test_the_least_variance_keeps_delta_with_less_noise_than_the_guide(epsilon, delta):
    guide = abs_guide(epsilon, delta)
    frugal = least_variance(epsilon, delta, guide.D)
    assert frugal.delta <= delta
    assert frugal.V < guide.V
    assert symmetric_delta(guide.D, frugal.gamma * 1.001, epsilon) > delta
    assert pytest.approx(symmetric_moment(frugal.D, frugal.gamma)) == frugal.V


def test_a_delta_below_the_least_of_its_support_is_refused():
    with pytest.raises(InfeasibleDesign, match="its least"):
        least_variance(0.5, 1e-9, 5)


def test_the_guide_needs_delta_or_the_support():
    with pytest.raises(InfeasibleDesign, match="not both"):
        abs_guide(0.5)
    assert abs_guide(0.5, D=25).delta == abs_guide(0.5, 1e-4).delta


def test_a_design_becomes_a_table():
    best = least_delta(0.5, 25)
    row = best.ideal().last
    assert row.variance() == pytest.approx(best.V)


def test_a_huge_epsilon_leaves_the_end_probability():
    assert symmetric_delta(5, 0.1, 1e6) == pytest.approx(equation_21(5, 0.1, 2.0), rel=1e-12)


@given(least=st.integers(1, 500), limit=st.integers(500, 2000))
def test_the_search_finds_the_smallest_width(least, limit):
    assert smallest_width(lambda width: width >= least, limit=limit, wish="this") == least


def test_the_search_reaches_its_limit_and_says_where_it_gave_up():
    assert smallest_width(lambda width: width >= 100, limit=100, wish="this") == 100
    with pytest.raises(InfeasibleDesign, match="this needs changes beyond ±100"):
        smallest_width(lambda width: width > 100, limit=100, wish="this")


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan])
def test_an_epsilon_that_is_no_loss_is_refused(epsilon):
    with pytest.raises(InfeasibleDesign, match="epsilon"):
        require_epsilon(epsilon)


@pytest.mark.parametrize("delta", [0, 1, -0.1, math.nan])
def test_a_delta_that_is_no_probability_is_refused(delta):
    with pytest.raises(InfeasibleDesign, match="delta"):
        require_delta(delta)


@pytest.mark.parametrize("width", [0, 100_001])
def test_a_width_that_no_table_holds_is_refused_by_name(width):
    with pytest.raises(InfeasibleDesign, match=f"D = {width}"):
        require_width("D", width)
