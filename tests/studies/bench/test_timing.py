"""The comparison of times finds a leak, on a clock of its own; every point asks what it says. No time is asserted."""

import random

import numpy as np
import pytest

from discreet_studies.bench.part import Wish
from discreet_studies.bench.timing import LIMIT, POINTS, in_pairs, largest_t, measure, welch

#: Of the comparison of works that take as long: |t| above 4.5 of some 20 independent quantiles.
FALSE_ALARM = 2e-4
KEY = "dk_a-key-of-thirty-two-characters"


class VirtualClock:
    """Nanoseconds that pass as works say, with the noise of a machine: now and then something else takes long."""

    def __init__(self, seed):
        self.now, self._rng = 0, random.Random(seed)

    def __call__(self):
        return self.now

    def spend(self, nanoseconds):
        self.now += nanoseconds + self._rng.randrange(2_000) + (self._rng.random() < 0.02) * 1_000_000


def leaky(clock, given):
    """Compares letter by letter and stops at the first that differs."""

    def work():
        same = next(
            (place for place, pair in enumerate(zip(KEY, given, strict=True)) if len(set(pair)) > 1), len(KEY)
        )
        clock.spend(10_000 + 40 * same)

    return work


def even(clock, _given):
    """Takes as long whatever is given."""
    return lambda: clock.spend(10_000)


@pytest.mark.parametrize(("comparison", "leaks"), [(leaky, True), (even, False)])
def test_a_comparison_that_stops_early_is_found_and_one_that_does_not_is_not(comparison, leaks):
    clock = VirtualClock(3)
    nearly, far = KEY[:-1] + "?", "dk_?" + KEY[4:]
    times = in_pairs(comparison(clock, nearly), comparison(clock, far), 400, clock=clock)
    assert (largest_t(*times.processor) > LIMIT) == leaks


def test_cropping_finds_what_rare_interruptions_hide():
    """Wrong alternative: Welch's t of all times, which sees the interruptions alone."""
    rng = np.random.RandomState(5)
    one, other = (10_000 + 60 * kind + rng.randint(0, 400, 2_000).astype(float) for kind in (0, 1))
    one[rng.choice(2_000, 40)] += 1e7
    other[rng.choice(2_000, 40)] += 1e7
    assert abs(welch(one, other)) < LIMIT < largest_t(one, other)


@pytest.mark.slow
def test_every_point_asks_what_it_says():
    """A work whose answer has another status than it says ends the run."""
    said = []
    results = list(measure(Wish(repeats=2, say=said.append)))
    assert [each["point"] for each in results] == list(POINTS)
    assert len(said) == len(results) + 1
