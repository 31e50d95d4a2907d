"""Where records come from: CSV, Parquet and Arrow files, Arrow tables and streams, pandas and Polars frames.

Every source becomes a DuckDB relation; a path or a frame is handed to DuckDB as an object, never as SQL.
All columns of a CSV file are read as text: a code "01" stays "01".

Comes from: the custodian. Goes to: `load`, `describe`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from discreet.errors import BadData, NotFound

#: File endings and how they are read.
READERS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}


@dataclass(frozen=True, slots=True)
class Source:
    """Records as a relation, and how many there are if that is known without reading them."""

    relation: duckdb.DuckDBPyRelation
    records: int | None
    name: str

    @property
    def columns(self) -> list[str]:
        """The column names as the source gives them."""
        return list(self.relation.columns)


def open_source(connection: duckdb.DuckDBPyConnection, records: object) -> Source:
    """Open a path, frame, table or stream of batches.

    Raises:
        NotFound: No such file.
        BadData: A file or object that cannot be read as records.
    """
    if isinstance(records, str | Path):
        return _open_file(connection, Path(records))
    if isinstance(records, pa.Table):
        return Source(connection.from_arrow(records), records.num_rows, "an Arrow table")
    if isinstance(records, pa.RecordBatchReader):
        return Source(connection.from_arrow(records), None, "an Arrow stream")
    if hasattr(records, "to_arrow"):  # Polars
        table = records.to_arrow()
        return Source(connection.from_arrow(table), table.num_rows, "a Polars frame")
    if hasattr(records, "iloc"):  # pandas
        return Source(connection.from_df(records), len(records), "a pandas frame")  # type: ignore[arg-type]
    if isinstance(records, Iterable):
        return _open_batches(connection, iter(records))
    raise BadData(
        f"Records cannot be read from {type(records).__name__}.",
        "Give a CSV, Parquet or Arrow file, an Arrow table, or a pandas or Polars frame.",
    )


def quoted(column: str) -> str:
    """A source column's name as an SQL identifier, whatever characters it has."""
    return '"' + column.replace('"', '""') + '"'


def _open_file(connection: duckdb.DuckDBPyConnection, path: Path) -> Source:
    if not path.is_file():
        raise NotFound(f"There is no file {str(path)!r}.", "Check the path.")
    kind = READERS.get(path.suffix.lower())
    if kind is None:
        raise BadData(f"The file {path.name!r} has no known ending.", f"Known: {', '.join(READERS)}.")
    try:
        return _read(connection, path, kind)
    except (duckdb.Error, pa.ArrowInvalid, OSError):
        raise BadData(
            f"The file {path.name!r} cannot be read as {kind}.",
            "Check that it is complete, in UTF-8, with one header line and the same columns in every line.",
        ) from None


def _read(connection: duckdb.DuckDBPyConnection, path: Path, kind: str) -> Source:
    if kind == "csv":
        relation = connection.read_csv(
            str(path),
            header=True,
            all_varchar=True,
            delimiter=_delimiter(path),
            quotechar='"',
            escapechar='"',
        )
        return Source(relation, None, path.name)
    if kind == "parquet":
        import pyarrow.parquet as pq  # noqa: PLC0415 - only Parquet files need it

        return Source(connection.read_parquet(str(path)), pq.read_metadata(path).num_rows, path.name)
    table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    return Source(connection.from_arrow(table), table.num_rows, path.name)


def _delimiter(path: Path) -> str:
    """The separator of the header line; guessing it from all lines would take a torn line for a dialect."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        header = file.readline()
    return max(",;\t|", key=header.count)


def _open_batches(connection: duckdb.DuckDBPyConnection, batches: Iterator[Any]) -> Source:
    first = next(batches, None)
    if not isinstance(first, pa.RecordBatch):
        raise BadData("The stream has no Arrow record batch.", "Give pyarrow.RecordBatch objects.")

    def all_batches() -> Iterator[pa.RecordBatch]:
        yield first
        yield from batches

    reader = pa.RecordBatchReader.from_batches(first.schema, all_batches())
    return Source(connection.from_arrow(reader), None, "an Arrow stream")
