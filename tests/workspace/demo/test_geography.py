from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from discreet.workspace.demo.geography import (
    Economy,
    Kind,
    Milieu,
    area_variable,
    areas_of_districts,
    district_variable,
    draw_areas,
    region_variable,
)
from discreet.workspace.demo.places import DISTRICTS


@pytest.mark.parametrize("rows", [1, 7, 1_000, 60_000, 1_500_000])
def test_areas_hold_exactly_the_records(rows):
    areas = draw_areas(rows, seed=1)
    assert areas.ends[-1] == rows
    assert (np.diff(areas.ends, prepend=0) >= 0).all()
    assert len(areas.ends) == max(DISTRICTS, round(rows / 400)) == len(area_variable(rows).codes)
    assert areas_of_districts(rows).min() >= 1


@pytest.mark.parametrize("rows", [1, 50, 3_000])
def test_the_area_of_a_record_is_found_as_by_walking(rows):
    areas = draw_areas(rows, seed=2)
    sizes = np.diff(areas.ends, prepend=0)
    walked = [area for area, size in enumerate(sizes) for _ in range(size)]
    for first in range(0, rows, 37):
        last = min(first + 37, rows)
        assert areas.of_records(first, last).tolist() == walked[first:last]


def test_area_sizes_look_like_those_of_a_census():
    sizes = np.diff(draw_areas(1_500_000, seed=2026).ends, prepend=0)
    assert ((sizes >= 100) & (sizes <= 900)).mean() > 0.95
    low, middle, high = np.quantile(sizes, [0.05, 0.5, 0.95])
    assert 120 < low < 220
    assert 320 < middle < 400
    assert 650 < high < 950


def test_codes_and_names_are_unique_and_every_parent_exists():
    variables = [region_variable(), district_variable(), area_variable(1_500_000)]
    for variable in variables:
        assert len(set(variable.codes)) == len(variable.codes)
        assert len({category.label for category in variable.categories}) == len(variable.codes)
    for coarse, fine in pairwise(variables):
        assert {category.parent for category in fine.categories} == set(coarse.codes)


def test_positions_of_areas_agree_with_their_codes():
    areas, codes = draw_areas(200_000, seed=4), area_variable(200_000).codes
    district_codes, region_codes = district_variable().codes, region_variable().codes
    for area, code in enumerate(codes):
        assert code.startswith(district_codes[areas.district[area]])
        assert code.startswith(region_codes[areas.region[area]])


def test_every_kind_of_neighbourhood_occurs_and_decides_its_milieu_and_economy():
    areas = draw_areas(1_500_000, seed=2026)
    assert set(areas.kind.tolist()) == set(Kind)
    assert set(areas.economy.tolist()) == set(Economy)
    assert (areas.milieu[areas.kind == Kind.CAMPUS] == Milieu.CAMPUS).all()
    assert (areas.economy[areas.kind == Kind.GARRISON] == Economy.GARRISON).all()
    assert not (areas.milieu[areas.kind == Kind.ESTATE] == Milieu.PROSPEROUS).any()


def test_another_seed_draws_other_areas():
    one, other = draw_areas(100_000, seed=1), draw_areas(100_000, seed=2)
    assert not np.array_equal(one.ends, other.ends)
    assert not np.array_equal(one.kind, other.kind)


def test_a_bound_on_areas_keeps_the_people_and_the_country_without_one():
    """A census of 30 million would have a table of areas beyond every limit; one below the bound must not change."""
    bounded = draw_areas(60_000, 2026, most=120)
    assert len(bounded.ends) == 120
    assert bounded.ends[-1] == 60_000
    assert len(area_variable(60_000, 120).categories) == 120
    assert np.array_equal(draw_areas(60_000, 2026, most=150).ends, draw_areas(60_000, 2026).ends)
    assert areas_of_districts(60_000, 1).min() == 1  # every district has one
