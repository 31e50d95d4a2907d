"""Averaging: exact on true counts, bounded under dp; all ways ask for the same people.

The bounds: never below what an exact audit gives, attained where they should be.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.knowledge import UNPROTECTED, Knowledge
from discreet.attacks.query_averaging import (
    KINDS,
    PARTS,
    WORDS,
    attack,
    error_bound,
    exact_bound,
    optimum,
    success_bound,
    ways,
)
from discreet.errors import BadRequest
from discreet.noise import laplace, normal
from discreet.privacy.audit import delta
from discreet_studies.attacks.averaging_trial import AveragingTrial
from discreet_studies.attacks.scoring import root_mean_square, share
from discreet_studies.attacks.targets import CELL, TrueCounts, town

from .conftest import Described, described, public_dataset, with_epsilon

FALSE_ALARM = 1e-5


class Field(NamedTuple):
    population: Any
    truth: Any


@pytest.fixture(scope="module")
def field():
    return Field(*town(people=12_000, places=400, seed=3))


@pytest.mark.parametrize(("kind", "number"), [(WORDS, 64), (PARTS, 129)])
def test_all_ways_are_different_and_ask_for_the_same_people(field, kind, number):
    dataset = public_dataset(field.population, AveragingTrial().budget)
    truth = TrueCounts(dataset, field.population)
    with pytest.raises(BadRequest, match="other words"):
        list(ways(CELL, dataset, "magic"))
    asked = list(ways(CELL, dataset, kind))
    assert len(set(asked)) == len(asked) == number
    for way in [asked[1], *asked[:: number // 12]]:
        counts = [truth.ask(table).values.reshape(400, -1).sum(axis=1) for table in way.tables]
        assert (counts[0] - sum(counts[1:]) == field.truth).all()


@pytest.mark.parametrize("kind", KINDS)
def test_true_counts_need_one_question(field, kind):
    dataset = public_dataset(field.population, AveragingTrial().budget)
    found = attack(TrueCounts(dataset, field.population), Knowledge(dataset, UNPROTECTED), CELL, kind, 3)
    assert (found.values == field.truth[:, None]).all()
    assert found.queries == ((1, 2, 3) if kind == WORDS else (1, 3, 4))


@pytest.mark.parametrize("kind", KINDS)
def test_under_dp_the_error_stays_above_the_bound_and_is_what_the_attacker_expects(field, secret, kind):
    knowledge = described(field.population, AveragingTrial(epsilon=2.0).budget)
    server = Described(TrueCounts(knowledge.dataset, field.population), knowledge.plan, secret)
    found = attack(server, knowledge, CELL, kind, 12)
    errors = found.values[:, -1] - field.truth
    measured = root_mean_square(errors, 1 - FALSE_ALARM)
    assert measured.low > error_bound(2.0)
    assert measured.low < found.variance[-1] ** 0.5 < measured.high
    hits = int((np.rint(found.values[:, -1]) == field.truth).sum())
    assert share(hits, field.truth.size, 1 - FALSE_ALARM).low <= exact_bound(2.0, 1e-9)
    second = 1 if kind == WORDS else 2  # the complement is made of the margin that is known already
    assert (found.values[:, 0] == found.values[:, second - 1]).all()
    assert (found.values[:, second:] == found.values[:, [second]]).all()  # a second margin helps, once


@pytest.mark.parametrize("kind", KINDS)
def test_noise_too_small_for_its_promise_is_found_out(field, secret, kind):
    knowledge = described(field.population, AveragingTrial(epsilon=2.0).budget)
    truth = TrueCounts(knowledge.dataset, field.population)
    mutant = Described(truth, with_epsilon(knowledge.plan, knowledge.dataset, 12), secret)
    found = attack(mutant, knowledge, CELL, kind, 4)
    measured = root_mean_square(found.values[:, -1] - field.truth, 1 - FALSE_ALARM)
    assert measured.high < error_bound(2.0)


def test_the_weights_are_the_best_for_what_is_known(field):
    """Two margins of one term and one of eight: the expected variance is that of the best mean."""
    knowledge = described(field.population, AveragingTrial(epsilon=1.0).budget)
    each = float(knowledge.plan.tables[-1].noise.rows[0].variance())

    truth = TrueCounts(knowledge.dataset, field.population)
    assert attack(truth, knowledge, CELL, WORDS, 5).variance[-1] == pytest.approx(each / 2)
    assert attack(truth, knowledge, CELL, PARTS, 5).variance[-1] == pytest.approx(each / (1 + 1 / 8))


@given(st.floats(0.1, 3.0), st.integers(1, 6))
def test_the_optimum_is_half_of_one_plus_the_exact_total_variation(epsilon, m):
    table = laplace(epsilon=epsilon, m=m)
    exact = float(delta(table, epsilon=0.0, neighbours="replace-one"))
    assert optimum([table.rows[0]]) == pytest.approx((1 + exact) / 2, abs=1e-9)


def test_the_optimum_of_several_tables_is_the_exact_composition():
    table = normal(epsilon=1.0, m=3)
    exact = float(delta(table, epsilon=0.0, neighbours="replace-one", cells=2))
    assert optimum([table.rows[0]] * 2) == pytest.approx((1 + exact) / 2, abs=1e-9)


@pytest.mark.slow
@given(st.floats(0.05, 1.5), st.integers(1, 6))
def test_no_optimum_passes_the_bound_of_its_epsilon(epsilon, tables):
    rows = [laplace(epsilon=epsilon, modulus=2**64).rows[0]] * tables
    assert optimum(rows) <= success_bound(2 * epsilon * tables) + 1e-9


@given(st.floats(0.2, 3.0))
def test_laplace_noise_attains_the_exact_hit_and_the_error_bound(epsilon):
    row = laplace(epsilon=epsilon, modulus=2**64).rows[0]
    assert float(row.probabilities()[0]) == pytest.approx(math.tanh(epsilon / 2), abs=1e-9)
    assert exact_bound(epsilon) == pytest.approx(math.tanh(epsilon / 2), rel=1e-6)
    assert error_bound(epsilon) == pytest.approx(math.sqrt(float(row.variance())), rel=1e-6)


def test_a_delta_loosens_the_bounds_and_never_past_one():
    assert success_bound(1.0, 0.1) > success_bound(1.0)
    assert exact_bound(1.0, 0.05) > exact_bound(1.0)
    assert success_bound(800.0, 0.5) == 1.0
    assert exact_bound(1.0, 1.0) == 1.0


def test_a_truncated_table_may_hit_more_often_than_its_epsilon_says_but_not_than_epsilon_and_delta():
    table = laplace(epsilon=1.0, m=2)
    hit = float(table.rows[0].probabilities()[0])
    assert hit > exact_bound(1.0)
    assert hit <= exact_bound(1.0, float(delta(table, epsilon=1.0)))
