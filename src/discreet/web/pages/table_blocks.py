"""A large table in parts: pages for browsers without scripts, blocks as JSON for `static/js/windowed.js`.

Every part is cut from one cached release, so a number is the same in every part, and suppressed in all or none.

    /datasets/census/block?rows=area&columns=sex&from_row=200&rows_wanted=50&from_column=0&columns_wanted=3
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
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.pages.display_options import layer_rows, read_whole
from discreet.web.pages.page_request import PageRequest, parse_page
from discreet.web.pages.table_grid import Layout
from discreet.web.query import TABLE_PARAMETERS, read_word
from discreet.web.release_cache import GridCache

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
