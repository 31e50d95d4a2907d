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
from discreet.pictures.charts import chart_of
from discreet.pictures.charts.heat_map import NO_NUMBER
from discreet.pictures.charts.map import label_point, project_shapes

#: Columns and rows of the areas, from the north-west.
PLACES = {"SW": (0, 1), "SE": (1, 1), "NW": (0, 0), "NE": (1, 0)}


def corners(picture):
    """The first corner of the outline of each cell."""
    found = re.findall(r'data-cell="0,(\d),\d" aria-label="(\w\w) side[^>]* d="M([-\d.]+),([-\d.]+)', picture)
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
    radii = re.findall(r'data-cell="0,(\d),0"[^>]* d="M([\d.]+),0A', picture)
    areas = [float(radius) ** 2 / release.values[int(place)] for place, radius in radii]
    plain = [float(radius) / release.values[int(place)] for place, radius in radii]
    assert len(radii) == 3
    assert max(areas) < 1.02 * min(areas)
    assert max(plain) > 1.2 * min(plain)
    assert "SW side: Not released" in picture, "an area without a number says why"


def test_an_area_without_a_percentage_is_grey(village, svg, hidden):
    picture = svg(percent(hidden(village(rows="area", columns="sex"), 0, 0)), "map")
    assert NO_NUMBER in picture
    assert re.search(r'aria-label="SW side, Male: Not released[^>]* fill="#C4CAD1"', picture)


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
    assert max(sheet.width, sheet.height) == 480
    assert sheet.shapes[1][0][0][:, 1].min() == 0, "north is at the top"


def test_points_that_fall_together_are_one():
    fine = [[np.column_stack([np.linspace(0, 1, 5000), np.zeros(5000)])]]
    ring = np.concatenate([fine[0][0], [[1, 1], [0, 1], [0, 0]]])
    assert project_shapes([[[ring]]], 100).points < 1200


def test_a_symbol_stands_in_the_largest_part():
    assert label_point([*box(0, 0, 1), *box(10, 10, 4)]) == (12.0, 12.0)
