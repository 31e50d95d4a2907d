"""The chart or map of a table's page: the kinds that fit, the picture as inline SVG, its legend, and areas to zoom to.

The SVG has no title and note, which the page has. A map refers to outlines that the browser fetches once
(`/api/datasets/ID/boundaries/VARIABLE?format=svg`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from discreet.errors import BadRequest
from discreet.inference.table_view import add_picture
from discreet.model.release import Release
from discreet.model.view import Picture
from discreet.pictures.chart_data import ChartData, chart_data, describe_chart
from discreet.pictures.charts import Chart, chart_of, draw, fitting, legend_lines
from discreet.pictures.charts.heat_map import class_entries
from discreet.pictures.charts.map import zoom_places
from discreet.web.admission import PICTURE, reserve_cells
from discreet.web.i18n.translation import gettext
from discreet.web.pages.page_request import WAYS, DisplayOptions
from discreet.web.urls import Link, QueryItems, link, page_path

MAP = "map"


@dataclass(frozen=True, slots=True)
class Tab(Link):
    """A way to see the table, with the name of its icon."""

    icon: str = ""


def chart_tabs(display: DisplayOptions, release: Release, items: QueryItems) -> dict[str, Any]:
    """The tabs of a table, the picture if the URL asks for one, and its kind for picture files."""
    way = display.show or WAYS[0]
    try:
        data = chart_data(add_picture(release, Picture()), gettext)
        kinds = fitting(data)
    except BadRequest:  # nothing can be drawn
        data, kinds = None, ()
    best = next((kind.name for kind in kinds if kind.chosen), "")

    def path(way: str, chart: str = "", zoom: str = "") -> str:
        shown = replace(display, show="" if way == WAYS[0] else way, chart=chart, zoom=zoom)
        return page_path(release.request, [*items, *shown.to_query()])

    ways = [each for each in WAYS if each != MAP or way == MAP or any(kind.name == MAP for kind in kinds)]
    labels = {"table": gettext("Table"), "chart": gettext("Chart"), "map": gettext("Map")}
    tabs = tuple(Tab(labels[each], path(each), each == way, each) for each in ways)
    if way == WAYS[0] or data is None:
        return {"tabs": tabs, "drawn": None, "chart": best}
    name = MAP if way == MAP else display.chart
    charts = {kind: path("chart", kind.name) for kind in kinds if MAP not in {kind.name, name}}
    outlines = link(f"/api/datasets/{release.request.dataset}/boundaries")
    picture = replace(data.picture, chart=name, bare=True, zoom=display.zoom, outlines=outlines)
    drawn = _draw(replace(data, release=replace(data.release, picture=picture)), charts)
    if drawn["problem"] or name != MAP:
        return {"tabs": tabs, "chart": drawn.pop("chart", best), "drawn": drawn}
    zooms = [
        Link(label, place, place == display.zoom)
        for place, label in [("", gettext("All")), *zoom_places(data)]
    ]
    form = [*release.request.to_query(), *items, *replace(display, zoom="").to_query()]
    return {"tabs": tabs, "chart": drawn.pop("chart"), "drawn": drawn | {"zooms": zooms, "parameters": form}}


def _draw(data: ChartData, charts: dict[Chart, str]) -> dict[str, Any]:
    """The picture with its description and legend, or why it is refused; links to the charts that fit."""

    def links(drawn: Chart | None = None) -> tuple[Link, ...]:
        return tuple(Link(gettext(kind.label), href, kind is drawn) for kind, href in charts.items())

    try:
        chart = chart_of(data)
        reserve_cells(PICTURE)
        svg = Markup(draw(data))  # noqa: S704 - our own picture, whose texts are escaped
    except BadRequest as error:
        return {"problem": f"{gettext(error.message)} {gettext(error.advice)}", "kinds": links()}
    return {
        "chart": chart.name,
        "name": chart.name,
        "svg": svg,
        "description": describe_chart(chart.label, data),
        "title": data.value_title,
        "classes": list(_map_legend(data)) if chart.name == MAP and data.percent else [],
        "unsure": svg.count("data-unsure"),
        "legend": tuple(legend_lines(chart, data)),
        "problem": "",
        "kinds": links(chart),
        "zooms": [],
    }


def _map_legend(data: ChartData) -> Iterator[tuple[str, str, int, int]]:
    """The role of each class, its range, its number of areas, and their part of the largest class in percent."""
    entries = class_entries(data)
    most = max(count for _, _, count in entries) or 1
    for role, label, count in reversed(entries):
        yield role, label, count, round(100 * count / most)
