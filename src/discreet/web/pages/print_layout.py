"""A table on paper: as many columns side by side as a sheet is wide, all rows below, then the next columns.

Groups of columns stay together where a sheet has room for them.

A large table in parts: a window of it to scripts as JSON, a page of it to browsers without, blocks of columns to paper.

The table is one whole release, kept for a moment (`wholes`); every part is cut from it, so that a number is the same in
whatever part it is seen, and withheld in all of them or in none. A script asks for the rectangle that its reader sees:

    /datasets/census/block?rows=area&columns=sex&from_row=200&rows_wanted=50&from_column=0&columns_wanted=3

Routes of pages that show parts of a table: a block of cells for scripts, all sheets for paper.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fastapi import APIRouter, Request
from starlette.datastructures import QueryParams
from starlette.responses import JSONResponse, Response

from discreet.errors import BadRequest
from discreet.model.messages.text import message
from discreet.model.view import READING_PARAMETERS, VIEW_PARAMETERS
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.dataset_service import DatasetService
from discreet.web.assets import FINGERPRINT
from discreet.web.i18n.dataset_labels import translate_dataset
from discreet.web.pages import links as snippets
from discreet.web.pages.display_options import ALL_LAYERS, layer_rows, read_display_options, read_whole
from discreet.web.pages.table_grid import AxisLine, Grid, Layout, grid
from discreet.web.query import (
    TABLE_PARAMETERS,
    read_table,
    read_view,
    read_word,
    refuse_unknown,
    version_query,
)
from discreet.web.release_cache import GridCache
from discreet.web.responses import check_request, conditional, etag_of, open_service
from discreet.web.templating import render_page
from discreet.web.urls import site_url

#: How many columns of numbers stand side by side on a sheet of A4.
SHEET_COLUMNS = 8
#: The largest table that is drawn for paper: some 250 sheets.
MOST_PRINTED = 100_000


def print_sheets(layout: Layout, rows: range | None = None) -> list[Grid]:
    """A table in blocks of columns."""
    return [grid(layout, rows, columns) for columns in column_blocks(layout)]


def column_blocks(layout: Layout) -> list[range]:
    """The columns of each block."""
    width, inner = layout.lengths[1], layout.axes[1][-1].length if layout.axes[1] else 1
    step = SHEET_COLUMNS // inner * inner or SHEET_COLUMNS
    if inner <= SHEET_COLUMNS:
        return [range(width)[start : start + step] for start in range(0, width, step)]
    return [
        range(group + start, min(group + start + step, group + inner))
        for group in range(0, width, inner)
        for start in range(0, inner, step)
    ]


BLOCK_PARAMETERS = ("from_row", "rows_wanted", "from_column", "columns_wanted")
#: The largest part that is sent at once.
MOST_BLOCK_CELLS = 10_000
#: A page without scripts has at most so many columns.
PAGE_COLUMNS = 100


@dataclass(frozen=True, slots=True)
class TablePart:
    """One page of a table: its rows and columns, and which of how many it is."""

    rows: range
    columns: range
    page: int
    pages: int


def paginate(rows: range, width: int, cells: int, page: int) -> TablePart:
    """The rows and columns of a page: columns side by side first, then rows below.

    >>> paginate(range(100), 3, 60, 2)
    Part(rows=range(20, 40), columns=range(0, 3), page=2, pages=5)

    Raises:
        BadRequest: There is no such page.
    """
    across = min(width, PAGE_COLUMNS)
    down = max(1, cells // across)
    sides, pages = -(-width // across), -(-len(rows) // down) * -(-width // across)
    if page > pages:
        raise BadRequest(
            message("There is no page {page}.", page=page),
            message("The table has {pages} pages.", pages=pages),
        )
    row, column = ((page - 1) // sides) * down, ((page - 1) % sides) * across
    return TablePart(rows[row : row + down], range(width)[column : column + across], page, pages)


def read_block(query: QueryParams, rows: range, width: int) -> tuple[range, range]:
    """The rectangle that a query string asks for, as far as the table goes.

    Raises:
        BadRequest: It is no rectangle, or too large.
    """
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


def block_document(layout: Layout, rows: range, columns: range) -> dict[str, Any]:
    """A rectangle as JSON: its rows, its columns, and the cells as they stand on a page."""
    return {
        "rows": [_line(line) for line in layout.rows(rows)],
        "columns": [_line(line) for line in layout.columns(columns)] if columns else [],
        "cells": layout.cells(rows, columns) if rows and columns else [],
    }


def _line(line: AxisLine) -> dict[str, Any]:
    return {**asdict(line), "look": line.look}


_PARAMETERS = (*TABLE_PARAMETERS, *VIEW_PARAMETERS, *READING_PARAMETERS)


def table_router(doors: DatasetRegistry, layouts: GridCache) -> APIRouter:
    """The routes of parts of a table."""
    router = APIRouter(include_in_schema=False)

    @router.get("/datasets/{dataset_id}/block")
    def block(request: Request, dataset_id: str) -> Response:
        """Some rows and columns of a table, as a page shows them."""
        refuse_unknown(request.query_params, (*_PARAMETERS, *BLOCK_PARAMETERS))
        door, question = _parse(request, doors, dataset_id)
        tag = etag_of(question, "block", FINGERPRINT, list(request.query_params.multi_items()))
        return conditional(
            request, tag, lambda: _block(request, door, question, layouts), lasting=question.lasting
        )

    @router.get("/datasets/{dataset_id}/print")
    def printed(request: Request, dataset_id: str) -> Response:
        """A whole table in sheets of paper."""
        refuse_unknown(request.query_params, _PARAMETERS)
        door, question = _parse(request, doors, dataset_id)
        tag = etag_of(
            question, "print", FINGERPRINT, site_url().base, list(request.query_params.multi_items())
        )
        return conditional(
            request, tag, lambda: _print_page(request, door, question, layouts), lasting=question.lasting
        )

    return router


def _parse(
    request: Request, doors: DatasetRegistry, dataset_id: str
) -> tuple[DatasetService, CheckedRequest]:
    door = open_service(doors, request, dataset_id)
    return door, check_request(door, read_table(door.dataset, request.query_params))


def _block(request: Request, door: DatasetService, question: CheckedRequest, layouts: GridCache) -> Response:
    query = request.query_params
    reading = read_display_options(query)
    layout = layouts.layout(door, question, read_view(query), reading.labels)
    rows, columns = read_block(query, layer_rows(layout, reading.layer), layout.lengths[1])
    return JSONResponse(block_document(layout, rows, columns))


def _print_page(
    request: Request, door: DatasetService, question: CheckedRequest, layouts: GridCache
) -> Response:
    query = request.query_params
    if question.cells > MOST_PRINTED:
        raise BadRequest(
            message("The table has {cells:,} cells: too many to print.", cells=question.cells),
            message(
                "Download it, or choose fewer categories: at most {most_cells:,} cells are printed.",
                most_cells=MOST_PRINTED,
            ),
        )
    view, reading = read_view(query), read_display_options(query)
    layout = layouts.layout(door, question, view, reading.labels)
    release = layout.release
    return render_page(
        "print.html",
        dataset=translate_dataset(question.dataset),
        digest=question.digest,
        title=release.title,
        facts=snippets.table_facts(translate_dataset(question.dataset), question.request),
        notes=release.notes,
        sheets=print_sheets(layout, layer_rows(layout, reading.layer or ALL_LAYERS)),
        table=snippets.page_path(
            question.request, [*view.to_query(), *reading.to_query(), *version_query(query)]
        ),
        citation=snippets.citation(question, site_url().base, view.to_query()),
    )
