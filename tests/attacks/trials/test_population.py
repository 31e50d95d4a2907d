"""The invented people: what the attacks rest on is true of them."""

import numpy as np
import pytest

from discreet.errors import BadRequest
from discreet_studies.attacks.targets import MARITAL, SALARY, TRAITS, town, works


def test_every_workplace_has_one_bob_and_the_attacker_knows_his_traits():
    population, bobs, above = works(3_000, 100, seed=4)
    today = population.codes("service") == "today"
    assert np.unique(population.codes("workplace")[today], return_counts=True)[1].tolist() == [1] * 100
    for bob, rich in zip(bobs, above, strict=True):
        (record,) = np.flatnonzero(today & (population.codes("workplace") == bob.place))
        assert dict(bob.traits) == {name: population.codes(name)[record] for name in TRAITS}
        assert (population.codes("salary")[record] == SALARY[0]) == rich


def test_bobs_salary_is_a_fair_coin():
    """False alarm 1e-6: 4.9 standard deviations; a coin of 0.6 is 6.3 away."""
    _, _, above = works(10_000, 1_000, seed=8)
    assert abs(above.sum() - 500) < 4.9 * np.sqrt(250)
    assert abs(600 - 500) > 4.9 * np.sqrt(250)


def test_children_are_single_and_counted():
    population, truth = town(2_000, 20, seed=1)
    child = population.codes("age") == "child"
    assert set(population.codes("marital")[child]) == {"single"}
    assert set(population.codes("marital")) == set(MARITAL)
    area = population.codes("area")
    assert truth.tolist() == [int((child & (area == code)).sum()) for code in population.variables["area"]]


def test_the_same_seed_gives_the_same_people_and_another_one_others():
    first, again, other = (works(1_000, 50, seed)[0].records for seed in (1, 1, 2))
    assert all((first[name] == again[name]).all() for name in first)
    assert any((first[name] != other[name]).any() for name in first)


@pytest.mark.parametrize(("people", "places"), [(50, 5), (100, 50)])
def test_too_few_people_or_places_are_refused(people, places):
    with pytest.raises(BadRequest, match="people or more"):
        town(people, places, seed=1)
