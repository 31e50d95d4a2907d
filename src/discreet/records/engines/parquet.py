"""DuckDB on Parquet files in place: a version without a database, in the folders that Spark writes, too.

    records/ seal.json   in the version's folder, hence sealed (`records/parquet_place.py`)

DuckDB counts the files where they are. Nothing is imported, and any other program of the office can read them. Counting is
slower than in DuckDB's own file, which has its statistics at hand.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

import duckdb
import pyarrow as pa

from discreet.errors import RecordsAway
from discreet.records.engine import EngineKind
from discreet.records.engines.duckdb import aggregate_sql, cells_of, uncountable
from discreet.records.parquet_place import RECORDS, parquet_files, read_tag, write_seal
from discreet.records.silence import silence
from discreet.records.storage import MEMORY_LIMIT

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.model.dataset import Dataset
    from discreet.records.engine import AggregateQuery, SparseCells


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
        silence(self._connection)
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
        silence(database)
        database.register("staged", pa.ipc.open_file(source).read_all())
        order = f' ORDER BY "{dataset.finest_geography}"' if dataset.finest_geography else ""
        database.sql(f"SELECT * FROM staged{order}").write_parquet(str(folder / RECORDS / "0.parquet"))
    write_seal(folder, tag)


def _open(folder: Path, _dataset: Dataset, threads: int | None) -> ParquetEngine:
    return ParquetEngine(folder, threads)


KIND = EngineKind("parquet", "DuckDB on Parquet files in the workspace", store, _open)
