"""What a page shows of a table: the table itself, a chart or a map, by tabs that are links.

    show=table    show=chart&chart=bars    show=map

The picture is the server's own SVG, inline, without title and note, which stand on the page; below it its sentences, what
its marks mean, other kinds that fit, and the table behind it. `js/chart.js` lets its marks speak.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from markupsafe import Markup

from discreet.errors import BadRequest
from discreet.formats.svg import PICTURES
from discreet.inference.pictured import pictured
from discreet.model.picture import Picture
from discreet.pictures.charts import chart_of, explained, fitting
from discreet.pictures.shown import shown
from discreet.pictures.svg import svg_of
from discreet.pictures.told import words_of
from discreet.server import snippets
from discreet.server.in_flight import PICTURE, take
from discreet.server.reading import WAYS
from discreet.server.words import say

if TYPE_CHECKING:
    from discreet.model.release import Release
    from discreet.model.request import TableRequest
    from discreet.pictures.charts import Chart
    from discreet.pictures.shown import Shown
    from discreet.server.reading import Reading

MAP = "map"


@dataclass(frozen=True, slots=True)
class Tab:
    """A link to another way to see the table."""

    label: str
    href: str
    current: bool


@dataclass(frozen=True, slots=True)
class Drawn:
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
class Seeing:
    """Tabs, the picture if one is shown, and the kind that files have; without tabs where pictures are not installed."""

    tabs: tuple[Tab, ...]
    drawn: Drawn | None
    chart: str


def seeing(reading: Reading, release: Release, also: snippets.Also) -> Seeing:
    """The tabs of a table, and its picture where the address asks for one.

    Args:
        reading: How the page shows it.
        release: The table, viewed.
        also: The parameters of the view and the version.
    """
    if PICTURES.missing:
        return Seeing((), None, "")
    way, kinds = reading.show or WAYS[0], _fitting(release)
    best = next((kind.name for kind in kinds if kind.chosen), "")
    ways = [each for each in WAYS if each != MAP or way == MAP or any(kind.name == MAP for kind in kinds)]
    labels = {"table": say("Table"), "chart": say("Chart"), "map": say("Map")}
    path = _Path(release.request, reading, also)
    tabs = tuple(Tab(labels[each], path.to(each), each == way) for each in ways)
    if way == WAYS[0]:
        return Seeing(tabs, None, best)
    drawn, chart = _drawn(release, MAP if way == MAP else reading.chart, kinds, path)
    return Seeing(tabs, drawn, chart or best)


@dataclass(frozen=True, slots=True)
class _Path:
    """Addresses of one table, seen in other ways."""

    request: TableRequest
    reading: Reading
    also: snippets.Also

    def to(self, way: str, chart: str = "") -> str:
        """The same table, seen so."""
        seen = replace(self.reading, show="" if way == WAYS[0] else way, chart=chart)
        return snippets.page_path(self.request, [*self.also, *seen.to_query()])


def _fitting(release: Release) -> tuple[Chart, ...]:
    """The kinds that fit; none where nothing could be drawn."""
    try:
        return fitting(shown(pictured(release, Picture())))
    except BadRequest:
        return ()


def _drawn(release: Release, name: str, kinds: tuple[Chart, ...], path: _Path) -> tuple[Drawn, str]:
    """The picture, and the kind that was drawn; none where it does not fit."""
    charts = [kind for kind in kinds if MAP not in {kind.name, name}]
    try:
        what = shown(pictured(release, Picture(name, bare=True)), say)
        chart = chart_of(what)
    except BadRequest as error:
        tabs = tuple(Tab(say(kind.label), path.to("chart", kind.name), False) for kind in charts)
        return Drawn(Markup(), "", (), f"{say(error.message)} {say(error.advice)}", tabs), ""
    tabs = tuple(Tab(say(kind.label), path.to("chart", kind.name), kind is chart) for kind in charts)
    return Drawn(_svg(what), words_of(chart.label, what), tuple(explained(chart, what)), "", tabs), chart.name


def _svg(what: Shown) -> Markup:
    """The picture; whatever stands in it is text, since Vega writes XML."""
    take(PICTURE)
    return Markup(svg_of(what))  # noqa: S704 - our own picture, whose texts are escaped where it is made
