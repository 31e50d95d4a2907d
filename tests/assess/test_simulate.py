from __future__ import annotations

import numpy as np
import pytest

from discreet.assess.simulate import CHUNK, releases, simulate, summary
from discreet.assess.subject import Subject
from discreet.noise import laplace, maxent
from discreet.noise.table import NoiseRow, NoiseTable

COUNTS = np.array([[[12, 30, 4], [25, 61, 9]]])

SUBJECT = Subject(COUNTS, np.ones(COUNTS.shape, dtype=bool))

NOISES = [laplace(epsilon=1.0, m=9), maxent(D=5, V=3, js=2)]


def equal(first, second):
    return all(
        a.keys() == b.keys() and all(np.array_equal(a[k], b[k], equal_nan=True) for k in a)
        for a, b in zip(first, second, strict=True)
    )


def test_the_outcome_does_not_depend_on_the_number_of_workers():
    once = simulate(SUBJECT, NOISES, 2 * CHUNK + 7, seed=5, workers=1)
    assert equal(once, simulate(SUBJECT, NOISES, 2 * CHUNK + 7, seed=5, workers=4))
    assert len(once[0]["l1"]) == 2 * CHUNK + 7


def test_the_outcome_of_a_setting_does_not_depend_on_the_others():
    assert equal(
        simulate(SUBJECT, NOISES, 30, seed=5)[1:], simulate(SUBJECT, [NOISES[1]], 30, seed=5, workers=2)
    )


def test_another_seed_gives_another_outcome_and_chunks_differ():
    first, second = (simulate(SUBJECT, NOISES[:1], 2 * CHUNK, seed=seed)[0]["l1"] for seed in (1, 2))
    assert not np.array_equal(first, second)
    assert not np.array_equal(first[:CHUNK], first[CHUNK:])


def test_progress_tells_every_chunk():
    told = []
    simulate(SUBJECT, NOISES, CHUNK + 1, seed=1, progress=lambda done, of: told.append((done, of)))
    assert told == [(k, 4) for k in range(5)]


def test_impossible_cells_get_no_noise():
    possible = np.ones(COUNTS.shape, dtype=bool)
    possible[0, 1, 2] = False
    counts = np.where(possible, COUNTS, 0)
    drawn = releases(Subject(counts, possible), NOISES[0], 50, seed=1)
    assert (drawn[:, 0, 1, 2] == 0).all()
    assert drawn[:, 0, 0, 0].std() > 0


def test_without_noise_every_measure_says_so():
    nothing = NoiseTable(1, (NoiseRow((0,), (1,)),))
    (draws,) = simulate(SUBJECT, [nothing], 3, seed=1)
    for name in ("l1", "l2", "l3", "hellinger", "perturbed", "false_zeros", "total_variation"):
        assert (draws[name] == 0).all()
    assert draws["rm"] == pytest.approx(1)
    assert draws["aware_ratio"] == pytest.approx(draws["likelihood_ratio"], abs=1e-6)


def test_a_summary_has_its_monte_carlo_error_and_leaves_out_what_is_unknown():
    found = summary(np.array([1.0, 3.0, np.nan]))
    assert (found.mean, found.releases) == (2, 2)
    assert found.error == pytest.approx(1.0)
    assert summary(np.array([np.nan])) is None
