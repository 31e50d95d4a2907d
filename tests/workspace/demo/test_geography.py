"""The invented country and its map: no gaps, no overlaps, areas within districts within regions, the same from a seed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from discreet.model.boundaries import read_boundaries, ring_area
from discreet.model.description.dataset_toml import parse_dataset
from discreet.workspace.demo import census_description
from discreet.workspace.demo.geography import (
    DISTRICTS,
    areas_of_districts,
    census_boundaries,
    census_places,
    draw_areas,
)


@pytest.mark.parametrize("rows", [1, 7, 1_000, 60_000, 1_500_000])
def test_areas_hold_exactly_the_records(rows):
    areas = draw_areas(rows, seed=1)
    assert areas.ends[-1] == rows
    assert (np.diff(areas.ends, prepend=0) >= 0).all()
    assert len(areas.ends) == max(DISTRICTS, round(rows / 400)) == len(census_places(rows)[-1].codes)
    assert areas_of_districts(rows).min() >= 1


@pytest.mark.parametrize("rows", [1, 50, 3_000])
def test_the_area_of_a_record_is_found_as_by_walking(rows):
    areas = draw_areas(rows, seed=2)
    sizes = np.diff(areas.ends, prepend=0)
    walked = [area for area, size in enumerate(sizes) for _ in range(size)]
    for first in range(0, rows, 37):
        last = min(first + 37, rows)
        assert areas.of_records(first, last).tolist() == walked[first:last]


def test_a_bound_on_areas_keeps_the_people_and_the_country_without_one():
    """A census of 30 million would have a table of areas beyond every limit; one below the bound must not change."""
    bounded = draw_areas(60_000, 2026, most=120)
    assert len(bounded.ends) == 120
    assert bounded.ends[-1] == 60_000
    assert len(census_places(60_000, 120)[-1].categories) == 120
    assert np.array_equal(draw_areas(60_000, 2026, most=150).ends, draw_areas(60_000, 2026).ends)
    assert areas_of_districts(60_000, 1).min() == 1  # every district has one


ROWS = 60_000
LEVELS = ("region", "district", "area")


@pytest.fixture(scope="module")
def shapes():
    dataset = parse_dataset(census_description(ROWS, mapped=True))
    drawn = census_boundaries(ROWS, seed=2026)
    return {name: read_boundaries(drawn[name], dataset.variable(name)).shapes for name in LEVELS}


def area(shape):
    return sum(ring_area(ring) for polygon in shape for ring in polygon)


def edges(shape):
    return [
        edge
        for polygon in shape
        for ring in polygon
        for edge in zip(map(tuple, ring[:-1]), map(tuple, ring[1:]), strict=True)
    ]


def covered_once(cells):
    """Whether every edge is run at most once in each direction, and all outer edges make the coast."""
    every = [edge for shape in cells for edge in edges(shape)]
    return len(every) == len(set(every))


def test_every_level_covers_the_country_once(shapes):
    """Wrong alternatives: an area drawn twice, and an area left out."""
    whole = {name: sum(map(area, level.values())) for name, level in shapes.items()}
    assert whole["region"] == pytest.approx(whole["district"]) == pytest.approx(whole["area"])
    coasts = []
    for level in shapes.values():
        assert covered_once(level.values())
        every = {edge for shape in level.values() for edge in edges(shape)}
        coasts.append({edge for edge in every if edge[::-1] not in every})
    assert coasts[0] == coasts[1] == coasts[2]
    some = list(shapes["area"].values())
    assert not covered_once([*some, some[0]])
    assert sum(map(area, some[1:])) != pytest.approx(whole["region"])


@pytest.mark.parametrize(("coarse", "fine"), [("region", "district"), ("district", "area")])
def test_levels_are_nested(shapes, coarse, fine):
    """Wrong alternative: a district whose land is that of another region."""
    parts = dict.fromkeys(shapes[coarse], 0.0)
    corners = {code: set() for code in parts}
    for code, shape in shapes[fine].items():
        parts[code[: len(next(iter(parts)))]] += area(shape)
        corners[code[: len(next(iter(parts)))]] |= set(edges(shape))
    for code, shape in shapes[coarse].items():
        assert area(shape) == pytest.approx(parts[code])
        assert set(edges(shape)) <= corners[code]
    first, second = list(shapes[coarse])[:2]
    assert not set(edges(shapes[coarse][first])) <= corners[second]


def test_the_map_is_that_of_its_seed(shapes):
    again, other = (json.loads(census_boundaries(ROWS, seed=seed)["region"]) for seed in (2026, 2027))
    first = np.array(again["features"][0]["geometry"]["coordinates"][0][0])
    assert {tuple(point) for point in first.tolist()} == {
        tuple(point) for point in shapes["region"]["R01"][0][0].tolist()
    }
    assert again != other
