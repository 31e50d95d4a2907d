"""The invented country of Halvern: regions, districts and small areas, and their map.

`data/places.toml` has eleven regions and 110 districts, each region with a share of the population and a character.
About one area per 400 persons, at least one per district. Populations are log-normal and add up to the records; the
kind of each neighbourhood (campus, retirement coast, estate, ...) is drawn given its region and district:

    persons_a proportional to exp(0.45 z_a),   P(kind | region, district) proportional to mix exp(s z).

The map is a Voronoi diagram of random points inside a coast. Recursive bisection across the longer side assigns cells to
regions, districts and areas. A district is the union of its cells: an edge between two of them occurs once in each direction
and is removed. So all levels share the same points, without gaps or overlaps.
"""

import json
import tomllib
from dataclasses import dataclass
from enum import IntEnum
from importlib.resources import files
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.model.boundaries import ring_area
from discreet.model.file_io import toml_string
from discreet.model.variable import Category, Variable
from discreet.workspace.demo.dice import PLACES, Dice, apportion, normals, philox_words

Character = Literal["capital", "city", "industrial", "coastal", "rural", "border"]


@dataclass(frozen=True, slots=True)
class Region:
    """A region: its share of the population and who lives there.

    Args:
        name: The label of the region.
        share: The share of the country's neighbourhoods.
        character: What kinds of neighbourhood it has.
        born_elsewhere: Shares born in neighbouring countries, the rest of Europe, Asia, anywhere else.
        districts: The names of its districts, the largest first.
    """

    name: str
    share: float
    character: Character
    born_elsewhere: tuple[float, float, float, float]
    districts: tuple[str, ...]


def data_text(name: str) -> str:
    """A file of figures or text in `data/`."""
    return files("discreet.workspace.demo").joinpath("data", name).read_text("utf-8")


REGIONS = tuple(
    Region(**each | {"born_elsewhere": tuple(each["born_elsewhere"]), "districts": tuple(each["districts"])})
    for each in tomllib.loads(data_text("places.toml"))["region"]
)
DISTRICTS: int = sum(len(region.districts) for region in REGIONS)

PERSONS_PER_AREA = 400
SPREAD_OF_SIZES = 0.45


#: What kind of neighbourhood an area is; how well off it is, campuses apart; what work there is around it.
Kind = IntEnum("Kind", "TOWN SUBURB ESTATE INNER_CITY CAMPUS RETIREMENT VILLAGE GARRISON", start=0)
Milieu = IntEnum("Milieu", "DEPRIVED ORDINARY PROSPEROUS CAMPUS", start=0)
Economy = IntEnum("Economy", "CAPITAL ORDINARY INDUSTRIAL RURAL GARRISON", start=0)
ORIGIN_LEVELS = 4

#: Which kinds a region has, and what an area of a kind is like; the file says what each table is.
_FIGURES = tomllib.loads(data_text("geography.toml"))
_ECONOMY_OF_CHARACTER = {"capital": Economy.CAPITAL, "industrial": Economy.INDUSTRIAL}


@dataclass(frozen=True, slots=True)
class Areas:
    """The small areas in geographical order; area a holds the records ends[a-1] to ends[a] - 1."""

    ends: NDArray[np.int64]
    district: NDArray[np.int16]
    region: NDArray[np.int8]
    kind: NDArray[np.uint8]
    milieu: NDArray[np.uint8]
    origin: NDArray[np.uint8]
    economy: NDArray[np.uint8]

    def of_records(self, first: int, last: int) -> NDArray[np.int32]:
        """The area of each record from `first` to `last` - 1: they lie one area after the other."""
        low, high = np.searchsorted(self.ends, [first, last - 1], side="right")
        inner = np.clip(self.ends[low : high + 1], first, last)
        lengths = np.diff(inner, prepend=first)
        return np.repeat(np.arange(low, high + 1, dtype=np.int32), lengths)


def region_of_district() -> NDArray[np.int8]:
    """The region of each district, by position."""
    return np.repeat(np.arange(len(REGIONS), dtype=np.int8), [len(r.districts) for r in REGIONS])


def areas_of_districts(rows: int, most: int | None = None) -> NDArray[np.int64]:
    """How many areas each district has when the census has `rows` records; `most` bounds their total.

    >>> int(areas_of_districts(1_500_000).sum()), int(areas_of_districts(10).min())
    (3750, 1)
    """
    wanted = round(rows / PERSONS_PER_AREA)
    count = max(DISTRICTS, wanted if most is None else min(wanted, most))
    return 1 + apportion(count - DISTRICTS, _district_weights())


def _district_weights() -> NDArray[np.float64]:
    """The share of each district: within its region the first is largest, the others fall off slowly."""
    by_region = []
    for region in REGIONS:
        falling = (np.arange(len(region.districts)) + 1.5) ** -0.6
        by_region.append(region.share * falling / falling.sum())
    return np.concatenate(by_region)


def draw_areas(rows: int, seed: int, most: int | None = None) -> Areas:
    """Draw the areas of a census with `rows` records: who lives where is decided here."""
    district = np.repeat(np.arange(DISTRICTS, dtype=np.int16), areas_of_districts(rows, most))
    region = region_of_district()[district]
    chance = philox_words(seed, PLACES, DISTRICTS, len(district))
    sizes = apportion(rows, np.exp(SPREAD_OF_SIZES * normals(chance[:, 0])))
    kind = Dice.with_weights(_kind_weights(seed)).throw(district.astype(np.int64), chance[:, 1])
    kinds = kind.astype(np.int64)
    milieu = Dice.with_weights(np.array(_FIGURES["milieu_of_kind"])).throw(kinds, chance[:, 2])
    origin = Dice.with_weights(np.array(_FIGURES["origin_of_kind"])).throw(kinds, chance[:, 3])
    return Areas(sizes.cumsum(), district, region, kind, milieu, origin, _economies()[region, kind])


def _kind_weights(seed: int) -> NDArray[np.float64]:
    """The weights of the kinds in each district: its region's mix, tilted by a random draw."""
    tilt = np.exp(np.array(_FIGURES["district_spread"]) * normals(philox_words(seed, PLACES, 0, DISTRICTS)))
    mix = np.array([_FIGURES["kinds"][region.character] for region in REGIONS])
    weights: NDArray[np.float64] = mix[region_of_district()] * tilt
    return weights


def _economies() -> NDArray[np.uint8]:
    by_region = [_ECONOMY_OF_CHARACTER.get(region.character, Economy.ORDINARY) for region in REGIONS]
    table = np.repeat(np.array(by_region, dtype=np.uint8)[:, None], len(Kind), axis=1)
    table[:, Kind.VILLAGE] = Economy.RURAL
    table[:, Kind.GARRISON] = Economy.GARRISON
    return table


def census_places(rows: int, most: int | None = None) -> list[Variable]:
    """The levels of the geography of a census with `rows` records: R01, ..., R01D01, ..., R01D01A001, ..."""
    regions = [Category(f"R{r:02}", region.name) for r, region in enumerate(REGIONS, 1)]
    districts = [
        Category(f"R{r:02}D{d:02}", name, f"R{r:02}")
        for r, region in enumerate(REGIONS, 1)
        for d, name in enumerate(region.districts, 1)
    ]
    counts = areas_of_districts(rows, most).tolist()
    width = max(3, len(str(max(counts))))
    areas = [
        Category(f"{district.code}A{number:0{width}}", f"{district.label} {number:0{width}}", district.code)
        for district, count in zip(districts, counts, strict=True)
        for number in range(1, count + 1)
    ]
    levels = {
        "region": (regions, "Region", "The region in which a person usually lives, on census day."),
        "district": (
            districts,
            "District",
            "The district in which a person usually lives. Every district lies within one region.",
        ),
        "area": (
            areas,
            "Small area",
            "A neighbourhood within one district: the smallest area for which there are tables.",
        ),
    }
    return [
        Variable(name, label, tuple(categories), description=described)
        for name, (categories, label, described) in levels.items()
    ]


def variable_block(variable: Variable, *, mapped: bool) -> str:
    """The `[[variable]]` table of a level, one category on each line; with the name of its GeoJSON file if `mapped`."""
    about = {"name": variable.name, "label": variable.label, "description": variable.description}
    lines = ["[[variable]]", *(f"{key} = {toml_string(value)}" for key, value in about.items())]
    lines += [f'boundaries = "{variable.name}.geojson"'] if mapped else []
    lines.append("categories = [")
    for each in variable.categories:
        parent = f", parent = {toml_string(each.parent)}" if each.parent else ""
        lines.append(f"  {{ code = {toml_string(each.code)}, label = {toml_string(each.label)}{parent} }},")
    return "\n".join([*lines, "]\n"])


Points = NDArray[np.float64]
Cells = list[list[int]]

#: Where the country lies, in degrees: its middle, and how far it reaches to each side.
MIDDLE, REACH = np.array([-18.0, 47.0]), np.array([3.0, 1.5])
#: How far random points reach beyond the country.
SEA = 1.35
DECIMALS = 5


def census_boundaries(rows: int, *, seed: int) -> dict[str, bytes]:
    """The GeoJSON of the regions, districts and small areas of a census with `rows` records, by variable."""
    counts = areas_of_districts(rows)
    corners, cells = _area_cells(int(counts.sum()), seed)
    points = np.array([corners[cell].mean(axis=0) for cell in cells])
    of_region = np.bincount(region_of_district(), counts).astype(np.int64)
    ordered = [
        area
        for region, group in enumerate(_split_groups(np.arange(len(cells)), points, of_region))
        for district in _split_groups(group, points, counts[region_of_district() == region])
        for area in district.tolist()
    ]
    found = {}
    sizes = (of_region, counts, np.ones(len(cells), dtype=np.int64))
    for variable, size in zip(census_places(rows), sizes, strict=True):
        groups = np.split(ordered, np.cumsum(size)[:-1])
        rings = [_union([cells[area] for area in group]) for group in groups]
        found[variable.name] = _geojson(variable, rings, corners)
    return found


def _area_cells(count: int, seed: int) -> tuple[Points, Cells]:
    """The corners of all cells, and for each area the places of its own, against the clock."""
    from scipy.spatial import Voronoi  # noqa: PLC0415 - only the demo draws a country

    points = _scatter_points(2 * count, seed)
    inside = np.argsort(_depth(points, seed))[:count]
    for _ in range(2):  # towards points of equal distance, as towns are
        diagram = Voronoi(points)
        for place, region in enumerate(diagram.point_region):
            corners = diagram.regions[region]
            if corners and -1 not in corners and np.abs(diagram.vertices[corners]).max() < SEA:
                points[place] = diagram.vertices[corners].mean(axis=0)
    diagram = Voronoi(points)
    cells = [
        _counter_clockwise(diagram.regions[diagram.point_region[place]], diagram.vertices)
        for place in inside.tolist()
    ]
    return diagram.vertices, cells


def _scatter_points(count: int, seed: int) -> Points:
    """Points in a square, and four far corners, so that every cell of the country has an end."""
    chance = philox_words(seed, PLACES, 10_000_000, count)[:, :2].astype(np.float64) / 2**32
    far = np.array([[-9, -9], [-9, 9], [9, -9], [9, 9]])
    return np.concatenate([(2 * chance - 1) * SEA, far])


def _depth(points: Points, seed: int) -> NDArray[np.float64]:
    """How far from the middle a point lies, on a coast with bays: the smallest are the country."""
    phases = philox_words(seed, PLACES, 20_000_000, 6)[:, 0].astype(np.float64) / 2**32 * 2 * np.pi
    angle = np.arctan2(points[:, 1], points[:, 0])
    coast = 1 + sum(0.2 / wave * np.sin(wave * angle + phase) for wave, phase in enumerate(phases, 2))
    return np.asarray(np.hypot(*points.T) / coast)


def _counter_clockwise(corners: list[int], vertices: Points) -> list[int]:
    x, y = vertices[corners].T
    area = float(x @ np.roll(y, -1) - y @ np.roll(x, -1))
    return corners if area > 0 else corners[::-1]


def _split_groups(
    places: NDArray[np.int64], points: Points, sizes: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """The places in groups of these sizes, each in one piece of land: cut in two until one group is left."""
    if len(sizes) == 1:
        return [places]
    half = max(1, int(np.searchsorted(np.cumsum(sizes), sizes.sum() / 2)))
    mine = points[places]
    along = int(np.argmax(np.ptp(mine, axis=0) * REACH))
    ordered = places[np.argsort(mine[:, along], kind="stable")]
    cut = int(sizes[:half].sum())
    return [
        *_split_groups(ordered[:cut], points, sizes[:half]),
        *_split_groups(ordered[cut:], points, sizes[half:]),
    ]


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
