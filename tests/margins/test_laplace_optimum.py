from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad

from discreet.margins.closure import MarginSet, margin_tables
from discreet.margins.importance import margin_weights, overall_error
from discreet.margins.independent import independent
from discreet.margins.integer_noise import SeededNoise
from discreet.margins.laplace_optimum import _Objective, laplace_optimum

from .conftest import margin_sets, random_counts

#: Chance that a right formula fails its test, for each fixed seed.
FALSE_ALARM = 1e-6
Z = 4.9
SEVEN = MarginSet(tuple("ABCDEFG"), (11, 2, 21, 5, 12, 9, 5), tuple(combinations(range(7), 2)))


@settings(max_examples=20, deadline=None)
@given(margin_sets(), st.integers(0, 1000), st.booleans())
def test_the_gradient_is_that_of_the_objective(wanted, seed, public_total):
    objective = _Objective(wanted, margin_weights(wanted), 1.3, public_total=public_total)
    logs = np.random.default_rng(seed).normal(size=len(objective.parts))
    off = check_grad(lambda x: objective(x)[0], lambda x: objective(x)[1], logs)
    assert off < 1e-4 * (1 + np.linalg.norm(objective(logs)[1]))


@settings(max_examples=15, deadline=None)
@given(margin_sets(variables=(2, 4)), st.sampled_from(["add-remove", "replace-one"]))
def test_the_budget_is_spent_exactly_and_never_worse_than_equally(wanted, neighbours):
    plan = laplace_optimum(wanted, 0.2, neighbours=neighbours)
    each = 1 if neighbours == "add-remove" else 2
    assert sum(each / s for s in plan.scales.values() if s > 0) == pytest.approx(0.2)
    equal = independent(wanted, 0.2, neighbours=neighbours, consistent=True)
    assert overall_error(plan) <= overall_error(equal) * 1.02


def test_all_two_way_margins_of_seven_variables_meet_the_target():
    assert overall_error(laplace_optimum(SEVEN, 1.0)) < 16.9
    assert overall_error(independent(SEVEN, 1.0)) > 20


def test_a_replacement_needs_no_noise_on_the_total():
    plan = laplace_optimum(SEVEN, 1.0, neighbours="replace-one")
    assert plan.noise[()] is None


@pytest.mark.slow
def test_measured_errors_match_the_formula():
    wanted = MarginSet(("A", "B", "C"), (3, 4, 10), ((0, 1), (1, 2), (0, 2)))
    exact = margin_tables(random_counts(wanted), wanted)
    plan, source = laplace_optimum(wanted, 0.5), SeededNoise(21)
    errors = {m: [] for m in wanted.margins}
    for _ in range(1500):
        for margin, table in plan.release(exact, source).items():
            errors[margin].append(np.abs(table - exact[margin]).mean())
    for margin, means in errors.items():
        spread = np.std(means) / math.sqrt(len(means))
        assert abs(np.mean(means) - plan.expected_error(margin)) < Z * spread + 0.003 * plan.expected_error(
            margin
        )
        assert abs(np.mean(means) - 1.1 * plan.expected_error(margin)) > Z * spread
