"""The request of a page, parsed once: the table, the version, the view and the display options; parts of large tables.

labels   `labels`, `codes` or `both`: how categories are named
layer    the layer, named as a cell is: `region=R01`; `all` for all, one below the other; the first by default
show     `table`, `chart` or `map`; with `chart` the kind of it
zoom     the area that a map shows, as `region=R01`
page     the part of a large table, for browsers without scripts
range    `beside`: the 95 % range of the true number is next to each number

`static/js/windowed.js` loads blocks as JSON. All parts are cut from one cached release, so a number is the same in each:

    /datasets/census/block?rows=area&columns=sex&from_row=200&rows_wanted=50&from_column=0&columns_wanted=3
"""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace

from fastapi import Request
from starlette.datastructures import QueryParams
from starlette.responses import JSONResponse, Response

from discreet.errors import BadRequest
from discreet.inference.confidence_intervals.table_intervals import cell_codes
from discreet.model.dataset import Dataset
from discreet.model.grammar import escape
from discreet.model.messages.text import message, nearest
from discreet.model.request import TableRequest
from discreet.model.view import BASES, ORDERS, READING_PARAMETERS, VIEW_PARAMETERS, View
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry, DatasetService
from discreet.web.cache import ALWAYS, GridCache
from discreet.web.i18n.translation import translate_dataset
from discreet.web.pages.table_grid import NAMINGS, Layout
from discreet.web.responses import check_request, conditional, etag_of, open_service
from discreet.web.templating import FINGERPRINT
from discreet.web.urls import (
    TABLE_PARAMETERS,
    read_table,
    read_view,
    read_word,
    refuse_unknown,
    version_query,
)

ALL_LAYERS = "all"
#: The values of `show`; the first is the default.
WAYS = ("table", "chart", "map")
#: The values of `range`: in the reading line on a click, or next to each number.
RANGES = ("", "beside")
BLOCK_PARAMETERS = ("from_row", "rows_wanted", "from_column", "columns_wanted")
#: The largest block.
MOST_BLOCK_CELLS = 10_000
#: The most columns of a page without scripts.
PAGE_COLUMNS = 100


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
    range: str = ""
    zoom: str = ""

    def to_query(self) -> list[tuple[str, str]]:
        """The parameters of a URL, without defaults."""
        defaults = {each.name: each.default for each in fields(self)}
        return [(name, str(value)) for name, value in asdict(self).items() if value != defaults[name]]


def read_display_options(query: QueryParams) -> DisplayOptions:
    """Parse the display options of a query string."""
    labels, page = read_word(query, "labels") or NAMINGS[0], read_word(query, "page") or "1"
    if labels not in NAMINGS:
        raise BadRequest(message('labels is "{labels}".', labels=labels), nearest(labels, NAMINGS))
    show = read_word(query, "show")
    if show and show not in WAYS:
        raise BadRequest(message('show is "{show}".', show=show), nearest(show, WAYS))
    seen = (show, read_word(query, "chart")) if show in WAYS[1:] else ("", "")
    ranges = read_word(query, "range")
    if ranges not in RANGES:
        raise BadRequest(message('range is "{range}".', range=ranges), nearest(ranges, RANGES[1:]))
    zoom = read_word(query, "zoom") if seen[0] else ""
    return DisplayOptions(labels, read_word(query, "layer"), read_whole("page", page, 1), *seen, ranges, zoom)


def read_whole(name: str, text: str, least: int) -> int:
    """Parse a whole number of at least `least`."""
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and int(text) >= least):
        raise BadRequest(
            message('{name} is "{text}".', name=name, text=text[:40]),
            message("Give a whole number from {least} up.", least=least),
        )
    return int(text)


def layer_rows(layout: Layout, layer: str) -> range:
    """The rows of a layer, counted over all layers; a variable that is not named has its total."""
    height, _, depth = layout.lengths
    if layer == ALL_LAYERS:
        return range(height * depth)
    if not layer:
        return range(height)
    if not layout.axes[2]:
        raise BadRequest(message("The table has no layers."), message("Leave layer out."))
    others = [f"{d.name}={escape(d.codes[0])}" for axis in layout.axes[:2] for d in axis]
    dimensions = layout.release.dimensions
    codes = cell_codes(dimensions, ",".join([*others, layer]))
    named = dict(zip((dimension.name for dimension in dimensions), codes, strict=True))
    place = 0
    for dimension in layout.axes[2]:
        place = place * dimension.length + dimension.codes.index(named[dimension.name])
    return range(place * height, (place + 1) * height)


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page about one table, checked against the rules of shape; `version` is empty for the current version."""

    http: Request
    service: DatasetService
    checked: CheckedRequest
    view: View
    display: DisplayOptions
    version: list[tuple[str, str]]

    @property
    def table(self) -> TableRequest:
        """The canonical request."""
        return self.checked.request

    @property
    def dataset(self) -> Dataset:
        """The description in the reader's language."""
        return translate_dataset(self.checked.dataset)

    @property
    def items(self) -> list[tuple[str, str]]:
        """The view and the version as URL parameters: what documents of the table take."""
        return [*self.view.to_query(), *self.version]

    @property
    def page_items(self) -> list[tuple[str, str]]:
        """The view, the display options and the version as URL parameters of this page."""
        return [*self.view.to_query(), *self.display.to_query(), *self.version]

    def respond(
        self, kind: str, render: Callable[[], Response], *parts: object, lasts: float = ALWAYS
    ) -> Response:
        """304 or the rendered page, cached for `lasts` seconds; `parts` are what it depends on besides its URL."""
        query = self.http.query_params.multi_items()
        tag = etag_of(self.checked, kind, FINGERPRINT, query, *parts)
        return conditional(self.http, tag, render, lasting=self.checked.lasting, lasts=lasts)


def parse_page(
    registry: DatasetRegistry, http: Request, dataset_id: str, known: Iterable[str]
) -> PageRequest:
    """The request of a page that takes only `known` parameters, checked against the rules of shape."""
    refuse_unknown(http.query_params, known)
    service = open_service(registry, http, dataset_id)
    return page_of(http, service, read_table(service.dataset, http.query_params))


def page_of(http: Request, service: DatasetService, table: TableRequest) -> PageRequest:
    """The request of a page about a table that was parsed already."""
    query = http.query_params
    checked = check_request(service, table)
    return PageRequest(
        http, service, checked, read_view(query), read_display_options(query), version_query(query)
    )


def link_parameters(query: QueryParams) -> list[tuple[str, str]]:
    """What links to other tables keep of a URL: the view, unless it names a cell of this table, and the version."""
    view, display = read_view(query), read_display_options(query)
    percent = view.percent if view.percent in BASES else ""
    sort = view.sort if view.sort.removeprefix("-") in ORDERS else ""
    kept = replace(view, percent=percent, sort=sort)
    shown = DisplayOptions(display.labels, show=display.show, range=display.range)
    return [*kept.to_query(), *shown.to_query(), *version_query(query)]


@dataclass(frozen=True, slots=True)
class TablePart:
    """One page of a table: its rows and columns, its number, the number of pages, its first and last row."""

    rows: range
    columns: range
    page: int
    pages: int
    first: int
    last: int


def paginate(rows: range, width: int, cells: int, page: int) -> TablePart:
    """The rows and columns of a page of at most `cells` cells: first across the columns, then down the rows.

    >>> paginate(range(100), 3, 60, 2)
    TablePart(rows=range(20, 40), columns=range(0, 3), page=2, pages=5, first=21, last=40)
    """
    across = min(width, PAGE_COLUMNS)
    down = max(1, cells // across)
    sides = -(-width // across)
    pages = -(-len(rows) // down) * sides
    if page > pages:
        raise BadRequest(
            message("There is no page {page}.", page=page),
            message("The table has {pages} pages.", pages=pages),
        )
    row, column = ((page - 1) // sides) * down, ((page - 1) % sides) * across
    part = rows[row : row + down]
    return TablePart(part, range(width)[column : column + across], page, pages, row + 1, row + len(part))


def table_block(registry: DatasetRegistry, grids: GridCache, request: Request, dataset_id: str) -> Response:
    """Some rows and columns of a table, as a page shows them."""
    known = (*TABLE_PARAMETERS, *VIEW_PARAMETERS, *READING_PARAMETERS, *BLOCK_PARAMETERS)
    page = parse_page(registry, request, dataset_id, known)

    def render() -> Response:
        layout = grids.layout(page.service, page.checked, page.view, page.display.labels, page.display.range)
        rows = layer_rows(layout, page.display.layer)
        rows, columns = read_block(request.query_params, rows, layout.lengths[1])
        across = layout.columns(columns) if columns else []
        document = {
            "rows": [{**asdict(line), "look": line.look} for line in layout.rows(rows)],
            "columns": [{**asdict(line), "look": line.look} for line in across],
            "cells": layout.cells(rows, columns) if rows and columns else [],
        }
        return JSONResponse(document)

    return page.respond("block", render)


def read_block(query: QueryParams, rows: range, width: int) -> tuple[range, range]:
    """The rows and columns of a block, clipped to the table; a block of too many cells is refused."""
    first, down, left, across = (
        read_whole(name, read_word(query, name) or default, least)
        for name, default, least in zip(BLOCK_PARAMETERS, ("0", "50", "0", "50"), (0, 1, 0, 1), strict=True)
    )
    if down * across > MOST_BLOCK_CELLS:
        raise BadRequest(
            message("A block of {down:,} cells is asked for.", down=down * across),
            message("Ask for at most {most_cells:,}.", most_cells=MOST_BLOCK_CELLS),
        )
    return rows[first : first + down], range(width)[left : left + across]
