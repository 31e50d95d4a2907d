"""Bob: certain on true counts, bounded under dp; a server that breaks its promise is found out."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from discreet.attacks.bob import Bob, attack, contexts
from discreet.attacks.bound import optimum, success_bound
from discreet.attacks.knowledge import UNPROTECTED, Knowledge
from discreet.attacks.success import share
from discreet.attacks.trials.bob_study import BobStudy, decide
from discreet.attacks.trials.population import SCENE, TRAITS, works
from discreet.attacks.trials.targets import Budget, TrueCounts
from discreet.errors import BadRequest

#: The chance that a sound server is called broken, in each of the tests below.
FALSE_ALARM = 1e-5


class Field(NamedTuple):
    population: Any
    bobs: Any
    truth: Any


@pytest.fixture(scope="module")
def field():
    return Field(*works(people=15_000, places=1_500, seed=11))


def one_table(epsilon):
    """A universe of one table: all of the budget is in the cells that are attacked."""
    return Budget((("workplace", "salary", "service"),), epsilon, "replace-one")


def right(field, found, pairs):
    coins = np.random.default_rng(5).integers(2, size=len(field.truth)).astype(bool)
    return int((decide(found.evidence[:, :pairs].sum(axis=1), coins) == field.truth).sum())


def right_by_difference(field, found):
    coins = np.random.default_rng(5).integers(2, size=len(field.truth)).astype(bool)
    votes = found.differs.sum(axis=1)
    return int((decide((votes[:, 0] - votes[:, 1]).astype(float), coins) == field.truth).sum())


def surely_above(hits, of, bound):
    """Whether so many right answers have a chance of less than FALSE_ALARM at the bound."""
    return share(hits, of, 1 - 2 * FALSE_ALARM).low > bound


def test_contexts_are_different_hold_bob_and_never_everybody_twice(field, stand_ins):
    *_, public_dataset = stand_ins
    dataset = public_dataset(field.population, one_table(1.0))
    bob = field.bobs[3]
    found = list(contexts(bob, dataset))
    assert found[0] is None
    assert [name for name, codes in found[1 : 1 + len(TRAITS)]] == list(TRAITS)
    assert len(set(found)) == len(found) == 1 + sum(2 ** (len(codes) - 1) - 1 for codes in TRAITS.values())
    for name, codes in found[1:]:
        assert dict(bob.traits)[name] in codes
        assert len(codes) < len(dataset.variable(name))


def test_true_counts_give_every_bob_away_with_one_pair(field, stand_ins):
    *_, public_dataset = stand_ins
    dataset = public_dataset(field.population, one_table(1.0))
    found = attack(
        TrueCounts(dataset, field.population), Knowledge(dataset, UNPROTECTED), SCENE, field.bobs, 1
    )
    assert right(field, found, 1) == len(field.bobs)
    assert np.isinf(found.evidence).all()
    assert found.queries == (2,)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_under_dp_the_attack_stays_below_the_bound_and_reaches_the_optimum(field, stand_ins, secret, epsilon):
    Described, _, _, described, _ = stand_ins
    knowledge = described(field.population, one_table(epsilon))
    server = Described(TrueCounts(knowledge.dataset, field.population), knowledge.plan, secret)
    found = attack(server, knowledge, SCENE, field.bobs, 1)
    hits, of = right(field, found, 1), len(field.bobs)
    assert found.epsilon == (epsilon,)
    assert not surely_above(hits, of, success_bound(epsilon, 1e-9))
    assert not surely_above(right_by_difference(field, found), of, success_bound(epsilon, 1e-9))
    best = optimum(found.rows)
    assert 0.5 < best < success_bound(epsilon)
    measured = share(hits, of, 1 - FALSE_ALARM)
    assert measured.low < best < measured.high


def test_noise_three_times_too_small_breaks_the_bound(field, stand_ins, secret):
    Described, _, with_epsilon, described, _ = stand_ins
    knowledge = described(field.population, one_table(1.0))
    truth = TrueCounts(knowledge.dataset, field.population)
    mutant = Described(truth, with_epsilon(knowledge.plan, knowledge.dataset, 3), secret)
    found = attack(mutant, knowledge, SCENE, field.bobs, 1)
    assert surely_above(right(field, found, 1), len(field.bobs), success_bound(1.0, 1e-9))


@pytest.mark.slow
def test_dp_noise_keyed_by_participants_breaks_the_bound_by_the_papers_own_rule(field, stand_ins):
    _, KeyedByParticipants, _, described, _ = stand_ins
    knowledge = described(field.population, one_table(1.0))
    mutant = KeyedByParticipants(TrueCounts(knowledge.dataset, field.population), knowledge.plan)
    found = attack(mutant, knowledge, SCENE, field.bobs, 1)
    assert surely_above(right_by_difference(field, found), len(field.bobs), success_bound(1.0, 1e-9))


@pytest.mark.slow
def test_under_dp_more_contexts_than_margins_say_nothing_new(field, stand_ins, secret):
    Described, _, _, described, _ = stand_ins
    knowledge = described(field.population, BobStudy(epsilon=1.0).budget)
    server = Described(TrueCounts(knowledge.dataset, field.population), knowledge.plan, secret)
    found = attack(server, knowledge, SCENE, field.bobs[:50], 10)
    assert found.epsilon[5:] == (1.0,) * 5
    assert not found.evidence[:, 6:].any()
    assert len(found.rows) == 6
    assert np.diff(found.epsilon[:6]) == pytest.approx([1 / 6] * 5)


def test_a_union_under_dp_is_the_sum_of_cells_that_are_known(field, stand_ins, secret):
    from discreet.model.request import TableRequest

    Described, _, _, described, _ = stand_ins
    knowledge = described(field.population, BobStudy(epsilon=1.0).budget)
    server = Described(TrueCounts(knowledge.dataset, field.population), knowledge.plan, secret)

    def cells(*codes):
        filters = (("age", codes), ("service", ("today",)))
        request = TableRequest(
            knowledge.dataset.id, ("workplace",), ("salary",), filters=filters, totals=False
        )
        return server.ask(request).values

    assert (cells("15-24", "35-44") == cells("15-24") + cells("35-44")).all()


@pytest.mark.parametrize("pairs", [0, 100])
def test_a_number_of_pairs_that_does_not_exist_is_refused(field, stand_ins, pairs):
    *_, public_dataset = stand_ins
    dataset = public_dataset(field.population, one_table(1.0))
    with pytest.raises(BadRequest, match="from 1 to 34"):
        attack(
            TrueCounts(dataset, field.population), Knowledge(dataset, UNPROTECTED), SCENE, field.bobs, pairs
        )


def test_bob_without_traits_has_one_context(field, stand_ins):
    *_, public_dataset = stand_ins
    assert list(contexts(Bob("W0001", ()), public_dataset(field.population, one_table(1.0)))) == [None]
