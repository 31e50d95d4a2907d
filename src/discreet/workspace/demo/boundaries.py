"""The map of Halvern, drawn from a seed: small areas in districts in regions, without gaps or overlaps.

Points are thrown into a country between points of the sea, and each area is all that is nearer to its point than to any
other (a Voronoi cell). The points are cut in two, across their longer side, as often as there are regions, districts and
areas, each cut in proportion to the areas on its sides. A district is the union of its areas: an edge that two of them share
runs once in each direction and is taken out, and what is left is its boundary. So all levels share the same points, and
nothing lies between them.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from discreet.model.boundaries import ring_area
from discreet.workspace.demo.chance import PLACES, words
from discreet.workspace.demo.geography import (
    area_variable,
    areas_of_districts,
    district_variable,
    region_of_district,
    region_variable,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.workspace.demo.description import Variable

    Points = NDArray[np.float64]
    Cells = list[list[int]]

#: Where the country lies, in degrees: its middle, and how far it reaches to each side.
MIDDLE, REACH = np.array([-18.0, 47.0]), np.array([3.0, 1.5])
#: The sea is thrown around the country: so much farther out.
SEA = 1.35
DECIMALS = 5


def census_boundaries(rows: int, *, seed: int) -> dict[str, bytes]:
    """The GeoJSON of the regions, districts and small areas of a census with `rows` records, by variable."""
    counts = areas_of_districts(rows)
    corners, cells = _areas(int(counts.sum()), seed)
    points = np.array([corners[cell].mean(axis=0) for cell in cells])
    of_region = np.bincount(region_of_district(), counts).astype(np.int64)
    ordered = [
        area
        for region, group in enumerate(_parted(np.arange(len(cells)), points, of_region))
        for district in _parted(group, points, counts[region_of_district() == region])
        for area in district.tolist()
    ]
    ends = {"region": of_region, "district": counts, "area": np.ones(len(cells), dtype=np.int64)}
    variables = {"region": region_variable(), "district": district_variable(), "area": area_variable(rows)}
    return {
        name: _geojson(
            variables[name], [_union([cells[a] for a in group]) for group in _groups(ordered, sizes)], corners
        )
        for name, sizes in ends.items()
    }


def _groups(ordered: list[int], sizes: NDArray[np.int64]) -> list[list[int]]:
    """Areas in their order, so many at a time."""
    ends = np.cumsum(sizes).tolist()
    return [ordered[end - size : end] for end, size in zip(ends, sizes.tolist(), strict=True)]


def _areas(count: int, seed: int) -> tuple[Points, Cells]:
    """The corners of all cells, and for each area the places of its own, against the clock."""
    from scipy.spatial import Voronoi  # noqa: PLC0415 - only the demo draws a country

    points = _thrown(2 * count, seed)
    inside = np.argsort(_depth(points, seed))[:count]
    for _ in range(2):  # towards points of equal distance, as towns are
        diagram = Voronoi(points)
        for place, region in enumerate(diagram.point_region):
            corners = diagram.regions[region]
            if corners and -1 not in corners and np.abs(diagram.vertices[corners]).max() < SEA:
                points[place] = diagram.vertices[corners].mean(axis=0)
    diagram = Voronoi(points)
    cells = [
        _turned(diagram.regions[diagram.point_region[place]], diagram.vertices) for place in inside.tolist()
    ]
    return diagram.vertices, cells


def _thrown(count: int, seed: int) -> Points:
    """Points in a square, and four far corners, so that every cell of the country has an end."""
    chance = words(seed, PLACES, 10_000_000, count)[:, :2].astype(np.float64) / 2**32
    far = np.array([[-9, -9], [-9, 9], [9, -9], [9, 9]])
    return np.concatenate([(2 * chance - 1) * SEA, far])


def _depth(points: Points, seed: int) -> NDArray[np.float64]:
    """How far from the middle a point lies, on a coast with bays: the smallest are the country."""
    phases = words(seed, PLACES, 20_000_000, 6)[:, 0].astype(np.float64) / 2**32 * 2 * np.pi
    angle = np.arctan2(points[:, 1], points[:, 0])
    coast = 1 + sum(0.2 / wave * np.sin(wave * angle + phase) for wave, phase in enumerate(phases, 2))
    return np.asarray(np.hypot(*points.T) / coast)


def _turned(corners: list[int], vertices: Points) -> list[int]:
    x, y = vertices[corners].T
    area = float(x @ np.roll(y, -1) - y @ np.roll(x, -1))
    return corners if area > 0 else corners[::-1]


def _parted(places: NDArray[np.int64], points: Points, sizes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The places in groups of these sizes, each in one piece of land: cut in two until one group is left."""
    if len(sizes) == 1:
        return [places]
    half = max(1, int(np.searchsorted(np.cumsum(sizes), sizes.sum() / 2)))
    mine = points[places]
    along = int(np.argmax(np.ptp(mine, axis=0) * REACH))
    ordered = places[np.argsort(mine[:, along], kind="stable")]
    cut = int(sizes[:half].sum())
    return [*_parted(ordered[:cut], points, sizes[:half]), *_parted(ordered[cut:], points, sizes[half:])]


def _union(cells: Cells) -> list[list[int]]:
    """The rings around cells that lie side by side: edges that no neighbour runs backwards."""
    edges = {edge for cell in cells for edge in zip(cell, [*cell[1:], cell[0]], strict=True)}
    after = {start: end for start, end in edges if (end, start) not in edges}
    rings = []
    while after:
        start, place = after.popitem()
        ring = [start]
        while place != start:
            ring.append(place)
            place = after.pop(place)
        rings.append([*ring, start])
    return rings


def _geojson(variable: Variable, rings: list[list[list[int]]], corners: Points) -> bytes:
    degrees = np.round(corners * REACH + MIDDLE, DECIMALS)
    features = [
        {
            "type": "Feature",
            "properties": {"code": category.code},
            "geometry": {"type": "MultiPolygon", "coordinates": _polygons([degrees[ring] for ring in own])},
        }
        for category, own in zip(variable.categories, rings, strict=True)
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}, separators=(",", ":")).encode()


def _polygons(rings: list[Points]) -> list[list[list[list[float]]]]:
    """Outer rings run against the clock; a ring with it is a hole of the outer ring around it."""
    outer = [ring for ring in rings if ring_area(ring) > 0]
    polygons = [[ring.tolist()] for ring in outer]
    for hole in (ring for ring in rings if ring_area(ring) <= 0):
        around = [place for place, ring in enumerate(outer) if _inside(hole[0], ring)]
        polygons[min(around, key=lambda place: ring_area(outer[place]))].append(hole.tolist())
    return polygons


def _inside(point: Points, ring: Points) -> bool:
    """Whether a ray from a point crosses a ring an odd number of times."""
    (x, y), (ax, ay), (bx, by) = point, ring[:-1].T, ring[1:].T
    crosses = (ay > y) != (by > y)
    at = ax[crosses] + (y - ay[crosses]) / (by[crosses] - ay[crosses]) * (bx[crosses] - ax[crosses])
    return bool((at > x).sum() % 2)
