"""DuckDB on Parquet files in a version's folder, in the layout that Spark writes, too.

    records/     one row per record, sorted by the finest geography
    seal.json    the tag of the version (`record_tag` of `records/keys.py`)

Both engines read each other's files, and so can other programs of the office. Counting is slower than in DuckDB's file
format.
"""

import json
from pathlib import Path
from typing import cast

import duckdb

from discreet.errors import RecordsAway, WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.records.engine import EngineKind
from discreet.records.engines.duckdb import DuckDBCounts
from discreet.records.storage import connect_duckdb, sorted_staged, writing_duckdb

RECORDS, SEAL = "records", "seal.json"
#: The folder of staged Parquet files during a load.
STAGED = "staged"


def write_seal(folder: Path, tag: str) -> None:
    """Store the tag with the records."""
    (folder / SEAL).write_text(json.dumps({"tag": tag}) + "\n", "utf-8")


def read_tag(folder: Path) -> str:
    """The tag stored with the records."""
    try:
        return str(json.loads((folder / SEAL).read_text("utf-8"))["tag"])
    except (OSError, ValueError, KeyError, TypeError):
        raise WorkspaceUnusable(
            f"The stored records {folder.name[:8]}/{SEAL} cannot be opened.", "Load the dataset again."
        ) from None


class ParquetEngine(DuckDBCounts):
    """Counts the records of one stored version."""

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        self.tag = read_tag(folder)
        self._files = sorted(str(path) for path in (folder / RECORDS).glob("*.parquet"))
        if not self._files:
            raise RecordsAway(
                "The files of the records are not there.", "Restore them, or load the dataset again."
            )
        super().__init__(connect_duckdb(threads=threads))

    def _result(self, sql: str) -> duckdb.DuckDBPyRelation:
        files = self._cursor().read_parquet(self._files)
        return cast("duckdb.DuckDBPyRelation", files.query(RECORDS, sql))


def store(staged: Path, dataset: Dataset, folder: Path, tag: str) -> None:
    """Write staged records as Parquet, sorted, so that filters on the geography read few row groups."""
    (folder / RECORDS).mkdir()
    with writing_duckdb(None, folder) as database:
        sorted_staged(database, staged, dataset).write_parquet(str(folder / RECORDS / "0.parquet"))
    write_seal(folder, tag)


KIND = EngineKind(
    "parquet",
    "DuckDB on Parquet files in the workspace",
    store,
    lambda folder, _dataset, threads: ParquetEngine(folder, threads),
)
