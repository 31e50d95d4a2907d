"""Claims for invariants, summed up: every pair of tiny datasets that may be neighbours, every outcome of the release.

Two regions, two sexes and three persons make 64 datasets. A release under `own` is the exact totals by region and every
other declared table with the noise that ships; its distribution is a product, so the hockey-stick divergence is a sum.
"""

import math
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np
import pytest

from discreet.margins.integer_noise import gaussian_tables
from discreet.margins.residual_space import ResidualSpace, flat_attribute
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.privacy_budget import parse_terms
from discreet.model.universe import dp_terms
from discreet.noise import laplace
from discreet.protect.best_composition import figures
from discreet.protect.joint_plan import JointPlan, Residual
from discreet.protect.plan import make_plan

DESCRIPTION = """
id = "town"
label = "A town"
id_column = "person"
[[variable]]
name = "region"
categories = ["N", "S"]
[[variable]]
name = "sex"
categories = ["1", "2"]
[protection]
method = "dp"
[protection.noise]
family = "laplace"
m = 6
[protection.universe]
variables = ["region", "sex"]
margins = "own"
[protection.budget]
name = "town"
epsilon = 8.0
delta = 1e-3
cap_epsilon = 8.0
cap_delta = 0.1
neighbours = "replace-one"
invariants = ["region"]
calibrate = false
"""
CELLS = list(product(range(2), range(2)))
PERSONS = 3


@pytest.fixture(scope="module")
def plan():
    dataset = parse_dataset(DESCRIPTION)
    terms, universe = dp_terms(dataset)
    return make_plan(dataset, universe, terms, dataset.protection.noise)


def counts(people, margin):
    """The true counts of a margin, in a fixed order."""
    axes = [("region", "sex").index(name) for name in margin]
    found = np.zeros((2,) * len(axes), dtype=int)
    for person in people:
        found[tuple(person[axis] for axis in axes)] += 1
    return tuple(found.ravel().tolist())


def differences(people, others, plan):
    """By how much each noised cell of two datasets differs, where it does: (noise table, difference)."""
    return tuple(
        (table.noise, b - a)
        for table in plan.tables
        for a, b in zip(counts(people, table.margin), counts(others, table.margin), strict=True)
        if a != b
    )


@lru_cache
def hockey_stick(changed, epsilon):
    """H_ε of the product of the distributions of the changed cells, losses in steps of 1e-5; the others drop out."""
    losses = {0.0: 1.0}  # privacy loss: probability under the first dataset
    impossible = 0.0  # under the second
    for noise, shift in changed:
        distribution = {z: float(p) for z, p in noise.rows[0].probabilities().items()}
        more: dict[float, float] = {}
        never = 0.0
        for z, p in distribution.items():
            q = distribution.get(z - shift, 0.0)
            if q == 0.0:
                never += p
                continue
            for loss, mass in losses.items():
                key = round(loss + math.log(p / q), 5)
                more[key] = more.get(key, 0.0) + mass * p
        impossible = impossible + never * sum(losses.values())
        losses = more
    return impossible + sum(
        max(0.0, mass * -math.expm1(epsilon - loss)) for loss, mass in losses.items() if loss > epsilon
    )


def neighbours(held):
    """All pairs of datasets that differ in the record of one person, who stays in the region if that is held."""
    for people in product(CELLS, repeat=PERSONS):
        for cell in CELLS:
            others = (cell, *people[1:])
            if cell != people[0] and (cell[0] == people[0][0] or not held):
                yield people, others


def largest(plan, epsilon, *, held):
    """The largest H_ε over all neighbours; 1 where a number that is released exactly differs."""
    found = 0.0
    for people, others in neighbours(held):
        if any(counts(people, each.margin) != counts(others, each.margin) for each in plan.universe.known):
            return 1.0
        found = max(found, hockey_stick(differences(people, others, plan), epsilon))
    return found


@pytest.mark.slow
def test_the_claim_holds_for_every_pair_of_neighbours_that_agree_on_the_totals(plan):
    """Wrong alternatives: neighbours that leave their region; the epsilon of one changed cell; one table uncharged."""
    assert [table.margin for table in plan.tables] == [("sex",), ("region", "sex")]
    figure = figures(plan)["basic"]
    assert largest(plan, float(figure.epsilon), held=True) <= float(figure.delta) + 1e-12
    assert figure.epsilon <= 8
    assert largest(plan, float(figure.epsilon), held=False) == 1.0
    assert largest(plan, float(figure.epsilon) / 2, held=True) > 0.1
    assert largest(plan, 0.95 * float(figure.epsilon), held=True) > float(plan.terms.delta)


def joint_delta(noise, grid, epsilon):
    """H_ε of what is kept of two residuals, when a person of one region changes sex: each contrast moves by 2 counts.

    Sex keeps the difference of two noises, region by sex that of two differences: of four.
    """
    single, shift = np.array([float(p) for _, p in sorted(noise.rows[0].probabilities().items())]), 2 * grid
    two = np.convolve(single, single)
    kept = [np.pad(each, shift) for each in (two, np.convolve(two, two))]
    moved = np.outer(*(np.roll(each, shift) for each in kept))
    return float(np.maximum(np.outer(*kept) - math.exp(epsilon) * moved, 0).sum())


def joint_plan(noise, grid, held):
    space = ResidualSpace((flat_attribute(2), flat_attribute(2)), ((1, 1),), "replace-one", held)
    parts = {(0, 0): (), (1, 0): ("region",), (0, 1): ("sex",), (1, 1): ("region", "sex")}
    residuals = tuple(Residual(parts[part], part, grid, noise if part[1] else None) for part in space.parts)
    return JointPlan((("region",), ("sex",)), space, residuals)


def test_the_claim_of_residuals_within_a_region_holds_and_is_tight():
    """Wrong alternatives: three per cent less; and totals by region without noise though persons may move."""
    ((_, noise),) = gaussian_tables(9.0)
    plan = joint_plan(noise, 5, (1, 0))
    budget = {"name": "b", "epsilon": 6, "cap_epsilon": 6, "delta": 0.001, "neighbours": "replace-one"}
    terms = parse_terms({**budget, "invariants": ["region"]})
    assert plan.loss(terms) == Fraction(3) / plan.residuals[-1].variance  # 2 of sex and 1 of region by sex
    epsilon, delta = plan.epsilon(terms, 1e-3)
    assert joint_delta(noise, 5, epsilon) <= delta <= 1e-3
    assert joint_delta(noise, 5, 0.97 * epsilon) > 1e-3
    with pytest.raises(ValueError, match="equal for all neighbours"):
        joint_plan(noise, 5, (0, 0))


def test_the_sum_knows_a_divergence_that_is_known():
    """Laplace noise cut at m: the divergence of one changed cell at its epsilon is what is cut off."""
    noise = laplace(epsilon=0.5, m=6)
    edge = float(noise.rows[0].probabilities()[6])
    assert hockey_stick(((noise, 1),), 0.5 + 1e-6) == pytest.approx(edge, rel=1e-3)
