import pytest

from discreet.errors import BadRequest
from discreet.inference.independence import independence_test
from discreet_studies.bench import tests_size
from discreet_studies.bench.part import Wish
from discreet_studies.bench.size_grid import GRID, Point
from discreet_studies.bench.tests_size import PART, chosen, measured, p_values


def test_the_p_values_are_those_of_the_test_by_default(monkeypatch):
    seen = []

    def keep(counts, noise, rng, plain=tests_size.with_noise):
        seen.append(plain(counts, noise, rng))
        return seen[-1]

    monkeypatch.setattr(tests_size, "with_noise", keep)
    for point in (Point("maxent", (2, 2), 5), Point("maxent", (6, 8), 8)):
        found = p_values(point, 4, seed=1)
        for table, p, method in zip(seen[-1], found.aware, found.methods, strict=True):
            own = independence_test(table, point.law(), replicates=tests_size.REPLICATES)
            assert (own.p_value, own.method) == (pytest.approx(p), method)


def test_a_point_is_one_line_of_every_column():
    result = measured(Point("maxent", (6, 8), 8, effect=0.8), 20)
    assert result["tables"] == result["by_moments"] == 20
    assert result["naive"] > 30
    assert result["power_exact"] is not None
    assert all(isinstance(text(result), str) for text in PART.columns.values())


def test_points_are_chosen_by_name():
    assert chosen(()) == list(GRID)
    assert chosen((GRID[3].name,)) == [GRID[3]]
    with pytest.raises(BadRequest, match="no point"):
        list(PART.measure(Wish(points=("maxent-3x3-3",))))
