"""A large table in parts: pages for browsers without scripts, blocks as JSON for `static/js/windowed.js`.

Every part is cut from one cached release, so a number is the same in every part, and suppressed in all or none.

    /datasets/census/block?rows=area&columns=sex&from_row=200&rows_wanted=50&from_column=0&columns_wanted=3

A table for printing: blocks of as many columns as fit a sheet, each with all rows.

Groups of columns stay together where they fit.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fastapi import APIRouter, Request
from starlette.datastructures import QueryParams
from starlette.responses import JSONResponse, Response

from discreet.errors import BadRequest
from discreet.model.messages.sentences import citation
from discreet.model.messages.text import message
from discreet.model.view import READING_PARAMETERS, VIEW_PARAMETERS
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.pages.links import page_path, version_pin
from discreet.web.pages.page_request import ALL_LAYERS, PageRequest, layer_rows, parse_page, read_whole
from discreet.web.pages.table_grid import Grid, Layout, grid, table_facts
from discreet.web.release_cache import GridCache
from discreet.web.templating import render_page
from discreet.web.urls import TABLE_PARAMETERS, read_word, site_url

BLOCK_PARAMETERS = ("from_row", "rows_wanted", "from_column", "columns_wanted")
#: The largest block.
MOST_BLOCK_CELLS = 10_000
#: The most columns of a page without scripts.
PAGE_COLUMNS = 100


@dataclass(frozen=True, slots=True)
class TablePart:
    """One page of a table: its rows and columns, its number and the number of pages."""

    rows: range
    columns: range
    page: int
    pages: int


def paginate(rows: range, width: int, cells: int, page: int) -> TablePart:
    """The rows and columns of a page of at most `cells` cells: first across the columns, then down the rows.

    >>> paginate(range(100), 3, 60, 2)
    TablePart(rows=range(20, 40), columns=range(0, 3), page=2, pages=5)

    Raises:
        BadRequest: There is no such page.
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
    return TablePart(rows[row : row + down], range(width)[column : column + across], page, pages)


def add_blocks(router: APIRouter, registry: DatasetRegistry, grids: GridCache) -> None:
    """Add the route of blocks."""

    @router.get("/datasets/{dataset_id}/block")
    def block(request: Request, dataset_id: str) -> Response:
        """Some rows and columns of a table, as a page shows them."""
        known = (*TABLE_PARAMETERS, *VIEW_PARAMETERS, *READING_PARAMETERS, *BLOCK_PARAMETERS)
        page = parse_page(registry, request, dataset_id, known)
        return page.respond("block", lambda: _block(page, grids))


def _block(page: PageRequest, grids: GridCache) -> Response:
    layout = grids.layout(page.service, page.checked, page.view, page.display.labels)
    rows = layer_rows(layout, page.display.layer)
    return JSONResponse(block_document(layout, *read_block(page.http.query_params, rows, layout.lengths[1])))


def read_block(query: QueryParams, rows: range, width: int) -> tuple[range, range]:
    """The rows and columns of a block, clipped to the table.

    Raises:
        BadRequest: A parameter is no number, or the block is too large.
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
    """A block as JSON: its rows, its columns, and the cells as a page shows them."""
    across = layout.columns(columns) if columns else []
    return {
        "rows": [{**asdict(line), "look": line.look} for line in layout.rows(rows)],
        "columns": [{**asdict(line), "look": line.look} for line in across],
        "cells": layout.cells(rows, columns) if rows and columns else [],
    }


#: Columns of numbers on a sheet of A4.
SHEET_COLUMNS = 8
#: The largest table that is printed: about 250 sheets.
MOST_PRINTED = 100_000


def print_sheets(layout: Layout, rows: range | None = None) -> list[Grid]:
    """The table in blocks of columns."""
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


def add_print_page(router: APIRouter, registry: DatasetRegistry, grids: GridCache) -> None:
    """Add the route of the page."""

    @router.get("/datasets/{dataset_id}/print")
    def print_page(request: Request, dataset_id: str) -> Response:
        """The whole table in sheets."""
        known = (*TABLE_PARAMETERS, *VIEW_PARAMETERS, *READING_PARAMETERS)
        page = parse_page(registry, request, dataset_id, known)
        return page.respond("print", lambda: _render(page, grids))


def _render(page: PageRequest, grids: GridCache) -> Response:
    checked, dataset = page.checked, page.dataset
    if checked.cells > MOST_PRINTED:
        raise BadRequest(
            message("The table has {cells:,} cells: too many to print.", cells=checked.cells),
            message(
                "Download it, or choose fewer categories: at most {most_cells:,} cells are printed.",
                most_cells=MOST_PRINTED,
            ),
        )
    layout = grids.layout(page.service, checked, page.view, page.display.labels)
    pinned = page_path(page.table, [*page.view.to_query(), version_pin(checked.digest)])
    return render_page(
        "print.html",
        dataset=dataset,
        digest=checked.digest,
        title=layout.release.title,
        facts=table_facts(dataset, page.table),
        notes=layout.release.notes,
        sheets=print_sheets(layout, layer_rows(layout, page.display.layer or ALL_LAYERS)),
        table=page_path(page.table, page.page_items),
        citation=citation(checked, site_url().base + pinned),
    )
