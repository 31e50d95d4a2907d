"""Averaging: all ways ask for the same people; bounds are never below what an exact audit gives, and attained."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.attacks import query_averaging as averaging
from discreet.errors import BadRequest
from discreet.noise import laplace, normal
from discreet.privacy.audit import delta
from discreet_studies.attacks.averaging_trial import AveragingTrial
from discreet_studies.attacks.scoring import root_mean_square
from discreet_studies.attacks.targets import CELL, TrueCounts, town

from .conftest import Described, described, public_dataset, with_epsilon

FALSE_ALARM = 1e-5


@pytest.fixture(scope="module")
def field():
    population, truth = town(people=12_000, places=400, seed=3)
    return SimpleNamespace(population=population, truth=truth)


@pytest.mark.parametrize(("kind", "number"), [(averaging.WORDS, 64), (averaging.PARTS, 129)])
def test_all_ways_are_different_and_ask_for_the_same_people(field, kind, number):
    dataset = public_dataset(field.population, AveragingTrial().budget)
    truth = TrueCounts(dataset, field.population)
    with pytest.raises(BadRequest, match="other words"):
        list(averaging.ways(CELL, dataset, "magic"))
    asked = list(averaging.ways(CELL, dataset, kind))
    assert len(set(asked)) == len(asked) == number
    for way in [asked[1], *asked[:: number // 12]]:
        counts = [truth.ask(table).values.reshape(400, -1).sum(axis=1) for table in way.tables]
        assert (counts[0] - sum(counts[1:]) == field.truth).all()


@pytest.mark.parametrize("kind", averaging.KINDS)
def test_noise_too_small_for_its_promise_is_found_out(field, secret, kind):
    knowledge = described(field.population, AveragingTrial(epsilon=2.0).budget)
    truth = TrueCounts(knowledge.dataset, field.population)
    mutant = Described(truth, with_epsilon(knowledge.plan, knowledge.dataset, 12), secret)
    found = averaging.attack(mutant, knowledge, CELL, kind, 4)
    measured = root_mean_square(found.values[:, -1] - field.truth, 1 - FALSE_ALARM)
    assert measured.high < averaging.error_bound(2.0)


def test_the_weights_are_the_best_for_what_is_known(field):
    """Two margins of one term and one of eight: the expected variance is that of the best mean."""
    knowledge = described(field.population, AveragingTrial(epsilon=1.0).budget)
    each = float(knowledge.plan.tables[-1].noise.rows[0].variance())

    truth = TrueCounts(knowledge.dataset, field.population)
    assert averaging.attack(truth, knowledge, CELL, averaging.WORDS, 5).variance[-1] == pytest.approx(
        each / 2
    )
    assert averaging.attack(truth, knowledge, CELL, averaging.PARTS, 5).variance[-1] == pytest.approx(
        each / (1 + 1 / 8)
    )


@given(st.floats(0.1, 3.0), st.integers(1, 6))
def test_the_optimum_is_half_of_one_plus_the_exact_total_variation(epsilon, m):
    table = laplace(epsilon=epsilon, m=m)
    exact = float(delta(table, epsilon=0.0, neighbours="replace-one"))
    assert averaging.optimum([table.rows[0]]) == pytest.approx((1 + exact) / 2, abs=1e-9)


def test_the_optimum_of_several_tables_is_the_exact_composition():
    table = normal(epsilon=1.0, m=3)
    exact = float(delta(table, epsilon=0.0, neighbours="replace-one", cells=2))
    assert averaging.optimum([table.rows[0]] * 2) == pytest.approx((1 + exact) / 2, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.05, 1.5), st.integers(1, 6))
def test_no_optimum_passes_the_bound_of_its_epsilon(epsilon, tables):
    rows = [laplace(epsilon=epsilon, modulus=2**64).rows[0]] * tables
    assert averaging.optimum(rows) <= averaging.success_bound(2 * epsilon * tables) + 1e-9


@given(st.floats(0.2, 3.0))
def test_laplace_noise_attains_the_exact_hit_and_the_error_bound(epsilon):
    row = laplace(epsilon=epsilon, modulus=2**64).rows[0]
    assert float(row.probabilities()[0]) == pytest.approx(math.tanh(epsilon / 2), abs=1e-9)
    assert averaging.exact_bound(epsilon) == pytest.approx(math.tanh(epsilon / 2), rel=1e-6)
    assert averaging.error_bound(epsilon) == pytest.approx(math.sqrt(float(row.variance())), rel=1e-6)


def test_a_delta_loosens_the_bounds_and_never_past_one():
    assert averaging.success_bound(1.0, 0.1) > averaging.success_bound(1.0)
    assert averaging.exact_bound(1.0, 0.05) > averaging.exact_bound(1.0)
    assert averaging.success_bound(800.0, 0.5) == 1.0
    assert averaging.exact_bound(1.0, 1.0) == 1.0


def test_a_truncated_table_may_hit_more_often_than_its_epsilon_says_but_not_than_epsilon_and_delta():
    table = laplace(epsilon=1.0, m=2)
    hit = float(table.rows[0].probabilities()[0])
    assert hit > averaging.exact_bound(1.0)
    assert hit <= averaging.exact_bound(1.0, float(delta(table, epsilon=1.0)))
