"""A map: areas of a geography with boundaries.

Percentages colour their areas, in classes that are not finer than the noise; an area whose interval spans two classes is
hatched. Counts are circles whose area is the count: a coloured area would make large empty land look full. An area without
a number is grey. A second variable makes one map per category. The projection is cylindrical equal-area, with m the latitude
of the middle, lon and lat in radians:

    x = lon cos(m)     y = sin(lat) / cos(m)

Points are rounded to a tenth of a pixel, and repeated points are dropped. A file holds the outlines of its areas. On a page
the map refers to a document with all outlines of a geography (`outline_document`), which a browser fetches once.

Sources: Slocum et al. (2022), Thematic Cartography, chapters 15 and 18; Snyder (1987), Map Projections, section 10.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.model.boundaries import Boundaries, Polygon, Ring, Shape, ring_area
from discreet.model.dataset import Dataset
from discreet.model.hierarchy import level_names
from discreet.model.messages.text import message, nearest
from discreet.pictures.chart_data import Axis, ChartData, chart_classes
from discreet.pictures.charts import Chart, Misfit
from discreet.pictures.charts.bars import Record, mark_attributes
from discreet.pictures.charts.heat_map import class_entries
from discreet.pictures.svg import SMALL, Attributes, Pen, Piece, document, element, stack, text_width, wrap

#: The longest side of a map in pixels, alone and beside others.
LONGEST, LONGEST_OF_MANY = 760, 370
#: Maps beside each other.
MOST_MAPS = 6
#: More points are not drawn.
MOST_POINTS = 200_000
#: Areas of a level that are named.
MOST_NAMES = 30
#: The area of the largest circle, in square pixels.
LARGEST_CIRCLE = 2_000
#: Circles of the largest size would cover at most this part of the sheet.
LAND_COVERED = 0.5
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Sheet:
    """Areas laid out on a picture: the outline of each in pixels, in the given order, and the size of all."""

    shapes: list[Shape]
    width: int
    height: int


def project_shapes(shapes: list[Shape], longest: float = LONGEST) -> Sheet:
    """Areas on a picture."""
    everything = np.concatenate([polygon[0] for shape in shapes for polygon in shape])
    middle = np.radians((everything[:, 1].min() + everything[:, 1].max()) / 2)
    flat = _project_ring(everything, middle)
    corner, size = flat.min(axis=0), np.ptp(flat, axis=0)
    scale = longest / max(size)
    placed = [[_project_polygon(polygon, middle, corner, scale) for polygon in shape] for shape in shapes]
    width, height = np.ceil(size * scale).astype(int).tolist()
    return Sheet(placed, width, height)


def _project_ring(ring: Ring, middle: float) -> NDArray[np.float64]:
    lon, lat = np.radians(ring).T
    return np.column_stack([lon * np.cos(middle), -np.sin(lat) / np.cos(middle)])


def _project_polygon(polygon: Polygon, middle: float, corner: NDArray[np.float64], scale: float) -> Polygon:
    """A polygon in pixels without repeated points; a polygon of one pixel keeps its points."""
    rings = []
    for ring in polygon:
        points = np.round((_project_ring(ring, middle) - corner) * scale, 1)
        kept = np.concatenate([[True], (np.diff(points, axis=0) != 0).any(axis=1)])
        rings.append(points[kept] if kept.sum() >= 4 else points)
    return rings


def label_point(shape: Shape) -> tuple[float, float]:
    """The centroid of the largest part of a shape: the place of its symbol.

    >>> square = np.array([[0.0, 0], [2, 0], [2, 2], [0, 2], [0, 0]])
    >>> label_point([[square]])
    (1.0, 1.0)
    """
    ring = max((polygon[0] for polygon in shape), key=lambda each: abs(ring_area(each)))
    start = ring[0]
    x, y = (ring - start).T
    cross = x[:-1] * y[1:] - x[1:] * y[:-1]
    if not cross.sum():
        return float(ring[:, 0].mean()), float(ring[:, 1].mean())
    at = [float(((part[:-1] + part[1:]) * cross).sum() / (3 * cross.sum())) for part in (x, y)]
    return round(at[0] + float(start[0]), 1), round(at[1] + float(start[1]), 1)


@dataclass(frozen=True, slots=True)
class Outline:
    """One area: its path, its id in the document of outlines, the point of its symbol and its box."""

    id: str
    path: str
    centre: tuple[float, float]
    box: Box
    points: int


@dataclass(frozen=True, slots=True)
class Outlines:
    """The areas of the levels of a geography on one sheet, by variable and code."""

    levels: dict[str, dict[str, Outline]]
    width: int
    height: int


@lru_cache(maxsize=32)
def _outlines(levels: tuple[tuple[str, Boundaries], ...]) -> Outlines:
    """Boundaries are the same objects as long as a dataset is open."""
    named = [(name, code, shape) for name, each in levels for code, shape in each.shapes.items()]
    sheet = project_shapes([shape for _, _, shape in named])
    found: dict[str, dict[str, Outline]] = {name: {} for name, _ in levels}
    for (name, code, _), shape in zip(named, sheet.shapes, strict=True):
        points = np.concatenate([ring for polygon in shape for ring in polygon])
        box = (*points.min(axis=0).tolist(), *points.max(axis=0).tolist())
        path = "".join(_ring_path(ring) for polygon in shape for ring in polygon)
        where = label_point(shape)
        found[name][code] = Outline(f"{name}-{len(found[name])}", path, where, box, len(points))
    return Outlines(found, sheet.width, sheet.height)


def _ring_path(ring: Ring) -> str:
    """A ring in tenths of a pixel, by steps from point to point: whole numbers are short."""
    tenths = np.round(ring[:-1] * 10).astype(int)
    steps = " ".join(f"{x} {y}" for x, y in np.diff(tenths, axis=0).tolist())
    return f"M{tenths[0, 0]} {tenths[0, 1]}l{steps}z"


def outlines_of(dataset: Dataset, variable: str) -> Outlines:
    """The outlines of a variable and of the coarser levels that have boundaries."""
    levels = [name for name in level_names(dataset, variable) if name in dataset.boundaries]
    return _outlines(tuple((name, dataset.boundaries[name]) for name in levels))


def outline_document(dataset: Dataset, variable: str) -> str:
    """All outlines of a geography, for `<use>` in maps of pages."""
    known = outlines_of(dataset, variable)
    paths = [
        element("path", id=each.id, d=each.path) for level in known.levels.values() for each in level.values()
    ]
    return document(Piece(element("defs", "".join(paths)), 0, 0))


@dataclass(frozen=True)
class _Map:
    """What the maps of a picture share: the axis of areas, their outlines, the part in sight, and pixels per unit."""

    shown: ChartData
    areas: Axis
    variable: str
    known: Outlines
    parts: dict[str, list[Outline]]
    view: Box
    longest: float

    @property
    def unit(self) -> float:
        """The length of a pixel on the sheet."""
        return max(self.view[2] - self.view[0], self.view[3] - self.view[1]) / self.longest

    def shape(self, outlines: list[Outline], **attributes: object) -> str:
        """An area; on a page it refers to the document of outlines."""
        base = self.shown.picture.outlines
        if not base:
            path = "".join(each.path for each in outlines)
            return element("path", **attributes, d=path)
        address = f"{base}/{self.variable}?format=svg&version={self.shown.release.digest[:8]}"
        if len(outlines) == 1:
            return element("use", **attributes, href=f"{address}#{outlines[0].id}")
        used = "".join(element("use", href=f"{address}#{each.id}") for each in outlines)
        return element("g", used, **attributes)

    def sheet(self, body: str) -> Piece:
        """The part in sight as a piece."""
        x, y, right, bottom = self.view
        width, height = (right - x) / self.unit, (bottom - y) / self.unit
        box = f"{x:.6g} {y:.6g} {right - x:.6g} {bottom - y:.6g}"
        return Piece(element("svg", body, width=width, height=height, viewBox=box), width, height)


def draw(shown: ChartData) -> Piece:
    """One map, or one per category of the second variable, with its legend unless the page has it."""
    areas = _areas(shown)[0]
    others = [axis for axis in shown.axes if axis is not areas]
    groups = [(label, axis.name) for axis in others for label in axis.labels] or [("", "")]
    variable, parts = _parts(shown, areas)
    known = outlines_of(shown.release.dataset, variable)
    longest = LONGEST if len(groups) == 1 else LONGEST_OF_MANY
    drawn = _Map(shown, areas, variable, known, parts, _view(shown, known), longest)
    maps = []
    for label, name in groups:
        records = [record for record in shown.records if not name or record[name] == label]
        one = _choropleth(drawn, records) if shown.percent else _circles(drawn, records)
        title = Pen(shown.look).paragraph([label] if label else [], "ink", bold=True)
        maps.append(stack([title, one], 4))
    whole = stack(maps, 24, columns=2)
    if shown.picture.bare or not shown.percent:
        return whole
    entries = [(role, f"{label} ({shown.number(count)})") for role, label, count in class_entries(shown)]
    return stack([whole, Pen(shown.look).legend(shown.value_title, entries, whole.width)], 12)


def _view(shown: ChartData, known: Outlines) -> Box:
    """The part of the sheet in sight: all of it, or the area that is zoomed to with what is around it."""
    margin = 4.0
    if not shown.picture.zoom:
        return -margin, -margin, known.width + margin, known.height + margin
    name, _, code = shown.picture.zoom.partition("=")
    places = {f"{level}={each}": one for level, codes in known.levels.items() for each, one in codes.items()}
    if shown.picture.zoom not in places:
        raise BadRequest(
            message('The map has no area "{zoom}".', zoom=shown.picture.zoom),
            nearest(code, known.levels.get(name, known.levels)),
        )
    x, y, right, bottom = places[shown.picture.zoom].box
    half = 0.6 * max((right - x) / known.width, (bottom - y) / known.height, 0.02)
    middle = (x + right) / 2, (y + bottom) / 2
    across, down = known.width * half, known.height * half
    return middle[0] - across, middle[1] - down, middle[0] + across, middle[1] + down


def _choropleth(drawn: _Map, records: list[Record]) -> Piece:
    shown, pen = drawn.shown, Pen(drawn.shown.look)
    classes, land, unsure = chart_classes(shown), [], []
    for record in records:
        outlines, value = drawn.parts[record[drawn.areas.name]], record.get("_value")
        role = "absent" if value is None else classes.roles[classes.of(value)]
        land.append(drawn.shape(outlines, **mark_attributes(record), **pen.fill(role)))
        if "_low" in record and classes.of(record["_low"]) != classes.of(record["_high"]):
            unsure.append(drawn.shape(outlines, data_unsure=record["_cell"]))
    width = 6 * drawn.unit
    lines = pen.line(f"M{width / 4:.6g},0v{width:.6g}", "ground", width / 5)
    lines += pen.line(f"M{width * 0.75:.6g},0v{width:.6g}", "ink", width / 8)
    # The pattern is in tenths of a pixel, as the outlines are.
    turn = {"patternUnits": "userSpaceOnUse", "patternTransform": "rotate(45) scale(10)"}
    hatch = element("pattern", lines, id="hatch", width=width, height=width, **turn)
    over = element("g", "".join(unsure), fill="url(#hatch)", pointer_events="none", aria_hidden="true")
    body = element("defs", hatch) * bool(unsure) + _scaled(drawn, land, over if unsure else "")
    return drawn.sheet(body + _outer(drawn, pen))


def _scaled(drawn: _Map, land: list[str], over: str = "") -> str:
    """Areas in their own units, a tenth of a pixel."""
    ground = {"stroke": drawn.shown.look.ground, "stroke_width": 7 * drawn.unit, "class_": "c-ground e"}
    return element("g", element("g", "".join(land), **ground) + over, transform="scale(0.1)")


def _circles(drawn: _Map, records: list[Record]) -> Piece:
    """Circles over pale land; the largest first, so that none hides a smaller one."""
    shown, pen, unit = drawn.shown, Pen(drawn.shown.look), drawn.unit
    x, y, right, bottom = drawn.view
    most = min(LARGEST_CIRCLE, LAND_COVERED * (right - x) * (bottom - y) / unit**2 / len(records))
    largest = max((value for value in shown.values.tolist() if value > 0), default=1.0)
    land, circles = [], []

    def radius(value: float) -> float:
        return float(np.sqrt(most * value / largest / np.pi)) * unit

    for record in sorted(records, key=lambda record: -record.get("_value", 0)):
        outlines, has_circle = drawn.parts[record[drawn.areas.name]], record.get("_value", 0) > 0
        role = "grid" if "_value" in record else "absent"
        named = (
            {} if has_circle else mark_attributes(record)
        )  # only an area without a circle has a description
        land.append(drawn.shape(outlines, **named, **pen.fill(role)))
        if has_circle:
            cx, cy = outlines[0].centre
            circle = {"cx": cx, "cy": cy, "r": radius(record["_value"]), "fill_opacity": 0.75}
            circles.append(element("circle", **mark_attributes(record), **pen.fill("s1"), **circle))
    body = _scaled(drawn, land) + "".join(circles) + _outer(drawn, pen)
    sizes = [size for size in _round_sizes(largest) if most * size / largest > 3]
    return stack([drawn.sheet(body), _size_legend(shown, [(size, radius(size) / unit) for size in sizes])], 8)


def _size_legend(shown: ChartData, sizes: list[tuple[float, float]]) -> Piece:
    """Numbers and the radii of their circles, in one line."""
    pen = Pen(shown.look)
    parts, x, height = [pen.text(0, 12, shown.value_title, "ink", bold=True)], 0.0, 20.0
    for size, r in sizes:
        parts.append(element("circle", cx=x + r, cy=24 + r, r=r, fill_opacity=0.75, **pen.fill("s1")))
        parts.append(pen.text(x + 2 * r + 6, 28 + r, shown.number(size), "ink"))
        x, height = x + 2 * r + 30 + text_width(shown.number(size)), max(height, 28 + 2 * r)
    return Piece("".join(parts), max(x, text_width(shown.value_title)), height)


def _outer(drawn: _Map, pen: Pen) -> str:
    """The outlines of the next coarser level, and names: of the areas if they are few, else of that level."""
    dataset, known = drawn.shown.release.dataset, drawn.known
    upper = [*known.levels][-2:-1]
    outer = known.levels[upper[0]] if upper else {}
    way = {"transform": "scale(0.1)", "pointer_events": "none", **pen.stroke("ink", 11 * drawn.unit)}
    lines = element("g", "".join(drawn.shape([each]) for each in outer.values()), **way) if outer else ""
    names: list[tuple[str, Outline]] = []
    if len(drawn.parts) <= MOST_NAMES:
        names = [(label, max(found, key=_box_size)) for label, found in drawn.parts.items()]
    elif 0 < len(outer) <= MOST_NAMES:
        labels = {each.code: each.label for each in dataset.variable(upper[0]).categories}
        names = [(labels[code], each) for code, each in outer.items()]
    return lines + "".join(_name(drawn, pen, label, each) for label, each in names)


def _box_size(outline: Outline) -> float:
    x, y, right, bottom = outline.box
    return (right - x) * (bottom - y)


def _name(drawn: _Map, pen: Pen, label: str, outline: Outline) -> str:
    """The name of an area on its ground, if it is not much wider than the area."""
    size, (left, _, right, _) = SMALL * drawn.unit, outline.box
    lines = wrap(label, right - left, size)
    if not lines or max(text_width(line, size) for line in lines) > 1.5 * (right - left):
        return ""
    x, y = outline.centre
    halo: Attributes = {
        "paint_order": "stroke",
        "stroke": pen.look.ground,
        "stroke_width": 3 * drawn.unit,
        "stroke_linejoin": "round",
    }
    shown: Attributes = {
        "size": size,
        "anchor": "middle",
        "aria_hidden": "true",
        "pointer_events": "none",
        "bold": True,
        **halo,
    }
    first = y - (len(lines) - 2) * 0.55 * size - 0.2 * size
    texts = (
        pen.text(x, first + place * 1.1 * size, line, "ink", **shown) for place, line in enumerate(lines)
    )
    return "".join(texts).replace('class="c-ink f"', 'class="c-ink f halo"')


def _round_sizes(largest: float) -> list[float]:
    """Three round numbers for the legend of circles.

    >>> _round_sizes(13008)
    [1000, 5000, 10000]
    """
    power = 10 ** (len(str(int(largest))) - 1)
    top = next((step * power for step in (5, 2, 1) if step * power <= largest), power)
    return sorted({value for value in (top, top // 2, top // 10) if value >= 1})


def _areas(shown: ChartData) -> list[Axis]:
    return [axis for axis in (*shown.axes, *shown.fixed) if _parts(shown, axis)[1]]


def _parts(shown: ChartData, axis: Axis) -> tuple[str, dict[str, list[Outline]]]:
    """The variable of the outlines, and the outlines of each category, of groups by members; none if one is unknown."""
    dataset = shown.release.dataset
    level = dict(shown.release.request.levels).get(axis.name, (axis.name,))[-1]
    for variable in dict.fromkeys((level, axis.name)):
        if variable not in dataset.boundaries:
            continue
        outlines = outlines_of(dataset, variable).levels[variable]
        outputs = [axis.dimension.outputs[place] for place in axis.places]
        own = [
            [output.code] if output.code in outlines else [axis.dimension.base[m] for m in output.members]
            for output in outputs
        ]
        if all(codes and all(code in outlines for code in codes) for codes in own):
            labelled = zip(axis.labels, own, strict=True)
            return variable, {label: [outlines[code] for code in codes] for label, codes in labelled}
    return axis.name, {}


def zoom_places(shown: ChartData) -> Iterator[tuple[str, str]]:
    """The areas that a map can show alone, and their labels: those of the coarser level, or its own if it has none."""
    variable, parts = _parts(shown, _areas(shown)[0])
    dataset = shown.release.dataset
    *coarser, own = outlines_of(dataset, variable).levels
    name = coarser[-1] if coarser else own
    for each in dataset.variable(name).categories if parts else ():
        yield f"{name}={each.code}", each.label


def misfit(shown: ChartData) -> Misfit | None:
    """A geography with boundaries, and at most one other variable of few categories."""
    found = _areas(shown)
    if not found:
        return Misfit(
            message("none of its variables has boundaries for all areas that it shows."),
            message("Show a level of a geography whose `boundaries` the dataset declares."),
        )
    areas = found[0]
    others = [axis for axis in shown.axes if axis is not areas]
    if len(others) > 1 or any(len(axis) > MOST_MAPS for axis in others):
        return Misfit(
            message(
                "a map shows areas by at most one other variable of up to {most} categories.", most=MOST_MAPS
            ),
            message("Filter or group the other variables."),
        )
    if sum(each.points for outlines in _parts(shown, areas)[1].values() for each in outlines) > MOST_POINTS:
        return Misfit(
            message("its areas have more than {most:,} points.", most=MOST_POINTS),
            message("Show a coarser level, or filter."),
        )
    return None


CHART = Chart("map", message("Map"), "a geography with boundaries", misfit, draw, place=90, chosen=False)
