"""Evidence against the obvious way, draws of many pairs; a server that breaks its promise is found out."""

import math
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks import differencing
from discreet.attacks.knowledge import UNPROTECTED, Knowledge
from discreet.attacks.query_averaging import success_bound
from discreet.errors import BadRequest
from discreet.noise import laplace, maxent
from discreet.noise.table import keep_zero
from discreet_studies.attacks.bob_trial import decide
from discreet_studies.attacks.scoring import share
from discreet_studies.attacks.targets import SCENE, TRAITS, Budget, TrueCounts, works

from .conftest import Described, described, public_dataset, with_epsilon

FALSE_ALARM = 1e-5
NOISE = keep_zero(maxent(D=3, V=2, js=1))
DRAWS = 400_000


def drawn(counts, rng):
    keys = rng.integers(NOISE.modulus, size=counts.size, dtype=np.uint64)
    return counts + NOISE.noise(counts, keys)


@pytest.mark.parametrize("shared", [True, False])
def test_the_evidence_of_a_pair_is_the_ratio_of_how_often_it_is_drawn(shared):
    rng = np.random.default_rng(3)
    others = rng.integers(0, 30, size=DRAWS)
    second = drawn(others, rng)
    joined = Counter(zip(drawn(others + 1, rng).tolist(), second.tolist(), strict=True))
    alone_first = second if shared else drawn(others, rng)
    alone = Counter(zip(alone_first.tolist(), second.tolist(), strict=True))
    compared = 0
    for pair in [(a, b) for a in range(12) for b in range(12)]:
        yes, no = joined[pair], alone[pair]
        expected = differencing.pair_evidence(NOISE, *pair, shared=shared)
        if min(yes, no) > 400:
            slack = 4.42 * math.sqrt(1 / yes + 1 / no)  # two-sided 1e-5
            assert abs(math.log(yes / no) - expected) < slack, pair
            compared += 1
        elif math.isinf(expected):
            assert (no if expected > 0 else yes) == 0
    assert compared > (8 if shared else 40)


def test_the_comparison_rejects_evidence_for_another_noise():
    wrong = keep_zero(maxent(D=3, V=1.2, js=1))
    rng = np.random.default_rng(3)
    others = rng.integers(0, 30, size=DRAWS)
    second = drawn(others, rng)
    yes = np.count_nonzero((drawn(others + 1, rng) == 10) & (second == 10))
    no = np.count_nonzero(second == 10)
    expected = differencing.pair_evidence(wrong, 10, 10, shared=True)
    assert abs(math.log(yes / no) - expected) > 4.42 * math.sqrt(1 / yes + 1 / no)


@given(st.integers(0, 40), st.integers(0, 40))
def test_with_one_number_for_the_same_people_a_difference_is_a_proof_and_nothing_else_is(a, b):
    evidence = differencing.pair_evidence(NOISE, a, b, shared=True)
    possible = any(
        differencing.release_probability(NOISE, n + 1, a) * differencing.release_probability(NOISE, n, b)
        for n in range(60)
    )
    if a != b:
        assert evidence == (math.inf if possible else 0.0)
    elif any(differencing.release_probability(NOISE, n, a) for n in range(60)):
        assert evidence < 0
    else:  # with js = 1 the number 1 is never released
        assert (a, evidence) == (1, 0.0)


@given(st.floats(0.1, 3.0), st.integers(-8, 9))
def test_a_cell_of_laplace_noise_says_plus_or_minus_epsilon(epsilon, released):
    row = laplace(epsilon=epsilon, modulus=2**64).rows[0]
    sign = 1 if released >= 1 else -1
    assert differencing.cell_evidence(row, released) == pytest.approx(sign * epsilon, abs=1e-6)


def test_proofs_that_contradict_each_other_cancel():
    inf = math.inf
    found = differencing.add_evidence(np.array([inf, inf, 1.0, -inf]), np.array([inf, 0.5, inf, 2.0]))
    assert found.tolist() == [0.0, inf, -inf, -inf]


@pytest.fixture(scope="module")
def field():
    population, bobs, truth = works(people=15_000, places=1_500, seed=11)
    return SimpleNamespace(population=population, bobs=bobs, truth=truth)


def one_table(epsilon):
    """A universe of one table: all of the budget is in the cells that are attacked."""
    return Budget((("workplace", "salary", "service"),), epsilon, "replace-one")


def right(field, found):
    coins = np.random.default_rng(5).integers(2, size=len(field.truth)).astype(bool)
    return int((decide(found.evidence.sum(axis=1), coins) == field.truth).sum())


def test_contexts_are_different_hold_bob_and_never_everybody_twice(field):
    dataset = public_dataset(field.population, one_table(1.0))
    bob = field.bobs[3]
    found = list(differencing.contexts(bob, dataset))
    assert found[0] is None
    assert [name for name, codes in found[1 : 1 + len(TRAITS)]] == list(TRAITS)
    assert len(set(found)) == len(found) == 1 + sum(2 ** (len(codes) - 1) - 1 for codes in TRAITS.values())
    for name, codes in found[1:]:
        assert dict(bob.traits)[name] in codes
        assert len(codes) < len(dataset.variable(name))
    assert list(differencing.contexts(differencing.Bob("W0001", ()), dataset)) == [None]


def test_true_counts_give_every_bob_away_with_one_pair(field):
    dataset = public_dataset(field.population, one_table(1.0))
    asked = TrueCounts(dataset, field.population), Knowledge(dataset, UNPROTECTED), SCENE, field.bobs
    for pairs in (0, 100):
        with pytest.raises(BadRequest, match="from 1 to 34"):
            differencing.attack(*asked, pairs)
    assert right(field, differencing.attack(*asked, 1)) == len(field.bobs)


def test_noise_three_times_too_small_breaks_the_bound(field, secret):
    """A right server: `test_trials.py::test_under_dp_a_loaded_dataset_stays_below_its_bound_and_near_the_optimum`."""
    knowledge = described(field.population, one_table(1.0))
    truth = TrueCounts(knowledge.dataset, field.population)
    mutant = Described(truth, with_epsilon(knowledge.plan, knowledge.dataset, 3), secret)
    hits = right(field, differencing.attack(mutant, knowledge, SCENE, field.bobs, 1))
    assert share(hits, len(field.bobs), 1 - 2 * FALSE_ALARM).low > success_bound(1.0, 1e-9)
