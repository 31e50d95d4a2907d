"""The display options of a table's page, in addition to the view.

labels   `labels`, `codes` or `both`: how categories are named
layer    the layer, named as a cell is: `region=R01`; `all` for all, one below the other; the first by default
show     `table`, `chart` or `map`; with `chart` the kind of it
page     the part of a large table, for browsers without scripts

Documents do not have them.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.datastructures import QueryParams

from discreet.errors import BadRequest
from discreet.inference.confidence_intervals.table_intervals import cell_codes
from discreet.model.grammar import escape
from discreet.model.messages.text import message, nearest
from discreet.web.pages.table_grid import NAMINGS, Layout
from discreet.web.query import read_word

ALL_LAYERS = "all"
#: The values of `show`; the first is the default.
WAYS = ("table", "chart", "map")


@dataclass(frozen=True, slots=True)
class DisplayOptions:
    """The display options.

    >>> DisplayOptions("codes", page=2).to_query()
    [('labels', 'codes'), ('page', '2')]
    """

    labels: str = NAMINGS[0]
    layer: str = ""
    page: int = 1
    show: str = ""
    chart: str = ""

    def to_query(self) -> list[tuple[str, str]]:
        """The parameters of a URL, without defaults."""
        texts = {
            "labels": "" if self.labels == NAMINGS[0] else self.labels,
            "layer": self.layer,
            "page": str(self.page) if self.page > 1 else "",
            "show": self.show,
            "chart": self.chart,
        }
        return [(name, text) for name, text in texts.items() if text]


def read_display_options(query: QueryParams) -> DisplayOptions:
    """Parse the display options of a query string.

    Raises:
        BadRequest: A value is unknown.
    """
    labels, page = read_word(query, "labels") or NAMINGS[0], read_word(query, "page") or "1"
    if labels not in NAMINGS:
        raise BadRequest(message('labels is "{labels}".', labels=labels), nearest(labels, NAMINGS))
    show = read_word(query, "show")
    if show and show not in WAYS:
        raise BadRequest(message('show is "{show}".', show=show), nearest(show, WAYS))
    seen = (show, read_word(query, "chart")) if show in WAYS[1:] else ("", "")
    return DisplayOptions(labels, read_word(query, "layer"), read_whole("page", page, 1), *seen)


def read_whole(name: str, text: str, least: int) -> int:
    """Parse a whole number of at least `least`."""
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) >= least):
        raise BadRequest(
            message('{name} is "{text}".', name=name, text=text[:40]),
            message("Give a whole number from {least} up.", least=least),
        )
    return int(text)


def layer_rows(layout: Layout, layer: str) -> range:
    """The rows of a layer, counted over all layers.

    Raises:
        BadRequest: The table has no such layer.
    """
    height, _, depth = layout.lengths
    if layer == ALL_LAYERS:
        return range(height * depth)
    place = _place(layout, layer) if layer else 0
    return range(place * height, (place + 1) * height)


def _place(layout: Layout, layer: str) -> int:
    """The place of a layer; a variable that is not named has its total."""
    if not layout.axes[2]:
        raise BadRequest(message("The table has no layers."), message("Leave layer out."))
    others = [f"{d.name}={escape(d.codes[0])}" for axis in layout.axes[:2] for d in axis]
    dimensions = layout.release.dimensions
    codes = cell_codes(dimensions, ",".join([*others, layer]))
    named = dict(zip((dimension.name for dimension in dimensions), codes, strict=True))
    place = 0
    for dimension in layout.axes[2]:
        place = place * dimension.length + dimension.codes.index(named[dimension.name])
    return place
