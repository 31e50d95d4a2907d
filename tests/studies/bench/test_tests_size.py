import json
from pathlib import Path

import numpy as np
import pytest

from discreet.inference.hypothesis_tests.independence import independence_test
from discreet_studies.bench import tests_size
from discreet_studies.bench.size_grid import GRID, Point
from discreet_studies.bench.tests_size import PART, p_values
from discreet_studies.commands.bench import markdown_lines


def test_the_p_values_are_those_of_the_test_by_default(monkeypatch):
    seen = []

    def keep(counts, noise, rng, plain=tests_size.with_noise):
        seen.append(plain(counts, noise, rng))
        return seen[-1]

    monkeypatch.setattr(tests_size, "with_noise", keep)
    for point in (Point("maxent", (2, 2), 5), Point("maxent", (6, 8), 8)):
        found = p_values(point, 4, seed=1)
        for table, p, method in zip(seen[-1], found.aware, found.methods, strict=True):
            own = independence_test(table, point.distribution())
            assert (own.p_value, own.method) == (pytest.approx(p), method)


def test_points_of_one_shape_do_not_share_their_random_numbers():
    """The wrong way, one seed for all: both points then have the same true tables, and their errors are one error."""
    points = (Point("maxent", (6, 8), 8), Point("laplace.5", (6, 8), 8))
    one, other = (p_values(point, 5, seed=1).exact for point in points)
    assert not np.isclose(one, other).any()
    assert (p_values(points[0], 5, seed=1).exact == one).all()


PAGE = Path(__file__).parents[3] / "docs" / "methods" / "noise-aware-tests.md"


def published():
    return json.loads(PAGE.with_suffix(".json").read_text("utf-8"))


def test_the_page_has_the_table_that_the_command_made():
    results = {each["point"]: each for each in published()}
    assert set(results) == {point.name for point in GRID}
    assert min(each["tables"] for each in published()) >= 1_000
    lines = markdown_lines(PART, [results[point.name] for point in GRID if point.name in results])
    table = PAGE.read_text("utf-8").split("--markdown -->\n")[1].split("<!-- end of sizes")[0]
    assert table.strip().splitlines() == lines


def test_the_published_sizes_reach_the_goal_and_the_chi_square_distributions_do_not():
    people = {point.name: point.people for point in GRID}
    for each in published():
        for level, most, least in ((0.05, 6.5, 3.5), (0.01, 1.6, 0.5)):
            size = each[f"size_{level:g}"]
            assert size <= most, each["point"]
            assert size >= least or people[each["point"]] < 5, each["point"]
    assert sum(each["chi_square"] > 6.5 for each in published()) > 30


@pytest.mark.parametrize("point", [GRID[0], Point("maxent", (2, 3, 2), 7, "no three-way interaction")])
def test_means_follow_the_hypothesis_unless_there_is_an_effect(point):
    rng = np.random.default_rng(2)
    means = point.means(3, rng)
    assert means.mean(axis=tuple(range(1, means.ndim))) == pytest.approx(point.people)
    assert point.model().fit(means) == pytest.approx(means)
    off = point.means(3, rng, effect=1.0)
    assert point.model().fit(off) != pytest.approx(off, rel=1e-3)
