"""Noise of their own at the figure that is claimed."""

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.model.dataset_toml import parse_dataset
from discreet.model.declared_dp import declared_dp
from discreet.protect.calibrate import WITHIN, calibrate
from discreet.protect.plan import make_plan
from discreet.protect.tightest import figures


def plan_of(description, noise, **terms):
    dataset = parse_dataset(description)
    stated, universe = declared_dp(dataset)
    stated = replace(stated, answer_cost=Fraction(0), **terms)
    return make_plan(dataset, universe, stated, noise)


def claim(plan):
    return min(figure.epsilon for figure in figures(plan).values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "spread"), [("laplace", "equal"), ("laplace", "optimised"), ("gaussian", "equal")]
)
def test_what_is_claimed_is_what_was_granted(private_description, family, spread):
    """Wrong alternative: shares that add up to epsilon, of which a part is never used."""
    pytest.importorskip("dp_accounting")
    before = plan_of(private_description, {"family": family}, spread=spread, epsilon=Fraction(1))
    plan = plan_of(
        private_description, {"family": family}, spread=spread, epsilon=Fraction(1), calibrate=True
    )
    assert 1 - WITHIN <= claim(plan) <= 1
    assert claim(before) < claim(plan) or claim(before) >= 1 - WITHIN
    spread_before, spread_now = (max(each.variances().values()) for each in (before, plan))
    assert spread_now <= spread_before


def test_pure_epsilon_has_nothing_to_gain(private_description):
    plans = [
        plan_of(private_description, {"family": "laplace"}, delta=Fraction(0), calibrate=each)
        for each in (True, False)
    ]
    assert plans[0].tables == plans[1].tables


def test_a_claim_that_never_comes_near_leaves_the_last_plan_within_epsilon(private_description):
    plan = plan_of(private_description, {"family": "laplace"}, epsilon=Fraction(1))
    asked = []

    def plan_at(times):
        asked.append(times)
        return plan

    assert calibrate(plan_at) is plan
    assert len(asked) <= 9
