"""What the page says of a table: the grid, what can be changed about it, and how sure it is.

A table of at most `page_cells` cells is drawn at once. A larger one is drawn in parts: with scripts in a window that
moves over it, without them page by page.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from discreet.server.blocks import part
from discreet.server.certainty import certainty
from discreet.server.grid import grid
from discreet.server.paper import SHEET_COLUMNS, sheets
from discreet.server.reading import ALL_LAYERS, chosen_rows
from discreet.server.toolbar import Toolbar

if TYPE_CHECKING:
    from discreet.server.grid import Layout
    from discreet.server.reading import Reading
    from discreet.server.snippets import Also


def shown_table(layout: Layout, reading: Reading, version: Also, page_cells: int) -> dict[str, Any]:
    """All that the page draws of a table.

    Raises:
        BadRequest: There is no such layer or page.
    """
    release = layout.release
    if reading.show and not reading.layer:  # a picture shows all layers, and so does the table behind it
        reading = replace(reading, layer=ALL_LAYERS)
    rows, width = chosen_rows(layout, reading.layer), layout.lengths[1]
    here = part(rows, width, page_cells, reading.page) if len(rows) * width > page_cells else None
    first, *rest = release.notes[0].split(". ", 1)
    return {
        "grid": grid(layout, rows, None) if here is None else grid(layout, here.rows, here.columns),
        "toolbar": Toolbar(release.request, release.view, reading, version, layout, rows),
        "part": here,
        "height": len(rows),
        "width": width,
        "beside": len(release.derived) + 2 * (release.errors is not None),
        "sheets": sheets(layout, rows) if here is None and width > SHEET_COLUMNS else [],
        "certainty": certainty(release),
        "first_note": first.removesuffix(".") + ".",
        "notes": [*rest, *release.notes[1:]],
        "promise": release.promise,
    }
