"""Which table of a database, or sheet of a workbook, is read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.errors import BadData
from discreet.model.nearest import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.model.file_section import FileOptions


def choose_table(names: Sequence[str], options: FileOptions, where: str, what: str = "table") -> FileOptions:
    """Put the table that is read into the options: the one that is named, or the only one.

    Raises:
        BadData: There is no such table, none at all, or several and none is named.
    """
    if options.table:
        if options.table not in names:
            raise BadData(f'{where} has no {what} "{options.table}".', nearest(options.table, names))
        return options
    if not names:
        raise BadData(f"{where} has no {what}.", "Check that it is the right file.")
    if len(names) > 1:
        listed = ", ".join(f'"{name}"' for name in names[:12])
        raise BadData(
            f"{where} has {len(names)} {what}s: {listed}.",
            f'Name one: describe it with --table, and load it with [file] table = "{names[0]}".',
        )
    return replace(options, table=names[0])
