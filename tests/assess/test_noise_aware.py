"""The noise-aware test of simulated releases is the reader's own."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.assess.noise_aware import MOST_TESTED, releases_to_test
from discreet.assess.simulate import releases, simulate
from discreet.assess.subject import Subject
from discreet.inference import independence_tests
from discreet.inference.hierarchical_model import HierarchicalModel
from discreet.inference.likelihood_ratio import chi_square
from discreet.inference.noise_by_cell import by_cell
from discreet.inference.null_law import NullLaw, null_law
from discreet.inference.ratios import ratios
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


@pytest.mark.slow
@pytest.mark.parametrize("noise", [laplace(epsilon=0.2, modulus=2**64), laplace(epsilon=0.5, m=10)])
def test_the_law_is_the_statistics_own_under_dp_too_and_not_the_chi_square_law(noise):
    counts = np.random.default_rng(2).poisson(8, (2, 5, 6))
    wide = Subject(counts, np.ones(counts.shape, dtype=bool))
    assert releases_to_test(wide, noise, 3) == 3
    (draws,) = simulate(wide, [noise], 3, seed=6)
    drawn = releases(wide, noise, 3, seed=6)
    model = HierarchicalModel.of([(0,), (1,)], np.ones((5, 6)))
    looked_at = by_cell(noise, (5, 6))
    found = [ratios(drawn[:, layer], looked_at, model) for layer in (0, 1)]
    law = NullLaw.of_sum(null_law(each, model, looked_at) for each in found)
    statistic = sum(each.statistic for each in found)
    assert draws["aware_p_value"] == pytest.approx(law.by_law(statistic))
    assert draws["aware_p_value"] != pytest.approx(chi_square(statistic, law.df), rel=0.1)
