"""The tabs of a table: the table itself, a chart or a map; each tab is a link.

    show=table    show=chart&chart=bars    show=map

A chart is inline SVG made on the server, without title and note, which the page has. Below it are its description,
a legend, other kinds of chart that fit, and the table. `js/chart.js` adds tooltips.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from markupsafe import Markup

from discreet.errors import BadRequest
from discreet.formats.svg import PICTURES
from discreet.inference.table_view import add_picture
from discreet.model.release import Release
from discreet.model.view import Picture
from discreet.pictures.chart_data import chart_data, describe_chart
from discreet.pictures.charts import Chart, chart_of, fitting, legend_lines
from discreet.pictures.svg import svg_of
from discreet.web.admission import PICTURE, reserve_cells
from discreet.web.i18n.messages import gettext
from discreet.web.pages.links import Link, QueryItems, page_path
from discreet.web.pages.page_request import WAYS, DisplayOptions

MAP = "map"


@dataclass(frozen=True, slots=True)
class ChartView:
    """A chart on a page, or why there is none.

    Args:
        svg: The chart.
        told: Its description.
        explained: The meaning of its lines and marks.
        refused: Why there is none, and what to do.
        kinds: Links to the charts that fit the table.
    """

    svg: Markup
    told: str
    explained: tuple[str, ...]
    refused: str
    kinds: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class ChartTabs:
    """The tabs, the chart if one is shown, and the kind for picture files; no tabs without the charts extra."""

    tabs: tuple[Link, ...]
    drawn: ChartView | None
    chart: str


def chart_tabs(display: DisplayOptions, release: Release, items: QueryItems) -> ChartTabs:
    """The tabs of a table, and its chart where the URL asks for one.

    Args:
        display: The display options of the page.
        release: The table with its view.
        items: The parameters of the view and the version.
    """
    if PICTURES.missing:
        return ChartTabs((), None, "")
    way = display.show or WAYS[0]
    try:
        kinds = fitting(chart_data(add_picture(release, Picture())))
    except BadRequest:  # nothing can be drawn
        kinds = ()
    best = next((kind.name for kind in kinds if kind.chosen), "")

    def path(way: str, chart: str = "") -> str:
        shown = replace(display, show="" if way == WAYS[0] else way, chart=chart)
        return page_path(release.request, [*items, *shown.to_query()])

    ways = [each for each in WAYS if each != MAP or way == MAP or any(kind.name == MAP for kind in kinds)]
    labels = {"table": gettext("Table"), "chart": gettext("Chart"), "map": gettext("Map")}
    tabs = tuple(Link(labels[each], path(each), each == way) for each in ways)
    if way == WAYS[0]:
        return ChartTabs(tabs, None, best)
    name = MAP if way == MAP else display.chart
    charts = {kind: path("chart", kind.name) for kind in kinds if MAP not in {kind.name, name}}
    view, chart = _draw(release, name, charts)
    return ChartTabs(tabs, view, chart or best)


def _draw(release: Release, name: str, charts: dict[Chart, str]) -> tuple[ChartView, str]:
    """The chart and its kind; the kind is empty where the chart does not fit."""
    try:
        data = chart_data(add_picture(release, Picture(name, bare=True)), gettext)
        chart = chart_of(data)
    except BadRequest as error:
        links = tuple(Link(gettext(kind.label), href) for kind, href in charts.items())
        why = f"{gettext(error.message)} {gettext(error.advice)}"
        return ChartView(Markup(), "", (), why, links), ""
    links = tuple(Link(gettext(kind.label), href, kind is chart) for kind, href in charts.items())
    reserve_cells(PICTURE)
    svg = Markup(svg_of(data))  # noqa: S704 - our own picture, whose texts Vega escapes
    return ChartView(
        svg, describe_chart(chart.label, data), tuple(legend_lines(chart, data)), "", links
    ), chart.name
