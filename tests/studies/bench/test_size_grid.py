import numpy as np
import pytest

from discreet_studies.bench.size_grid import GRID, NOISES, Point


def test_the_grid_has_at_most_sixty_points_of_different_names_and_every_noise():
    assert len(GRID) == len({point.name for point in GRID}) <= 60
    assert {point.noise for point in GRID} == set(NOISES)
    assert {(2, 2), (3, 5), (6, 8), (10, 10), (20, 20)} <= {point.shape for point in GRID}


@pytest.mark.parametrize("point", [GRID[0], Point("maxent", (2, 3, 2), 7, "no three-way interaction")])
def test_means_follow_the_hypothesis_unless_there_is_an_effect(point):
    rng = np.random.default_rng(2)
    means = point.means(3, rng)
    assert means.mean(axis=tuple(range(1, means.ndim))) == pytest.approx(point.people)
    assert point.model().fit(means) == pytest.approx(means)
    off = point.means(3, rng, effect=1.0)
    assert point.model().fit(off) != pytest.approx(off, rel=1e-3)


def test_given_chances_are_the_hypothesis():
    point = Point("maxent", (5,), 10, "distribution")
    assert point.name == "maxent-5-10-distribution"
    assert point.means(2, np.random.default_rng(1))[0] == pytest.approx(50 * point.model().offset)
