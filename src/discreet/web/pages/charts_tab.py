"""What a page shows of a table: the table itself, a chart or a map, by tabs that are links.

    show=table    show=chart&chart=bars    show=map

The picture is the server's own SVG, inline, without title and note, which stand on the page; below it its sentences, what
its marks mean, other kinds that fit, and the table behind it. `js/chart.js` lets its marks speak.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from markupsafe import Markup

from discreet.errors import BadRequest
from discreet.formats.svg import PICTURES
from discreet.inference.table_view import add_picture
from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.model.view import Picture
from discreet.pictures.chart_data import ChartData, chart_data, describe_chart
from discreet.pictures.charts import Chart, chart_of, explained, fitting
from discreet.pictures.svg import svg_of
from discreet.web.admission import PICTURE, reserve_cells
from discreet.web.i18n.messages import gettext
from discreet.web.pages import links as snippets
from discreet.web.pages.display_options import WAYS, DisplayOptions

MAP = "map"


@dataclass(frozen=True, slots=True)
class Tab:
    """A link to another way to see the table."""

    label: str
    href: str
    current: bool


@dataclass(frozen=True, slots=True)
class ChartView:
    """A picture on a page, or why there is none.

    Args:
        svg: The picture.
        told: Its sentences.
        explained: What its lines and marks mean.
        refused: Why there is none, and what to do.
        kinds: The charts that fit the table.
    """

    svg: Markup
    told: str
    explained: tuple[str, ...]
    refused: str
    kinds: tuple[Tab, ...]


@dataclass(frozen=True, slots=True)
class ChartTabs:
    """Tabs, the picture if one is shown, and the kind that files have; without tabs where pictures are not installed."""

    tabs: tuple[Tab, ...]
    drawn: ChartView | None
    chart: str


def chart_tabs(reading: DisplayOptions, release: Release, also: snippets.QueryItems) -> ChartTabs:
    """The tabs of a table, and its picture where the address asks for one.

    Args:
        reading: How the page shows it.
        release: The table, viewed.
        also: The parameters of the view and the version.
    """
    if PICTURES.missing:
        return ChartTabs((), None, "")
    way, kinds = reading.show or WAYS[0], _fitting(release)
    best = next((kind.name for kind in kinds if kind.chosen), "")
    ways = [each for each in WAYS if each != MAP or way == MAP or any(kind.name == MAP for kind in kinds)]
    labels = {"table": gettext("Table"), "chart": gettext("Chart"), "map": gettext("Map")}
    path = _TabLinks(release.request, reading, also)
    tabs = tuple(Tab(labels[each], path.to(each), each == way) for each in ways)
    if way == WAYS[0]:
        return ChartTabs(tabs, None, best)
    drawn, chart = _draw(release, MAP if way == MAP else reading.chart, kinds, path)
    return ChartTabs(tabs, drawn, chart or best)


@dataclass(frozen=True, slots=True)
class _TabLinks:
    """Addresses of one table, seen in other ways."""

    request: TableRequest
    reading: DisplayOptions
    also: snippets.QueryItems

    def to(self, way: str, chart: str = "") -> str:
        """The same table, seen so."""
        seen = replace(self.reading, show="" if way == WAYS[0] else way, chart=chart)
        return snippets.page_path(self.request, [*self.also, *seen.to_query()])


def _fitting(release: Release) -> tuple[Chart, ...]:
    """The kinds that fit; none where nothing could be drawn."""
    try:
        return fitting(chart_data(add_picture(release, Picture())))
    except BadRequest:
        return ()


def _draw(release: Release, name: str, kinds: tuple[Chart, ...], path: _TabLinks) -> tuple[ChartView, str]:
    """The picture, and the kind that was drawn; none where it does not fit."""
    charts = [kind for kind in kinds if MAP not in {kind.name, name}]
    try:
        what = chart_data(add_picture(release, Picture(name, bare=True)), gettext)
        chart = chart_of(what)
    except BadRequest as error:
        tabs = tuple(Tab(gettext(kind.label), path.to("chart", kind.name), False) for kind in charts)
        return ChartView(Markup(), "", (), f"{gettext(error.message)} {gettext(error.advice)}", tabs), ""
    tabs = tuple(Tab(gettext(kind.label), path.to("chart", kind.name), kind is chart) for kind in charts)
    return ChartView(
        _svg(what), describe_chart(chart.label, what), tuple(explained(chart, what)), "", tabs
    ), chart.name


def _svg(what: ChartData) -> Markup:
    """The picture; whatever stands in it is text, since Vega writes XML."""
    reserve_cells(PICTURE)
    return Markup(svg_of(what))  # noqa: S704 - our own picture, whose texts are escaped where it is made
