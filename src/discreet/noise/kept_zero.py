"""A noise table that leaves empty cells alone, from one that would move them.

Laplace, normal, Gaussian and ABS noise has one row for every count, zero included. The cell key method
has no key for an empty cell, so there the row of count 0 becomes the single value 0 and all other rows
stay. The pair 0|1 is then audited as what it is: whoever sees a count above zero knows that somebody is
there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import BadNoiseTable
from discreet.noise.arranged_table import ArrangedRow, arranged_rows, make_table

if TYPE_CHECKING:
    from discreet.noise.table import NoiseTable


def with_kept_zero(table: NoiseTable) -> NoiseTable:
    """The same noise for every count from 1 on, and none for zero.

    >>> from discreet.noise.table import NoiseRow, NoiseTable
    >>> kept = with_kept_zero(NoiseTable(4, (NoiseRow((-1, 0, 1), (1, 3, 4)),)))
    >>> [kept.row(count).values for count in (0, 1, 99)]
    [(0,), (-1, 0, 1), (-1, 0, 1)]
    """
    if table.keeps_zero:
        return table
    first = max(1, len(table.rows) - table.repeats)
    rows = arranged_rows(table)
    kept = [rows[table.row_index(count)] for count in range(1, first + table.repeats)]
    return make_table(
        table.modulus,
        [ArrangedRow((0,), (table.modulus,)), *kept],
        repeats=table.repeats,
        family=table.family,
        parameters={**table.parameters, "zeros": "kept"},
    )


def as_programs_use_it(table: NoiseTable, program: str) -> NoiseTable:
    """A table as a program uses it that never changes a zero.

    A table of one row has that row for every count: it is written with a zero that stays, as the cell key method uses
    it. A table that gives zero a noise of its own cannot be said in such a file.

    Raises:
        BadNoiseTable: Zero has noise of its own.
    """
    if len(table.rows) == 1 or table.keeps_zero:
        return with_kept_zero(table)
    raise BadNoiseTable(
        f"Count 0 has noise of its own; {program} never changes a zero.", "Write our own JSON instead."
    )
