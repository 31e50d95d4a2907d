"""Coded records as folders of Parquet files in a version's folder: what Spark writes, and what DuckDB reads in place.

    records/     one row a record, sorted by the finest geography
    seal.json    the tag of the version (`records/keys.py`)

Both engines read what the other wrote: the layout does not tell who did.

DuckDB on Parquet files in place: a version without a database, in the folders that Spark writes, too.

    records/ seal.json   in the version's folder, hence sealed (`records/engines/parquet.py`)

DuckDB counts the files where they are. Nothing is imported, and any other program of the office can read them. Counting is
slower than in DuckDB's own file, which has its statistics at hand.
"""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import cast

import duckdb
import pyarrow as pa

from discreet.errors import RecordsAway, WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.records.engine import AggregateQuery, EngineKind, SparseCells
from discreet.records.engines.duckdb import aggregate_sql, cells_of, uncountable
from discreet.records.storage import MEMORY_LIMIT, hide_progress_bar

RECORDS, SEAL = "records", "seal.json"
#: Where records wait during a load, as Parquet files.
STAGED = "staged"


def write_seal(folder: Path, tag: str) -> None:
    """Keep the tag beside the records."""
    (folder / SEAL).write_text(json.dumps({"tag": tag}) + "\n", "utf-8")


def read_tag(folder: Path) -> str:
    """The tag that stands beside the records.

    Raises:
        WorkspaceUnusable: It is not there.
    """
    try:
        return str(json.loads((folder / SEAL).read_text("utf-8"))["tag"])
    except (OSError, ValueError, KeyError, TypeError):
        raise WorkspaceUnusable(
            f"The stored records {folder.name[:8]}/{SEAL} cannot be opened.", "Load the dataset again."
        ) from None


def parquet_files(folder: Path) -> list[str]:
    """The Parquet files of a folder, in the order of their names."""
    return sorted(str(path) for path in folder.glob("*.parquet"))


class ParquetEngine:
    """Counts the records of one stored version.

    Args:
        folder: The version's.
        threads: How many threads DuckDB may use; all cores by default.
    """

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        self.tag = read_tag(folder)
        self._files = parquet_files(folder / RECORDS)
        if not self._files:
            raise RecordsAway(
                "The files of the records are not there.", "Restore them, or load the dataset again."
            )
        self._connection = duckdb.connect()
        hide_progress_bar(self._connection)
        if threads is not None:
            self._connection.execute(f"SET threads = {int(threads)}")
        self._local = threading.local()

    def aggregate(self, query: AggregateQuery) -> SparseCells:
        """Run one aggregate; each thread of the server has a cursor of its own."""
        try:
            files = self._cursor().read_parquet(self._files)
            found = cast(
                "duckdb.DuckDBPyRelation", files.query(RECORDS, aggregate_sql(query))
            ).to_arrow_table()
        except duckdb.Error:
            raise uncountable() from None
        return cells_of(found, query)

    def sound(self) -> bool:
        """The records are in the version's folder, whose files are sealed."""
        return True

    def close(self) -> None:
        """Let go of the files."""
        self._connection.close()

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        if not hasattr(self._local, "cursor"):
            self._local.cursor = self._connection.cursor()
        cursor: duckdb.DuckDBPyConnection = self._local.cursor
        return cursor


def store(staged: Path, dataset: Dataset, folder: Path, tag: str) -> None:
    """Write staged records as Parquet, sorted by the finest geography so that its counts read few groups of rows."""
    (folder / RECORDS).mkdir()
    limits = {"memory_limit": MEMORY_LIMIT, "temp_directory": str(folder)}
    with duckdb.connect(config=dict(limits)) as database, pa.memory_map(str(staged)) as source:
        hide_progress_bar(database)
        database.register("staged", pa.ipc.open_file(source).read_all())
        order = f' ORDER BY "{dataset.finest_geography}"' if dataset.finest_geography else ""
        database.sql(f"SELECT * FROM staged{order}").write_parquet(str(folder / RECORDS / "0.parquet"))
    write_seal(folder, tag)


def _open(folder: Path, _dataset: Dataset, threads: int | None) -> ParquetEngine:
    return ParquetEngine(folder, threads)


KIND = EngineKind("parquet", "DuckDB on Parquet files in the workspace", store, _open)
