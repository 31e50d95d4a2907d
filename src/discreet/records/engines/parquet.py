"""DuckDB on Parquet files in a version's folder, in the layout that Spark writes, too.

    records/     one row per record, sorted by the finest geography
    seal.json    the tag of the version (`record_tag` of `records/keys.py`)

Both engines read each other's files, and so can other programs of the office. Counting is slower than in DuckDB's file
format.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import duckdb
import pyarrow as pa

from discreet.errors import RecordsAway, WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.records.engine import EngineKind
from discreet.records.engines.duckdb import DuckDBCounts
from discreet.records.storage import connect_duckdb

RECORDS, SEAL = "records", "seal.json"
#: The folder of staged Parquet files during a load.
STAGED = "staged"


def write_seal(folder: Path, tag: str) -> None:
    """Store the tag with the records."""
    (folder / SEAL).write_text(json.dumps({"tag": tag}) + "\n", "utf-8")


def read_tag(folder: Path) -> str:
    """The tag stored with the records.

    Raises:
        WorkspaceUnusable: It cannot be read.
    """
    try:
        return str(json.loads((folder / SEAL).read_text("utf-8"))["tag"])
    except (OSError, ValueError, KeyError, TypeError):
        raise WorkspaceUnusable(
            f"The stored records {folder.name[:8]}/{SEAL} cannot be opened.", "Load the dataset again."
        ) from None


def parquet_files(folder: Path) -> list[str]:
    """The Parquet files of a folder, by name."""
    return sorted(str(path) for path in folder.glob("*.parquet"))


class ParquetEngine(DuckDBCounts):
    """Counts the records of one stored version."""

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        self._tag = read_tag(folder)
        self._files = parquet_files(folder / RECORDS)
        if not self._files:
            raise RecordsAway(
                "The files of the records are not there.", "Restore them, or load the dataset again."
            )
        super().__init__(connect_duckdb(threads=threads))

    @property
    def tag(self) -> str:
        """The tag stored with the records."""
        return self._tag

    def _result(self, sql: str) -> duckdb.DuckDBPyRelation:
        files = self._cursor().read_parquet(self._files)
        return cast("duckdb.DuckDBPyRelation", files.query(RECORDS, sql))


def store(staged: Path, dataset: Dataset, folder: Path, tag: str) -> None:
    """Write staged records as Parquet, sorted by the finest geography so that filters on it read few row groups."""
    (folder / RECORDS).mkdir()
    with connect_duckdb(temporary=folder) as database, pa.memory_map(str(staged)) as source:
        database.register("staged", pa.ipc.open_file(source).read_all())
        order = f' ORDER BY "{dataset.finest_geography}"' if dataset.finest_geography else ""
        database.sql(f"SELECT * FROM staged{order}").write_parquet(str(folder / RECORDS / "0.parquet"))
    write_seal(folder, tag)


def _open(folder: Path, _dataset: Dataset, threads: int | None) -> ParquetEngine:
    return ParquetEngine(folder, threads)


KIND = EngineKind("parquet", "DuckDB on Parquet files in the workspace", store, _open)
