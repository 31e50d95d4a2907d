"""A map: areas of a geography whose boundaries are known.

Percentages colour their areas, in classes that are not finer than the noise. Counts are circles whose area is the count: a
coloured area would make large empty land look full. An area without a number is grey. A second variable makes one map a
category.

Sources: Slocum et al. (2022), Thematic Cartography, chapters 15 and 18.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.model.told import told
from discreet.pictures.charts import Chart, Misfit
from discreet.pictures.charts.heat_map import NO_NUMBER, class_colour
from discreet.pictures.classes import classes_of
from discreet.pictures.shapes import LONGEST, label_point, laid_out

if TYPE_CHECKING:
    from discreet.model.boundaries import Shape
    from discreet.pictures.shapes import Sheet
    from discreet.pictures.shown import Axis, Shown

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


def draw(shown: Shown) -> Any:
    """One map, or one a category of the second variable."""
    from discreet.pictures.library import alt

    areas = _areas(shown)[0]
    others = [axis for axis in shown.axes if axis is not areas]
    groups = [(label, axis.name) for axis in others for label in axis.labels] or [("", "")]
    sheet = laid_out(_shapes(shown, areas), LONGEST if len(groups) == 1 else 300)
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


def _named(data: Data, records: list[dict[str, Any]]) -> Any:
    """A chart of records that are kept beside it."""
    from discreet.pictures.library import alt

    name = f"data-{len(data)}"
    data[name] = records
    return alt.Chart(alt.NamedData(name=name))


def _one(shown: Shown, sheet: Sheet, placed: Placed, label: str, data: Data) -> Any:
    from discreet.pictures.library import alt

    largest = min(LARGEST_CIRCLE, LAND_COVERED * sheet.width * sheet.height / len(placed))
    chart = (
        _circles(shown, placed, largest, data) if shown.percent is None else _coloured(shown, placed, data)
    )
    chart = chart.project(type="identity")
    title = {"title": alt.Title(label, anchor="middle", fontSize=13)} if label else {}
    return chart.properties(width=sheet.width, height=sheet.height, **title)


def _coloured(shown: Shown, placed: Placed, data: Data) -> Any:
    """Areas in the colour of their class."""
    classes = classes_of(shown)
    labels = [
        classes.labels[classes.of(record["_value"])] if "_value" in record else NO_NUMBER
        for record, _ in placed
    ]
    features = [
        _feature(record, shape) | {"_class": shown.tell(label)}
        for (record, shape), label in zip(placed, labels, strict=True)
    ]
    outline = _named(data, features).mark_geoshape(stroke=shown.look.domain, strokeWidth=0.5)
    return outline.encode(color=class_colour(classes, shown), description="_said:N")


def _circles(shown: Shown, placed: Placed, widest: float, data: Data) -> Any:
    """Circles over pale land; the largest first, so that none hides a smaller one."""
    from discreet.pictures.library import alt

    look = shown.look
    land = [_feature(record, shape) | _land(record, shown) for record, shape in placed]
    outline = _named(data, land).mark_geoshape(stroke=look.domain, strokeWidth=0.5)
    chart = outline.encode(fill=alt.Fill("_fill:N").scale(None).legend(None), description="_said:N")
    points = [
        record | dict(zip(("_x", "_y"), label_point(shape), strict=True))
        for record, shape in placed
        if record.get("_value", 0) > 0
    ]
    points.sort(key=lambda record: -record["_value"])
    size = alt.Size("_value:Q").title(shown.value_title)
    largest = max((value for value in shown.values.tolist() if value > 0), default=1)
    size = size.scale(domain=[0, largest], range=[0, widest], zero=True)
    size = size.legend(
        format=shown.value_format, values=_round_sizes(largest), symbolFillColor=look.series[0]
    )
    circles = _named(data, points).mark_circle(
        color=look.series[0], opacity=0.75, stroke=look.ground, strokeWidth=0.6
    )
    return alt.layer(
        chart, circles.encode(longitude="_x:Q", latitude="_y:Q", size=size, description="_said:N")
    )


def _land(record: dict[str, Any], shown: Shown) -> dict[str, Any]:
    """How land looks under its circle; it speaks only where it has none."""
    silent = {"_said": ""} if record.get("_value", 0) > 0 else {}
    return {"_fill": shown.look.grid if "_value" in record else shown.look.absent} | silent


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


def _areas(shown: Shown) -> list[Axis]:
    """The variables whose areas can be drawn; the first is."""
    return [axis for axis in (*shown.axes, *shown.fixed) if _shapes(shown, axis)]


def _shapes(shown: Shown, axis: Axis) -> list[Shape]:
    """The outlines of what an axis shows: of a level by its own code, of a group all its members; none if one is unknown."""
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


def misfit(shown: Shown) -> Misfit | None:
    """A geography with boundaries, and at most one other variable of few categories."""
    found = _areas(shown)
    if not found:
        return Misfit(
            told("none of its variables has boundaries for all areas that it shows."),
            told("Show a level of a geography whose `boundaries` the dataset declares."),
        )
    areas = found[0]
    others = [axis for axis in shown.axes if axis is not areas]
    if len(others) > 1 or any(len(axis) > MOST_MAPS for axis in others):
        return Misfit(
            told(
                "a map shows areas by at most one other variable of up to {most} categories.", most=MOST_MAPS
            ),
            told("Filter or group the other variables."),
        )
    if laid_out(_shapes(shown, areas)).points > MOST_POINTS:
        return Misfit(
            told("its areas have more than {most:,} points.", most=MOST_POINTS),
            told("Show a coarser level, or filter."),
        )
    return None


CHART = Chart("map", told("Map"), "a geography with boundaries", misfit, draw, place=90, chosen=False)
