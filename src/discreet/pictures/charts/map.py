"""A map: areas of a geography with boundaries.

Percentages colour their areas, in classes that are not finer than the noise. Counts are circles whose area is the count:
a coloured area would make large empty land look full. An area without a number is grey. A second variable makes one map
per category. The projection is cylindrical equal-area, with m the latitude of the middle, lon and lat in radians:

    x = lon cos(m)     y = sin(lat) / cos(m)

Points are rounded to a tenth of a pixel, and repeated points are dropped.

Sources: Slocum et al. (2022), Thematic Cartography, chapters 15 and 18; Snyder (1987), Map Projections, section 10.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.model.boundaries import Polygon, Ring, Shape, ring_area
from discreet.model.messages.text import message
from discreet.pictures.chart_data import Axis, ChartData, chart_classes
from discreet.pictures.charts import Chart, Misfit
from discreet.pictures.charts.heat_map import NO_NUMBER, class_colour
from discreet.pictures.library import alt

#: The longest side of a map in pixels.
LONGEST = 480


@dataclass(frozen=True, slots=True)
class Sheet:
    """Areas laid out on a picture: the outline of each in pixels, in the given order, and the size of all."""

    shapes: list[Shape]
    width: int
    height: int

    @property
    def points(self) -> int:
        return sum(len(ring) for shape in self.shapes for polygon in shape for ring in polygon)


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


Data = dict[str, list[dict[str, Any]]]
Placed = list[tuple[dict[str, Any], Shape]]

#: Maps beside each other.
MOST_MAPS = 6
#: More points are not drawn.
MOST_POINTS = 200_000
#: The area of the largest circle, in square pixels.
LARGEST_CIRCLE = 2_000
#: Circles of the largest size would cover at most this part of the sheet.
LAND_COVERED = 0.5


def draw(shown: ChartData) -> Any:
    """One map, or one per category of the second variable."""
    areas = _areas(shown)[0]
    others = [axis for axis in shown.axes if axis is not areas]
    groups = [(label, axis.name) for axis in others for label in axis.labels] or [("", "")]
    sheet = project_shapes(_shapes(shown, areas), LONGEST if len(groups) == 1 else 300)
    order = {label: number for number, label in enumerate(areas.labels)}
    data: Data = {}
    maps = []
    for label, name in groups:
        records = [record for record in shown.records if not name or record[name] == label]
        placed = [(record, sheet.shapes[order[record[areas.name]]]) for record in records]
        maps.append(_one(shown, sheet, placed, label, data))
    chart = maps[0] if len(maps) == 1 else alt.concat(*maps, columns=2, spacing=24)
    chart.datasets = data  # once, at the end: Altair copies what a chart holds at every step
    return chart


def _named_data(data: Data, records: list[dict[str, Any]]) -> Any:
    """A chart of a named dataset, which is added to `data`."""
    name = f"data-{len(data)}"
    data[name] = records
    return alt.Chart(alt.NamedData(name=name))


def _one(shown: ChartData, sheet: Sheet, placed: Placed, label: str, data: Data) -> Any:
    largest = min(LARGEST_CIRCLE, LAND_COVERED * sheet.width * sheet.height / len(placed))
    circles = shown.percent is None
    chart = _circles(shown, placed, largest, data) if circles else _choropleth(shown, placed, data)
    chart = chart.project(type="identity")
    title = {"title": alt.Title(label, anchor="middle", fontSize=13)} if label else {}
    return chart.properties(width=sheet.width, height=sheet.height, **title)


def _choropleth(shown: ChartData, placed: Placed, data: Data) -> Any:
    classes, features = chart_classes(shown), []
    for record, shape in placed:
        label = classes.labels[classes.of(record["_value"])] if "_value" in record else NO_NUMBER
        features.append(_feature(record, shape) | {"_class": shown.tell(label)})
    outline = _named_data(data, features).mark_geoshape(stroke=shown.look.domain, strokeWidth=0.5)
    return outline.encode(color=class_colour(classes, shown), description="_said:N")


def _circles(shown: ChartData, placed: Placed, widest: float, data: Data) -> Any:
    """Circles over pale land; the largest first, so that none hides a smaller one."""
    look = shown.look
    land, points = [], []
    for record, shape in placed:
        fill = {"_fill": look.grid if "_value" in record else look.absent}
        if record.get("_value", 0) > 0:
            points.append(record | dict(zip(("_x", "_y"), label_point(shape), strict=True)))
            fill["_said"] = ""  # only an area without a circle has a description
        land.append(_feature(record, shape) | fill)
    outline = _named_data(data, land).mark_geoshape(stroke=look.domain, strokeWidth=0.5)
    chart = outline.encode(fill=alt.Fill("_fill:N").scale(None).legend(None), description="_said:N")
    points.sort(key=lambda record: -record["_value"])
    size = alt.Size("_value:Q").title(shown.value_title)
    largest = max((value for value in shown.values.tolist() if value > 0), default=1)
    size = size.scale(domain=[0, largest], range=[0, widest], zero=True)
    size = size.legend(
        format=shown.value_format, values=_round_sizes(largest), symbolFillColor=look.series[0]
    )
    circles = _named_data(data, points).mark_circle(
        color=look.series[0], opacity=0.75, stroke=look.ground, strokeWidth=0.6
    )
    circles = circles.encode(longitude="_x:Q", latitude="_y:Q", size=size, description="_said:N")
    return alt.layer(chart, circles)


def _round_sizes(largest: float) -> list[float]:
    """Three round numbers for the legend of circles.

    >>> _round_sizes(13008)
    [1000, 5000, 10000]
    """
    power = 10 ** (len(str(int(largest))) - 1)
    top = next((step * power for step in (5, 2, 1) if step * power <= largest), power)
    return sorted({value for value in (top, top // 2, top // 10) if value >= 1})


def _feature(record: dict[str, Any], shape: Shape) -> dict[str, Any]:
    coordinates = [[ring.tolist() for ring in polygon] for polygon in shape]
    return record | {"type": "Feature", "geometry": {"type": "MultiPolygon", "coordinates": coordinates}}


def _areas(shown: ChartData) -> list[Axis]:
    return [axis for axis in (*shown.axes, *shown.fixed) if _shapes(shown, axis)]


def _shapes(shown: ChartData, axis: Axis) -> list[Shape]:
    """The outlines of the categories of an axis, of groups by their members; empty if one is unknown."""
    boundaries = shown.release.dataset.boundaries
    level = dict(shown.release.request.levels).get(axis.name, (axis.name,))[-1]
    own = boundaries[level].shapes if level in boundaries else {}
    parts = boundaries[axis.name].shapes if axis.name in boundaries else {}
    found = []
    for place in axis.places:
        output = axis.dimension.outputs[place]
        codes = [axis.dimension.base[member] for member in output.members]
        if output.code in own:
            found.append(own[output.code])
        elif codes and all(code in parts for code in codes):
            found.append([polygon for code in codes for polygon in parts[code]])
        else:
            return []
    return found


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
    if project_shapes(_shapes(shown, areas)).points > MOST_POINTS:
        return Misfit(
            message("its areas have more than {most:,} points.", most=MOST_POINTS),
            message("Show a coarser level, or filter."),
        )
    return None


CHART = Chart("map", message("Map"), "a geography with boundaries", misfit, draw, place=90, chosen=False)
