"""Where records come from: files of every kind that has a reader, Arrow tables and streams, pandas and Polars frames.

Every source becomes a DuckDB relation; a path or a frame is handed to DuckDB as an object, never as SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from discreet.errors import BadData, DiscreetError
from discreet.model.description.sections import FileOptions
from discreet.records.readers import reader_of
from discreet.records.source import Source

#: How the name of records begins that live in Spark.
IN_SPARK = "spark:"


def open_source(
    connection: duckdb.DuckDBPyConnection, records: object, aside: Path, options: FileOptions | None = None
) -> Source:
    """Open a path, frame, table or stream of batches.

    Args:
        connection: Where the relation lives.
        records: The path or object.
        aside: A folder for files that are needed while it is read; the caller removes it.
        options: How a file is read.

    Raises:
        NotFound: No such file.
        BadData: A file or object that cannot be read as records.
    """
    if isinstance(records, str) and records.startswith(IN_SPARK):
        raise BadData(f"The records {records!r} live in Spark.", "Load them with the engine spark.")
    if isinstance(records, str | Path):
        return _open_file(connection, Path(records), options or FileOptions(), aside)
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
        "Give a file, an Arrow table, or a pandas or Polars frame.",
    )


def _open_file(
    connection: duckdb.DuckDBPyConnection, path: Path, options: FileOptions, aside: Path
) -> Source:
    reader = reader_of(path)
    try:
        return reader.open(connection, path, options, aside)
    except (duckdb.Error, pa.ArrowInvalid, OSError, EOFError):
        raise BadData(
            f"The file {path.name!r} cannot be read as {reader.name}.",
            "Check that it is complete and is what its ending says.",
        ) from None


def read_error(source: Source) -> DiscreetError:
    """Why the reading of a source ended before its last record."""
    return source.torn() or BadData(
        f"{source.name} cannot be read to the end.",
        "Check that it is complete, and that every line has the same columns and the same kind of line end.",
    )


def _open_batches(connection: duckdb.DuckDBPyConnection, batches: Iterator[Any]) -> Source:
    first = next(batches, None)
    if not isinstance(first, pa.RecordBatch):
        raise BadData("The stream has no Arrow record batch.", "Give pyarrow.RecordBatch objects.")

    def all_batches() -> Iterator[pa.RecordBatch]:
        yield first
        yield from batches

    reader = pa.RecordBatchReader.from_batches(first.schema, all_batches())
    return Source(connection.from_arrow(reader), None, "an Arrow stream")
