"""Kinds of files that records are read from: one module a kind, which binds `READER`.

A reader turns a file into a `Source`: a DuckDB relation that is read once, from its first record to its last, and what
the file says about its columns. Every kind gives the same stream to the one intake. Other packages call `register`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.errors import BadData, DiscreetError, NotFound
from discreet.model.description.sections import FileOptions
from discreet.model.plugins import Extra, Registry
from discreet.records.source import Source

if TYPE_CHECKING:
    import duckdb


#: Values in one batch: some tens of megabytes, however many columns there are.
BATCH_VALUES = 1_000_000


@dataclass(frozen=True, slots=True)
class Reader:
    """A kind of file.

    Args:
        name: What it is called in messages: "CSV".
        endings: How names of such files end, in lower case.
        open: `open(connection, path, options, aside)`: the file as a source. Files that it needs for the time of
            reading are written to the folder `aside`, which is removed afterwards.
        folders: Whether a folder of such files is one source.
        needs: What must be installed for it.
    """

    name: str
    endings: tuple[str, ...]
    open: Callable[[duckdb.DuckDBPyConnection, Path, FileOptions, Path], Source]
    folders: bool = False
    needs: Extra | None = None


def _refuse_taken(new: Reader, others: Iterable[Reader]) -> None:
    taken = {ending for other in others for ending in other.endings} & set(new.endings)
    if taken:
        raise ValueError(f"another reader has the ending {min(taken)}")


_REGISTRY: Registry[Reader] = Registry(
    "discreet.records.readers", "READER", "kind of file", BadData, _refuse_taken
)


def readers() -> tuple[Reader, ...]:
    """Every kind of file."""
    return _REGISTRY.members()


def register(reader: Reader) -> None:
    """Offer a kind of file of another package.

    Raises:
        ValueError: Its name or an ending is taken.
    """
    _REGISTRY.register(reader)


def reader_of(path: Path) -> Reader:
    """The reader of a file, by its name; ready to use.

    Raises:
        NotFound: No such file.
        BadData: No reader has this ending.
        MissingExtra: What it needs is not installed.
    """
    if not path.exists():
        raise NotFound(f"There is no file {str(path)!r}.", "Check the path.")
    found = [
        (len(ending), reader)
        for reader in readers()
        for ending in reader.endings
        if path.name.lower().endswith(ending) or (path.is_dir() and reader.folders)
    ]
    if not found or (path.is_dir() and not any(reader.folders for _, reader in found)):
        known = ", ".join(ending for reader in readers() for ending in reader.endings)
        old = path.suffix.lower() == ".xls"
        raise BadData(
            f"The file {path.name!r} has no known ending.",
            "Save the workbook as .xlsx." if old else f"Known: {known}, and folders of Parquet files.",
        )
    reader = max(found, key=lambda each: each[0])[1]
    if reader.needs is not None:
        reader.needs.refuse_missing(f"A file of the kind {reader.name}")
    return reader


class Stream:
    """Rows from Python as a source of text columns; what goes wrong while they are read is kept for the custodian.

    Args:
        names: The columns.
        rows: The rows, in lists as long as `names`.
        what: The file, for messages.
    """

    def __init__(self, names: Sequence[str], rows: Iterable[Sequence[Any]], what: str) -> None:
        self._names, self._rows, self._what = list(names), rows, what
        self._error: DiscreetError | None = None

    def relation(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        """The rows, to be read once."""
        schema = pa.schema([(name, pa.string()) for name in self._names])
        return connection.from_arrow(pa.RecordBatchReader.from_batches(schema, self._batches(schema)))

    def error(self) -> DiscreetError | None:
        """What ended the reading, if something did."""
        return self._error

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        size = max(1, BATCH_VALUES // len(self._names))
        batch: list[Sequence[Any]] = []
        try:
            for row in self._rows:
                batch.append([as_text(value) for value in row])
                if len(batch) == size:
                    yield _batch(batch, schema)
                    batch = []
        except Exception as error:
            self._error = (
                error
                if isinstance(error, DiscreetError)
                else BadData(f"{self._what} cannot be read to the end.", "Check that it is complete.")
            )
            raise
        yield _batch(batch, schema)


def _batch(rows: list[Sequence[Any]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.record_batch([pa.array(column, pa.string()) for column in columns], schema)


def as_text(value: Any) -> str | None:
    """A value as the text that codes are compared with: whole numbers without a point.

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
    """Names for columns: blanks at the ends removed, empty ones by their place, repeated ones numbered.

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


def plain_path(path: Path, aside: Path) -> str:
    """A path that DuckDB takes for one file: brackets and stars in a name are a pattern to it."""
    if not set(str(path)) & set("*?[]{}"):
        return str(path)
    link = aside / f"source{''.join(path.suffixes[-2:]).lower()}"
    if set(str(link)) & set("*?[]{}"):
        raise BadData(f"The name {path.name!r} has a star or bracket.", "Rename the file.")
    link.symlink_to(path.absolute())
    return str(link)
