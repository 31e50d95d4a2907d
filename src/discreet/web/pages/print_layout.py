"""A table for printing: blocks of as many columns as fit a sheet, each with all rows.

Groups of columns stay together where they fit.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.errors import BadRequest
from discreet.model.messages.citation import citation
from discreet.model.messages.text import message
from discreet.model.view import READING_PARAMETERS, VIEW_PARAMETERS
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.pages.display_options import ALL_LAYERS, layer_rows
from discreet.web.pages.links import page_path, version_pin
from discreet.web.pages.page_request import PageRequest, parse_page
from discreet.web.pages.table_grid import Grid, Layout, grid, table_facts
from discreet.web.query import TABLE_PARAMETERS
from discreet.web.release_cache import GridCache
from discreet.web.templating import render_page
from discreet.web.urls import site_url

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
