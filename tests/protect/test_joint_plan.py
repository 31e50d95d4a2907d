"""The plan of a joint universe: what is claimed is what was granted, and follows from the integers that ship."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import BadDescription
from discreet.margins.integer_noise import gaussian_tables
from discreet.margins.residual_space import Attribute, ResidualSpace, flat_attribute
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.privacy_budget import parse_terms
from discreet.model.universe import dp_terms, parse_universe
from discreet.privacy.accounting import distance_to_ideal
from discreet.privacy.composition import gaussian_delta
from discreet.protect import joint_plan
from discreet.protect.best_composition import figures, with_claim
from discreet.protect.charges import budget_cap, version_cost
from discreet.protect.plan import make_plan, plan_text, read_plan
from discreet.workspace.demo import DEMOS


def plan_of(description, **terms):
    dataset = parse_dataset(description)
    stated, _ = dp_terms(dataset)
    stated = replace(stated, **terms)
    known = parse_universe(
        dataset.protection.universe, dataset, known_total=stated.known_total, held=stated.held
    )
    return dataset, make_plan(dataset, known, stated, dataset.protection.noise)


@pytest.fixture(scope="module")
def joint(joint_town):
    return plan_of(joint_town.description)[1]


GRANTED = {
    "add-remove": {},
    "weak delta": {"delta": Fraction(1, 1000), "cap_delta": Fraction(1, 10)},
    "small epsilon": {"epsilon": Fraction(1, 20)},
    "two records": {"records_per_unit": 2},
    "replace-one": {"neighbours": "replace-one", "invariants": ("n",)},
}


@pytest.mark.parametrize("terms", GRANTED.values(), ids=GRANTED)
def test_what_is_claimed_is_what_was_granted(joint_town, terms):
    """To a thousandth, from below. Wrong alternative: shares that add up, which leave a part of epsilon unused."""
    _, plan = plan_of(joint_town.description, **terms)
    claim = with_claim(plan).claim
    granted = plan.terms.epsilon
    assert granted * Fraction(999, 1000) <= claim.epsilon <= granted
    assert claim.delta <= plan.terms.delta
    assert claim.method == "joint"


def test_a_level_that_is_not_charged_and_a_scale_too_low_break_the_claim(joint):
    """The claim is made of every residual and every scale: one forgotten, or noise 10 % smaller, is another claim."""
    claimed = figures(joint)["joint"].epsilon
    plan = joint.joint
    uncharged = [r.variance if "area" not in r.margin else Fraction(0) for r in plan.residuals]
    charged = [r.variance for r in plan.residuals]
    assert plan.space.cost(uncharged) < Fraction(9, 10) * plan.space.cost(charged)
    sharper = tuple(
        replace(each, noise=gaussian_tables(0.9 * math.sqrt(each.noise.parameters["V"]))[0][1])
        for each in plan.residuals
    )
    low = replace(joint, joint=joint_plan.JointPlan(plan.names, plan.space, sharper))
    assert figures(low)["joint"].epsilon > Fraction(105, 100) * claimed
    assert figures(low)["joint"].epsilon > joint.terms.epsilon


def exact_delta(noise, grid, epsilon):
    """H_ε of two cells that differ by one, each way, summed over what is kept: the difference of the two, and the sum."""
    total = np.array([float(p) for _, p in sorted(noise.rows[0].probabilities().items())])
    difference = np.convolve(total, total[::-1])
    total, difference = (np.pad(each, grid) for each in (total, difference))
    here, there = np.outer(difference, total), np.outer(np.roll(difference, -grid), np.roll(total, grid))
    ways = ((here, there), (there, here))
    return float(max(np.maximum(one - math.exp(epsilon) * other, 0).sum() for one, other in ways))


def two_cells(sigma, grid):
    """The plan of one variable of two categories, and its noise."""
    ((_, noise),) = gaussian_tables(sigma)
    residuals = (joint_plan.Residual((), (0,), grid, noise), joint_plan.Residual(("sex",), (1,), grid, noise))
    space = ResidualSpace((flat_attribute(2),), ((1,),))
    return joint_plan.JointPlan((("sex",),), space, residuals), noise


def test_the_claim_holds_for_the_shipped_integers_summed_up():
    """A universe of one variable of two categories, so small that every outcome is summed: total and difference."""
    plan, noise = two_cells(9.0, 5)
    terms = parse_terms({"name": "b", "epsilon": 4, "cap_epsilon": 4, "delta": 0.001})
    epsilon, delta = plan.epsilon(terms, 1e-3)
    assert exact_delta(noise, 5, epsilon) <= 1e-3
    assert delta <= 1e-3
    assert exact_delta(noise, 5, 0.98 * epsilon) > 1e-3  # wrong alternative: two per cent less
    mu = math.sqrt(plan.loss(terms))
    assert mu == pytest.approx(math.sqrt(1.5) * 5 / 9)
    assert gaussian_delta(mu, epsilon) == pytest.approx(1e-3, rel=0.05)


def test_very_wide_noise_has_a_claim():
    """Wrong alternative: the grid's part of a δ that floats round to zero, at the ε where the search begins."""
    terms = parse_terms({"name": "b", "epsilon": 0.001, "cap_epsilon": 4, "delta": 1e-9})
    epsilon, delta = two_cells(6000.0, 1)[0].epsilon(terms, 1e-9)
    assert gaussian_delta(math.sqrt(1.5) / 6000, epsilon) == pytest.approx(1e-9, rel=0.01)
    assert 0 < delta <= 1e-9


def test_the_cut_of_a_table_is_bounded():
    """Wrong alternative: that tables of keys are the distribution itself."""
    for spread in (8.0, 75.3, 300.0):
        ((_, table),) = gaussian_tables(spread)
        assert 0 < distance_to_ideal(table) <= joint_plan.cut_distance(table)


def test_a_plan_is_read_as_it_was_written(joint_town, joint):
    dataset = parse_dataset(joint_town.description)
    claimed = with_claim(joint)
    again = read_plan(plan_text(claimed), dataset)
    assert again.joint.residuals == joint.joint.residuals
    assert again.claim == claimed.claim
    assert figures(again) == figures(joint)
    assert plan_text(again) == plan_text(claimed)


def test_errors_before_a_plan_are_those_of_the_plan(joint_town, joint):
    dataset = parse_dataset(joint_town.description)
    before = joint_plan.joint_errors(dataset, joint.universe, joint.terms)
    for margin in joint.universe.declared:
        assert before.expected_error(margin) == pytest.approx(joint.joint.errors.expected_error(margin))


def test_the_demo_reaches_its_errors():
    """Expected absolute errors of the shipped plan: at most 11 by tables, and at most 8 planned and averaged by cells."""
    text = DEMOS["census-dp"].description()
    _, plan = plan_of(text)
    errors = [plan.joint.errors.expected_error(margin) for margin in plan.universe.declared]
    assert sum(errors) / len(errors) <= 11
    dataset, by_cells = plan_of(text.replace('margins = "joint"', 'margins = "joint"\nimportance = "cells"'))
    cells = [math.prod(len(dataset.variable(v)) for v in margin) for margin in plan.universe.declared]
    errors = [by_cells.joint.errors.expected_error(margin) for margin in plan.universe.declared]
    assert sum(c * e for c, e in zip(cells, errors, strict=True)) / sum(cells) <= 8


def test_a_budget_in_rho_is_spent_and_not_passed(joint_town):
    text = joint_town.description.replace("answer_cost = 0.5", 'rule = "zcdp"').replace(
        "cap_epsilon = 9.0\ncap_delta = 1e-6", "cap_epsilon = 4.0\ncap_delta = 1e-9"
    )
    _, plan = plan_of(text)
    loss, failure = version_cost(plan)
    cap = budget_cap(plan.terms)
    assert cap[0] * Fraction(999, 1000) <= loss <= cap[0]
    assert failure <= cap[1]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("delta = 1e-9", "delta = 0.0", "delta 0"),
        ('family = "town"', 'family = "town"\nneighbours = "replace-one"', "number of records"),
        ('margins = "joint"', 'margins = "jont"', "jont"),
        ('margins = "joint"', 'margins = "own"\nimportance = "cells"', "not joint"),
        ('margins = "joint"', 'margins = "joint"\nimportance = "rows"', "rows"),
    ],
)
def test_what_cannot_be_joint_is_refused_with_what_to_do(joint_town, old, new, said):
    assert old in joint_town.description
    with pytest.raises(BadDescription, match=said) as refused:
        plan_of(joint_town.description.replace(old, new, 1))
    assert refused.value.advice


def test_a_variable_of_two_hierarchies_is_refused(joint_town):
    other = '[[hierarchy]]\nname = "second"\nlevels = ["region", "area"]\n'
    dataset, _ = plan_of(joint_town.description.replace("[[code_list]]", other + "[[code_list]]", 1))
    assert dataset.hierarchies[1].name == "second"  # the same attribute twice is one attribute
    third = other.replace('"region", "area"', '"sex", "area"').replace("second", "third")
    with pytest.raises(BadDescription):
        plan_of(joint_town.description.replace("[[code_list]]", third + "[[code_list]]", 1))


def test_make_joint_needs_no_share_for_a_public_total(joint_town):
    dataset = parse_dataset(joint_town.description)
    terms, _ = dp_terms(dataset)
    terms = replace(terms, neighbours="replace-one", invariants=("n",))
    known = parse_universe(dataset.protection.universe, dataset, known_total=True)
    plan = joint_plan.make_joint(dataset, known, terms)
    assert plan.by_levels[(0,) * len(plan.names)].noise is None
    assert all(each.noise is not None for each in plan.residuals if each.margin)


def test_one_variable_of_four_categories():
    """A cell is a quarter of the total plus its residual, which is centred: v0 / 16 + v1 (1 - 1/4)."""
    space = ResidualSpace((Attribute((np.zeros(4, dtype=np.int64),)),), ((0,), (1,)), "add-remove")
    errors = joint_plan.JointErrors((("a",),), space, (16.0, 4.0))
    assert errors.of_cells(("a",)) == [(pytest.approx(16 / 16 + 4 * 3 / 4), 4)]
    assert errors.of_cells(()) == [(16.0, 1)]
    assert errors.expected_error(()) == pytest.approx(math.sqrt(2 / math.pi) * 4)
    assert errors.standard_deviation(("a",)) == pytest.approx(2)
    assert errors.most_exact(()) == pytest.approx(math.erf(0.5 / math.sqrt(32)))
