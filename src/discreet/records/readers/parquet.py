"""Parquet files, and folders of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import BadData
from discreet.model.description.sections import FileOptions
from discreet.records.readers import Reader
from discreet.records.source import Source, plain_path

if TYPE_CHECKING:
    import duckdb


def _open(connection: duckdb.DuckDBPyConnection, path: Path, _options: FileOptions, aside: Path) -> Source:
    import pyarrow.parquet as pq  # noqa: PLC0415 - only Parquet files need it

    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise BadData(f"The folder {path.name!r} has no Parquet file.", "Name a folder of *.parquet files.")
    records = sum(pq.read_metadata(file).num_rows for file in files)
    names = [str(file) for file in files] if path.is_dir() else [plain_path(path, aside)]
    if set("".join(names)) & set("*?[]{}"):
        raise BadData(f"A name in {path.name!r} has a star or bracket.", "Rename the files.")
    return Source(connection.read_parquet(names), records, path.name)


READER = Reader("Parquet", (".parquet",), _open, folders=True)
