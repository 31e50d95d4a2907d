"""Kinds of files that records are read from: one module per kind, which defines `READER`.

A reader opens a file as a `Source`: a DuckDB relation that is read once, and the metadata of its columns. Other packages
call `register`. A path or a frame goes to DuckDB as an object, never as SQL.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import duckdb
import pyarrow as pa

from discreet.errors import BadData, DiscreetError, NotFound
from discreet.model.description.sections import FileOptions
from discreet.model.plugins import Extra, Registry
from discreet.records.source import Source, refuse_wide

#: The prefix of records that live in Spark.
IN_SPARK = "spark:"


@dataclass(frozen=True, slots=True)
class Reader:
    """A kind of file.

    Args:
        open: `open(connection, path, options, aside)`: the file as a source. Temporary files go to the folder `aside`.
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
    """Add a kind of file of another package; its name and endings must be free."""
    _REGISTRY.register(reader)


def reader_of(path: Path) -> Reader:
    """The reader of a file, by its name; ready to use."""
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


def open_source(
    connection: duckdb.DuckDBPyConnection, records: object, aside: Path, options: FileOptions | None = None
) -> Source:
    """Open a path, frame, table or stream of batches; temporary files go to the folder `aside`, which the caller removes.

    Raises:
        NotFound: No such file.
        BadData: A file or object that cannot be read as records.
    """
    if isinstance(records, str) and records.startswith(IN_SPARK):
        raise BadData(f"The records {records!r} live in Spark.", "Load them with the engine spark.")
    if isinstance(records, str | Path):
        path = Path(records)
        reader = reader_of(path)
        try:
            source = reader.open(connection, path, options or FileOptions(), aside)
        except (duckdb.Error, pa.ArrowInvalid, OSError, EOFError):
            raise BadData(
                f"The file {path.name!r} cannot be read as {reader.name}.",
                "Check that it is complete and is what its ending says.",
            ) from None
        refuse_wide(source.columns, path.name)
        return source
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
        batches = iter(records)
        first = next(batches, None)
        if not isinstance(first, pa.RecordBatch):
            raise BadData("The stream has no Arrow record batch.", "Give pyarrow.RecordBatch objects.")
        reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
        return Source(connection.from_arrow(reader), None, "an Arrow stream")
    raise BadData(
        f"Records cannot be read from {type(records).__name__}.",
        "Give a file, an Arrow table, or a pandas or Polars frame.",
    )


def read_error(source: Source) -> DiscreetError:
    """The reason why the reading of a source ended early."""
    return source.torn() or BadData(
        f"{source.name} cannot be read to the end.",
        "Check that it is complete, and that every line has the same columns and the same kind of line end.",
    )
