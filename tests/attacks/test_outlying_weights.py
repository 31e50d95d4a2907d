"""The search for a person of unusual weight: likelihoods that are learnt, and tables put together as enumeration does."""

from itertools import product
from math import log

import numpy as np
import pytest

from discreet.attacks.outlying_weights import CellReleases, Likelihood, beliefs, log_chances
from discreet.noise import maxent


def releases(errors):
    size = np.full(len(errors), 40)
    none = np.zeros(len(errors), dtype=np.int64)
    return CellReleases(size, size * 100, np.array(errors), none, none.astype(bool), none)


def test_what_was_seen_with_such_people_speaks_for_them():
    likelihood = Likelihood()
    for _ in range(50):
        likelihood.learn(releases([300, 150, 150]).steps(errors=True), np.array([True, False, False]))
    high, low, unknown = likelihood.ratios(releases([300, 150, 700]).steps(errors=True))
    assert high > 10
    assert low < 0.1
    assert unknown == 1


def test_errors_that_say_nothing_teach_nothing():
    likelihood = Likelihood()
    rng = np.random.default_rng(1)
    for _ in range(400):
        likelihood.learn(
            releases(rng.choice([150, 300], 10)).steps(errors=True), np.arange(10) == rng.integers(10)
        )
    assert likelihood.ratios(releases([150, 300]).steps(errors=True)) == pytest.approx(1, abs=0.15)


def test_tables_together_are_the_enumeration_of_where_the_person_is():
    """Two tables cross three cells with two and with four categories; the person is in one of the eight combinations."""
    rng = np.random.default_rng(2)
    tables = [rng.integers(3, size=(3, *shape, 1)) for shape in ((2,), (4,))]
    likelihoods = []
    for steps in tables:
        likelihood = Likelihood()
        for _ in range(30):
            likelihood.learn(rng.integers(3, size=steps.shape), rng.random(steps.shape[:-1]) < 0.2)
        likelihoods.append(likelihood)
    ratios = [each.ratios(steps) for each, steps in zip(likelihoods, tables, strict=True)]
    slow = [
        sum(ratios[0][cell, one] * ratios[1][cell, two] / 8 for one, two in product(range(2), range(4)))
        for cell in range(3)
    ]
    assert beliefs(likelihoods, tables) == pytest.approx(np.log(slow))


def test_chances_are_those_of_the_noise():
    noise = maxent(D=5, V=3, js=2)
    row = noise.row(40).probabilities()
    found = log_chances(noise, np.array([41, 38, 90]), np.array([40, 40, 40]))
    assert found[:2] == pytest.approx([log(row[1]), log(row[-2])])
    assert found[2] < -600
