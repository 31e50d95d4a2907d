"""Boundaries of areas: GeoJSON and TopoJSON give the same shapes; whatever does not fit the codes is named."""

import json

import numpy as np
import pytest

from discreet.errors import BadDescription
from discreet.model import boundaries
from discreet.model.boundaries import read_boundaries, ring_area
from discreet.model.variable import Category, Variable

CATEGORIES = (Category("W", "West <b>"), Category("E", "East"), Category("U", "Unknown"))
TWO = Variable("area", "Area", CATEGORIES, not_stated="U")
WEST = [[0, 50], [1, 50], [1, 51], [0, 51], [0, 50]]
EAST = [[1, 50], [2, 50], [2, 51], [1, 51], [1, 50]]


def feature(code, ring):
    geometry = {"type": "Polygon", "coordinates": [ring]}
    return {"type": "Feature", "properties": {"code": code}, "geometry": geometry}


def geojson(*more, **rings):
    return {"type": "FeatureCollection", "features": [*(feature(*each) for each in rings.items()), *more]}


def read(document):
    return read_boundaries(json.dumps(document).encode(), TWO)


def test_a_topology_gives_the_shapes_of_its_geojson():
    """Two squares that share an arc, which one of them runs backwards. Wrong alternative: it is run forwards."""
    arcs = [
        [[10, 0], [0, 10]],
        [[10, 10], [-10, 0], [0, -10], [10, 0]],
        [[10, 0], [10, 0], [0, 10], [-10, 0]],
    ]
    geometries = [
        {"type": "Polygon", "arcs": [[0, 1]], "properties": {"area": "W"}},
        {"type": "MultiPolygon", "arcs": [[[2, -1]]], "id": "E"},
    ]
    topology = {
        "type": "Topology",
        "transform": {"scale": [0.1, 0.1], "translate": [0, 50]},
        "objects": {"area": {"type": "GeometryCollection", "geometries": geometries}},
        "arcs": arcs,
    }
    found, expected = read(topology).shapes, read(geojson(W=WEST, E=EAST)).shapes
    for code in "WE":
        one, other = (set(map(tuple, shapes[code][0][0].tolist())) for shapes in (found, expected))
        assert one == other
        assert ring_area(found[code][0][0]) == pytest.approx(2)
    geometries[1]["arcs"] = [[[2, 0]]]
    with pytest.raises(BadDescription):
        read(topology)


def test_what_is_kept_is_in_the_order_of_the_categories_and_turns_against_the_clock():
    kept = read(geojson(E=EAST[::-1], W=WEST))
    features = json.loads(kept.content)["features"]
    assert [f["properties"]["code"] for f in features] == ["W", "E"]
    assert [f["properties"]["label"] for f in features] == ["West <b>", "East"]
    assert all(ring_area(np.array(f["geometry"]["coordinates"][0][0])) > 0 for f in features)
    assert read_boundaries(kept.content, TWO).content == kept.content


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (geojson(W=WEST), "lack 'E'"),
        (geojson(W=WEST, E=EAST, X=WEST), "have 'X', which \"area\" does not have"),
        (geojson(feature("W", WEST), W=WEST, E=EAST), "'W' twice"),
        (geojson(W=WEST[:-1], E=EAST), "a ring of 'W' is open"),
        (geojson(W=[[0, 50], [1, 50], [0, 50], [0, 50]], E=EAST), "no area"),
        (geojson(W=[[x * 1000, y] for x, y in WEST], E=EAST), "'W' has the position"),
        (geojson(W=[[float("nan"), 50], *WEST[1:-1], [float("nan"), 50]], E=EAST), "a ring of 'W'"),
        (geojson({"properties": {}, "geometry": None}), "no GeoJSON or TopoJSON"),
        ({"type": "Feature"}, "no GeoJSON or TopoJSON"),
        ([1], "no JSON"),
    ],
)
def test_what_does_not_fit_is_named(document, why):
    with pytest.raises(BadDescription, match=why) as refused:
        read(document)
    assert refused.value.advice


def test_points_are_bounded(monkeypatch):
    monkeypatch.setattr(boundaries, "MOST_POINTS", 9)
    with pytest.raises(BadDescription, match="more than 9 points"):
        read(geojson(W=WEST, E=EAST))


def test_a_file_is_beside_its_description():
    for name in ("../areas.geojson", "/etc/passwd", ".hidden", "a\\b"):
        with pytest.raises(BadDescription, match="Name a file that stands beside"):
            Variable("area", "Area", (Category("W", "West"),), boundaries=name)
