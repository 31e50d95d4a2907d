"""A map: every number stands on its own area; counts are circles, percentages colours.

Shapes keep their relative size on paper, whatever their latitude.
"""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import BadRequest
from discreet.inference.table_view import apply_view
from discreet.model.boundaries import Boundaries, ring_area
from discreet.model.view import View
from discreet.pictures.chart_data import chart_classes
from discreet.pictures.charts import chart_of, draw
from discreet.pictures.charts.heat_map import NO_NUMBER, class_entries
from discreet.pictures.charts.map import LONGEST, label_point, outline_document, project_shapes, zoom_places

#: Columns and rows of the areas, from the north-west.
PLACES = {"SW": (0, 1), "SE": (1, 1), "NW": (0, 0), "NE": (1, 0)}


def corners(picture):
    """The first corner of the outline of each cell."""
    found = re.findall(r'data-cell="0,(\d),\d" aria-label="(\w\w) side[^>]* d="M([-\d]+) ([-\d]+)l', picture)
    return {code: (float(x), float(y)) for _, code, x, y in found}


def right(picture):
    """Whether each area is west, east, north and south of the others as it must be."""
    at = corners(picture)
    wests, easts = ([at[c][0] for c in PLACES if PLACES[c][0] == side] for side in (0, 1))
    norths, souths = ([at[c][1] for c in PLACES if PLACES[c][1] == side] for side in (0, 1))
    return max(wests) < min(easts) and max(norths) < min(souths)


def percent(release):
    return apply_view(release, View(percent="row"))


def test_every_percentage_stands_on_its_own_area(village, svg):
    """Wrong alternative: two areas that changed places."""
    release = percent(village(rows="area", columns="sex", filters={"sex": ["1"]}))
    assert right(svg(release, "map"))
    document = json.loads(release.dataset.boundaries["area"].content)
    first, last = document["features"][0]["properties"], document["features"][3]["properties"]
    first["code"], last["code"] = last["code"], first["code"]
    swapped = replace(release.dataset, boundaries={"area": Boundaries(json.dumps(document).encode())})
    assert not right(svg(replace(release, dataset=swapped), "map"))


def test_a_circle_has_the_area_of_its_count(village, svg, hidden):
    """Wrong alternative: a radius in proportion, which makes twice as many look like four times as many."""
    release = village(rows="area")
    picture = svg(hidden(release, 0), "map")
    radii = re.findall(r'<circle [^>]*data-cell="0,(\d),0"[^>]* r="([\d.]+)"', picture)
    areas = [float(radius) ** 2 / release.values[int(place)] for place, radius in radii]
    plain = [float(radius) / release.values[int(place)] for place, radius in radii]
    assert len(radii) == 3
    assert max(areas) < 1.02 * min(areas)
    assert max(plain) > 1.2 * min(plain)
    assert "SW side: Not released" in picture, "an area without a number says why"


def test_an_area_without_a_percentage_is_grey(village, svg, hidden):
    picture = svg(percent(hidden(village(rows="area", columns="sex"), 0, 0)), "map")
    assert NO_NUMBER in picture
    assert re.search(r'aria-label="SW side, Male: Not released[^>]* fill="#C3CCCB"', picture)


def test_a_coarser_level_is_drawn_by_its_parts(village, svg):
    levels = svg(village(rows="area", levels={"area": "region"}), "map")
    assert levels.count('data-cell="') == 2


def test_a_table_without_boundaries_or_with_too_much_beside_them_is_refused(village, see):
    with pytest.raises(BadRequest, match="has boundaries"):
        chart_of(see(village(rows="region"), "map"))
    with pytest.raises(BadRequest, match="at most one other variable"):
        chart_of(see(village(rows="area", columns="sex", layers="job"), "map"))


def box(lon, lat, size):
    east, north = lon + size, lat + size
    return [[np.array([[lon, lat], [east, lat], [east, north], [lon, north], [lon, lat]], dtype=float)]]


def on_sphere(lat, size):
    """The area of a box between two parallels, in units of the sphere's square radius."""
    return np.radians(size) * (np.sin(np.radians(lat + size)) - np.sin(np.radians(lat)))


def test_areas_keep_their_relative_size():
    """Wrong alternative: degrees as they are, by which the north looks almost twice as large as it is."""
    south, north = box(0, 40, 8), box(0, 64, 8)
    sheet = project_shapes([south, north])
    drawn = [abs(ring_area(shape[0][0])) for shape in sheet.shapes]
    assert drawn[1] / drawn[0] == pytest.approx(on_sphere(64, 8) / on_sphere(40, 8), rel=0.02)
    assert drawn[1] / drawn[0] < 0.7
    assert max(sheet.width, sheet.height) == LONGEST
    assert sheet.shapes[1][0][0][:, 1].min() == 0, "north is at the top"


def test_points_that_fall_together_are_one():
    fine = [[np.column_stack([np.linspace(0, 1, 5000), np.zeros(5000)])]]
    ring = np.concatenate([fine[0][0], [[1, 1], [0, 1], [0, 0]]])
    assert len(project_shapes([[[ring]]], 100).shapes[0][0][0]) < 1200


def test_an_area_is_hatched_where_its_interval_spans_two_classes(village, see):
    """Wrong alternative: every area looks as sure as any other."""
    what = see(percent(village(rows="area", columns="sex", filters={"sex": ["1"]})), "map")
    classes = chart_classes(what)
    unsure = {r["_cell"] for r in what.records if classes.of(r["_low"]) != classes.of(r["_high"])}
    assert 0 < len(unsure) < len(what.records) or len(classes.limits) == 0
    assert set(re.findall('data-unsure="([^"]+)"', draw(what))) == unsure
    counted = sum(count for _, _, count in class_entries(what))
    assert counted == len(what.records)


def test_a_page_refers_to_outlines_that_hold_every_area_once(village, see):
    """Wrong alternative: the shapes of all areas in every page."""
    release = village(rows="area")
    page = draw(see(release, "map", bare=True, outlines="/b"))
    used = re.findall(r'href="/b/area\?format=svg&amp;version=\w{8}#([\w-]+)"', page)
    held = re.findall(r'<path id="([\w-]+)"', outline_document(release.dataset, "area"))
    assert sorted(used) == sorted(held)
    assert len(used) == 4
    assert len(page) < len(draw(see(release, "map", bare=True))) + 4 * len(used) * 20


def test_a_map_shows_one_area_and_what_is_around_it(village, see):
    release = village(rows="area")
    assert [place for place, _ in zoom_places(see(release))] == [
        f"area={code}" for code in ("SW", "SE", "NW", "NE")
    ]
    whole, part = (
        [
            float(x)
            for x in re.findall(r'<svg [^>]*viewBox="([^"]+)"', draw(see(release, "map", zoom=zoom)))[
                1
            ].split()
        ]
        for zoom in ("", "area=NE")
    )
    assert part[2] < 0.7 * whole[2]
    assert part[0] > whole[0] + whole[2] / 3, "the east"
    assert part[1] < whole[1] + whole[3] / 3, "the north"
    with pytest.raises(BadRequest, match='no area "area=XX"'):
        draw(see(release, "map", zoom="area=XX"))


def test_a_symbol_stands_in_the_largest_part():
    assert label_point([*box(0, 0, 1), *box(10, 10, 4)]) == (12.0, 12.0)
