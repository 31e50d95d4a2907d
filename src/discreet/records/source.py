"""Records on their way in: a relation that is read once, and what its file tells about it.

Which table of a database, or sheet of a workbook, is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from discreet.errors import BadData, DiscreetError
from discreet.model.description.sections import FileOptions
from discreet.model.messages.text import nearest

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class ColumnNotes:
    """What a file of a statistics program says of a column.

    Args:
        label: How people call it.
        labels: The labels of its values, by the text of the value.
        missing: Values that count as missing.
    """

    label: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """Records as a relation.

    Args:
        relation: Read once, in the order of the source.
        records: How many there are, exactly or nearly; None where that is not known before they are read.
        name: How messages call it.
        notes: What the file says of its columns.
        found: How the file was read.
        unit: What `places` counts: lines of a CSV file, rows of a sheet, records.
        places: Where the n-th records stand, from 1; asked only where something is wrong with them.
        torn: Why the reading ended before the last record, if that is known.
    """

    relation: duckdb.DuckDBPyRelation
    records: int | None
    name: str
    notes: Mapping[str, ColumnNotes] = field(default_factory=dict)
    found: FileOptions = FileOptions()  # noqa: RUF009 - frozen value
    unit: str = "record"
    places: Callable[[Sequence[int]], list[int]] = list
    torn: Callable[[], DiscreetError | None] = lambda: None

    @property
    def columns(self) -> list[str]:
        """The column names as the source gives them."""
        return list(self.relation.columns)

    @property
    def decimal_comma(self) -> bool:
        """Whether numbers have a decimal comma."""
        return self.found.decimal == ","


def quote_name(column: str) -> str:
    """A source column's name as an SQL identifier, whatever characters it has."""
    return '"' + column.replace('"', '""') + '"'


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
