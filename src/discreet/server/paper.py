"""A table on paper: as many columns side by side as a sheet is wide, all rows below, then the next columns.

Groups of columns stay together where a sheet has room for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.server.grid import grid

if TYPE_CHECKING:
    from discreet.server.grid import Grid, Layout

#: How many columns of numbers stand side by side on a sheet of A4.
SHEET_COLUMNS = 8
#: The largest table that is drawn for paper: some 250 sheets.
MOST_CELLS = 100_000


def sheets(layout: Layout, rows: range | None = None) -> list[Grid]:
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
