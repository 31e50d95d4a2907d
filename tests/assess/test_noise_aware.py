"""The noise-aware test of simulated releases is the reader's own."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.assess.noise_aware import MOST_TESTED, releases_to_test
from discreet.assess.simulate import releases, simulate
from discreet.assess.subject import Subject
from discreet.inference import independence_tests
from discreet.noise import laplace, maxent

COUNTS = np.array([[[12, 30, 4], [25, 61, 9]]])

SUBJECT = Subject(COUNTS, np.ones(COUNTS.shape, dtype=bool))

NOISES = [laplace(epsilon=1.0, m=9), maxent(D=5, V=3, js=2)]


def test_the_noise_aware_test_is_the_readers_own():
    (draws,) = simulate(SUBJECT, NOISES[:1], 10, seed=4)
    own = independence_tests(releases(SUBJECT, NOISES[0], 10, seed=4)[:, 0], NOISES[0])
    assert draws["aware_p_value"] == pytest.approx(own.p_value)
    assert draws["likelihood_ratio"] == pytest.approx(own.naive_statistic)


def test_layers_of_the_noise_aware_test_add_up():
    counts = np.concatenate([COUNTS, COUNTS[:, ::-1] + 5])
    layered = Subject(counts, np.ones(counts.shape, dtype=bool))
    (draws,) = simulate(layered, NOISES[:1], 5, seed=2)
    drawn = releases(layered, NOISES[0], 5, seed=2)
    parts = [independence_tests(drawn[:, k], NOISES[0]).statistic for k in (0, 1)]
    assert draws["aware_ratio"] == pytest.approx(sum(parts))
    assert np.isnan(draws["corrected_v"]).all()


def test_a_table_with_one_side_has_no_test():
    one = Subject(np.array([[[5], [9]]]), np.ones((1, 2, 1), dtype=bool))
    (draws,) = simulate(one, NOISES[:1], 4, seed=1)
    assert "p_value" not in draws
    assert "aware_p_value" not in draws
    assert releases_to_test(one, NOISES[0], 100) == 0


def test_how_many_releases_are_tested_depends_on_sizes_only():
    large = Subject(np.full((1, 300, 300), 5), np.ones((1, 300, 300), dtype=bool))
    assert releases_to_test(SUBJECT, NOISES[0], 1000) == MOST_TESTED
    assert releases_to_test(SUBJECT, NOISES[0], 3) == 3
    assert releases_to_test(large, NOISES[0], 100) == 0
