"""The attack on two versions finds a removed person where the keys are the same, and only there for certain."""

import numpy as np

from discreet.attacks.knowledge import Answer
from discreet.attacks.version_differencing import TwoVersions, attack, questions

PLACES, SIZES = 60, {"sex": 2, "age": 5, "job": 4}


class Noisy:
    """Counts of people with noise; the same people have the same noise where the seed of it is the same."""

    def __init__(self, people, noise, seed):
        self.people, self.noise, self.seed = people, noise, seed

    def ask(self, request):
        names = (*request.rows, *request.columns, *request.layers)
        shape = tuple({"place": PLACES, **SIZES}[name] for name in names)
        counts, keys = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        place = tuple(self.people[name] for name in names)
        np.add.at(counts, place, 1)
        np.add.at(keys, place, self.people["key"])
        draws = np.random.RandomState(self.seed).randint(-self.noise, self.noise + 1, 10_007)
        return Answer((), counts + draws[keys % 10_007], np.zeros(shape, dtype=bool))


def people(seed=4, each=30):
    random = np.random.RandomState(seed)
    count = PLACES * each
    found = {name: random.randint(0, size, count) for name, size in SIZES.items()}
    return found | {"place": np.arange(count) % PLACES, "key": random.randint(0, 2**31, count)}


def found_by(noise, other_seed, *, same_keys):
    before = people()
    after = {name: values[PLACES:] for name, values in before.items()}  # the first of every place is removed
    versions = TwoVersions(Noisy(before, noise, 1), Noisy(after, noise, other_seed), same_keys)
    truth = np.stack([before[name][:PLACES] for name in SIZES], axis=1)
    return attack(versions, "d", ("place", PLACES), SIZES, 1), truth


def test_every_table_and_every_two_attributes_are_asked():
    assert len(questions(list("abcdefghijk"))) == 66


def test_true_counts_give_everything_away_for_certain():
    found, truth = found_by(0, 1, same_keys=True)
    assert (found.guesses[-1] == truth).all()
    assert found.certain[2].all(), "three tables of one attribute are enough"


def test_with_the_same_keys_what_is_certain_is_true():
    found, truth = found_by(3, 1, same_keys=True)
    assert found.certain[-1].mean() > 0.9
    assert (found.guesses == truth)[found.certain].all()


def test_with_other_keys_nothing_is_certain_and_less_is_right():
    """The wrong alternative takes every difference for a person: with other noise it would prove nonsense."""
    found, truth = found_by(3, 2, same_keys=False)
    assert not found.certain.any()
    assert (found.guesses[-1] == truth).mean() < 0.7
    fooled, truth = found_by(3, 2, same_keys=True)
    assert not (fooled.guesses[-1] == truth).all(axis=1).mean() > 0.3
