"""Records on their way in: one relation that is read once, and the tools that readers share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.errors import BadData, DiscreetError
from discreet.model import limits
from discreet.model.description.sections import FileOptions
from discreet.model.messages.text import nearest

if TYPE_CHECKING:
    import duckdb  # a publication is read without an engine

#: Values in one batch: some tens of megabytes for any number of columns.
BATCH_VALUES = 1_000_000


@dataclass(frozen=True, slots=True)
class ColumnNotes:
    """Metadata of a column in a file of a statistics program: its label, the labels of its values, and missing values."""

    label: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """Records as a relation, which is read once, in the order of the source.

    Args:
        relation: The records.
        records: Their number, exact or approximate; None if unknown before reading.
        notes: Metadata of the columns.
        unit: The unit of `places`: lines of a CSV file, rows of a sheet, records.
        places: The positions of the n-th records, from 1; used for error messages only.
        torn: The reason why reading ended early, if known.
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
        """The column names of the source."""
        return list(self.relation.columns)

    @property
    def decimal_comma(self) -> bool:
        """Whether numbers have a decimal comma."""
        return self.found.decimal == ","


class Stream:
    """Rows from Python as a source of text columns; keeps the error that ends reading. `what` is the file, for messages."""

    def __init__(self, names: Sequence[str], rows: Iterable[Sequence[Any]], what: str) -> None:
        self._names, self._rows, self._what = list(names), rows, what
        self._error: DiscreetError | None = None

    def relation(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        """The rows, to be read once."""
        schema = pa.schema([(name, pa.string()) for name in self._names])
        return connection.from_arrow(pa.RecordBatchReader.from_batches(schema, self._batches(schema)))

    def error(self) -> DiscreetError | None:
        """The error that ended reading, if any."""
        return self._error

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        rows, size = iter(self._rows), max(1, BATCH_VALUES // len(self._names))
        try:
            while batch := list(islice(rows, size)):
                columns = zip(*batch, strict=True)
                texts = [pa.array(map(as_text, column), pa.string()) for column in columns]
                yield pa.record_batch(texts, schema)
        except Exception as error:
            torn = BadData(f"{self._what} cannot be read to the end.", "Check that it is complete.")
            self._error = error if isinstance(error, DiscreetError) else torn
            raise


def as_text(value: Any) -> str | None:
    """The text of a value, which codes are compared with: whole numbers have no decimal point.

    >>> [as_text(value) for value in (3.0, 2.5, True, None, "x")]
    ['3', '2.5', 'true', None, 'x']
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    if hasattr(value, "isoformat"):
        return str(value.isoformat()).removesuffix("T00:00:00")
    return value.hex() if isinstance(value, bytes) else str(value)


def unique_names(header: Sequence[object]) -> list[str]:
    """Column names: stripped, empty ones by position, repeated ones numbered.

    >>> unique_names([" sex ", None, "Sex", ""])
    ['sex', 'column1', 'Sex_1', 'column3']
    """
    width = len(str(max(0, len(header) - 1)))
    names: list[str] = []
    taken: set[str] = set()
    for place, given in enumerate(header):
        stem = str(given if given is not None else "").strip().strip("\ufeff") or f"column{place:0{width}d}"
        name, number = stem, 1
        while name.lower() in taken:
            name, number = f"{stem}_{number}", number + 1
        taken.add(name.lower())
        names.append(name)
    return names


def refuse_wide(columns: Sequence[str], name: str) -> None:
    """Refuse a file with more columns than `MOST_COLUMNS`."""
    if len(columns) > limits.MOST_COLUMNS:
        raise BadData(
            f"{name} has {len(columns):,} columns, and at most {limits.MOST_COLUMNS:,} are read.",
            "Keep the columns that tables need. Is its separator the right one?",
        )


def plain_path(path: Path, aside: Path) -> str:
    """A path that DuckDB does not take for a pattern: names with brackets or stars get a symbolic link."""
    if not set(str(path)) & set("*?[]{}"):
        return str(path)
    link = aside / f"source{''.join(path.suffixes[-2:]).lower()}"
    if set(str(link)) & set("*?[]{}"):
        raise BadData(f"The name {path.name!r} has a star or bracket.", "Rename the file.")
    link.symlink_to(path.absolute())
    return str(link)


def quote_name(column: str) -> str:
    """A column's name as an SQL identifier."""
    return '"' + column.replace('"', '""') + '"'


def choose_table(names: Sequence[str], options: FileOptions, where: str, what: str = "table") -> FileOptions:
    """The options with the table to read: the one that they name, or the only one."""
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
