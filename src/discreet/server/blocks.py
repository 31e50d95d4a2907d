"""A large table in parts: a window of it to scripts as JSON, a page of it to browsers without, blocks of columns to paper.

The table is one whole release, kept for a moment (`wholes`); every part is cut from it, so that a number is the same in
whatever part it is seen, and withheld in all of them or in none. A script asks for the rectangle that its reader sees:

    /datasets/census/block?rows=area&columns=sex&from_row=200&rows_wanted=50&from_column=0&columns_wanted=3
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import BadRequest
from discreet.model.told import told
from discreet.server.query import read_word
from discreet.server.reading import read_whole

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

    from discreet.server.grid import Layout
    from discreet.server.grid_lines import Line

BLOCK_PARAMETERS = ("from_row", "rows_wanted", "from_column", "columns_wanted")
#: The largest part that is sent at once.
MOST_CELLS = 10_000
#: A page without scripts has at most so many columns.
PAGE_COLUMNS = 100


@dataclass(frozen=True, slots=True)
class Part:
    """One page of a table: its rows and columns, and which of how many it is."""

    rows: range
    columns: range
    page: int
    pages: int


def part(rows: range, width: int, cells: int, page: int) -> Part:
    """The rows and columns of a page: columns side by side first, then rows below.

    >>> part(range(100), 3, 60, 2)
    Part(rows=range(20, 40), columns=range(0, 3), page=2, pages=5)

    Raises:
        BadRequest: There is no such page.
    """
    across = min(width, PAGE_COLUMNS)
    down = max(1, cells // across)
    sides, pages = -(-width // across), -(-len(rows) // down) * -(-width // across)
    if page > pages:
        raise BadRequest(
            told("There is no page {page}.", page=page), told("The table has {pages} pages.", pages=pages)
        )
    row, column = ((page - 1) // sides) * down, ((page - 1) % sides) * across
    return Part(rows[row : row + down], range(width)[column : column + across], page, pages)


def read_block(query: QueryParams, rows: range, width: int) -> tuple[range, range]:
    """The rectangle that a query string asks for, as far as the table goes.

    Raises:
        BadRequest: It is no rectangle, or too large.
    """
    first, down, left, across = (
        read_whole(name, read_word(query, name) or default, least)
        for name, default, least in zip(BLOCK_PARAMETERS, ("0", "50", "0", "50"), (0, 1, 0, 1), strict=True)
    )
    if down * across > MOST_CELLS:
        raise BadRequest(
            told("A block of {down:,} cells is asked for.", down=down * across),
            told("Ask for at most {most_cells:,}.", most_cells=MOST_CELLS),
        )
    return rows[first : first + down], range(width)[left : left + across]


def block_document(layout: Layout, rows: range, columns: range) -> dict[str, Any]:
    """A rectangle as JSON: its rows, its columns, and the cells as they stand on a page."""
    return {
        "rows": [_line(line) for line in layout.rows(rows)],
        "columns": [_line(line) for line in layout.columns(columns)] if columns else [],
        "cells": layout.cells(rows, columns) if rows and columns else [],
    }


def _line(line: Line) -> dict[str, Any]:
    return {**asdict(line), "look": line.look}
