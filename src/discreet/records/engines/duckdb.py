"""The default engine: embedded DuckDB on the file `data.duckdb` of a version, opened read-only.

    records   one row per record, sorted by the finest geography
    seal      the tag of the version (`record_tag` of `records/keys.py`)

`codes.bin` has the same records for the compiled count (`records/compiled_count.py`). Files of earlier versions also have
a table `rollup`, which is ignored: cubes replaced it (`records/cubes.py`).

Categories are small unsigned integers, so DuckDB aggregates into a perfect hash table; a threshold of 18 bits makes
three-way tables about twice as fast (docs/decisions/0003-engine.md). The sum of 32-bit keys is cast to UBIGINT: HUGEINT
would become a lossy float.

SQL consists of variable names (letters, digits, underscores) and integers only; no label, code or path enters it.
"""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.records import compiled_count as compiled
from discreet.records.engine import (
    AggregateQuery,
    EngineKind,
    SparseCells,
    identifier,
    measure_sums,
    select_sql,
)
from discreet.records.storage import connect_duckdb, sorted_staged, to_numpy, writing_duckdb

DATABASE = "data.duckdb"
RECORDS = "records"
FORMER = "rollup"
SEAL = "seal"
PERFECT_HASH_BITS = 18
#: Rows of a part.
BATCH = 16_384
#: Records written to `codes.bin` at a time.
CODES_BATCH = 1_000_000
#: DuckDB's buffer of parts that are not read yet.
AHEAD = "1MB"


class DuckDBCounts:
    """Aggregates by DuckDB, for records in any place that it reads; each thread has a cursor."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._local = threading.local()

    def aggregate(self, query: AggregateQuery) -> SparseCells:
        """Run one aggregate."""
        try:
            found = self._result(aggregate_sql(query)).to_arrow_table()
        except duckdb.Error:
            raise _uncountable() from None
        return cells_of(found, query)

    def sound(self) -> bool:
        """True: the records are in sealed files."""
        return True

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _result(self, sql: str) -> duckdb.DuckDBPyRelation:
        return self._cursor().sql(sql)

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        if not hasattr(self._local, "cursor"):
            self._local.cursor = self._connection.cursor()
            # Per cursor: how far DuckDB reads ahead.
            self._local.cursor.execute(f"SET streaming_buffer_size = '{AHEAD}'")
        cursor: duckdb.DuckDBPyConnection = self._local.cursor
        return cursor


class DuckDBEngine(DuckDBCounts):
    """Counts the records of one stored version; `codes` are the records for the compiled count, if there are many."""

    def __init__(
        self, path: Path, *, threads: int | None = None, codes: compiled.CodeFile | None = None
    ) -> None:
        self._codes, self._threads = codes, threads
        try:
            super().__init__(connect_duckdb(path, read_only=True, threads=threads))
        except duckdb.Error:
            raise WorkspaceUnusable(
                f"The stored records {path.parent.name}/{path.name} cannot be opened.",
                "Load the dataset again.",
            ) from None
        self._connection.execute(f"SET perfect_ht_threshold = {PERFECT_HASH_BITS}")
        sql = "SELECT table_name FROM information_schema.tables"
        names = {name for (name,) in self._connection.execute(sql).fetchall()}
        if not {RECORDS, SEAL} <= names <= {RECORDS, FORMER, SEAL}:
            self._connection.close()
            raise WorkspaceUnusable(
                f"The stored records {path.parent.name}/{path.name} do not have the tables of a load.",
                "Load the dataset again.",
            )

    def parts(self, query: AggregateQuery) -> Iterator[SparseCells]:
        """The rows themselves, some at a time: DuckDB's table of groups would outweigh ours."""
        try:
            for rows in self._result(select_sql(query, RECORDS, "1::UTINYINT", "{}", "{}")).to_arrow_reader(
                BATCH
            ):
                yield cells_of(pa.Table.from_batches([rows]), query)
        except (duckdb.Error, pa.ArrowException):
            raise _uncountable() from None

    def dense(
        self, query: AggregateQuery, lookups: Sequence[NDArray[np.int64]], cells: int
    ) -> SparseCells | None:
        """The compiled count, if the kernel is ready."""
        if self._codes is None or (kernel := compiled.ready_kernel()) is None:
            return None
        return compiled.count_dense(self._codes, query, lookups, cells, kernel, self._threads)

    @property
    def tag(self) -> str:
        """The tag stored with the records."""
        found = self._cursor().execute(f"SELECT tag FROM {SEAL} LIMIT 2").fetchall()
        return str(found[0][0]) if len(found) == 1 else ""

    def close(self) -> None:
        """Close the database and unmap the codes."""
        self._codes = None
        super().close()


def aggregate_sql(query: AggregateQuery) -> str:
    """The SQL of an aggregate.

    >>> from discreet.records.engine import AggregateQuery
    >>> aggregate_sql(AggregateQuery(("sex",), (("age", (1, 2)),)))
    'SELECT "sex" AS g0, count(*) AS n, sum("record_key")::UBIGINT AS k FROM records WHERE "age" IN (1, 2) GROUP BY ALL'
    """
    return (
        select_sql(query, RECORDS, "count(*)", "sum({})::UBIGINT", "sum({})::BIGINT", largest="max({}, {})")
        + " GROUP BY ALL"
    )


def cells_of(found: pa.Table, query: AggregateQuery) -> SparseCells:
    """The rows of a result as cells."""

    def sums(name: str) -> NDArray[np.int64]:
        return _plain(found.column(name)).astype(np.int64, copy=False)

    codes = tuple(_plain(found.column(f"g{place}")) for place in range(len(query.group_by)))
    keys = _plain(found.column("k")).astype(np.uint64, copy=False)
    further = tuple(sums(f"s{place}") for place in range(len(query.sums)))
    measures = measure_sums(query, sums) if query.measures else ()
    return SparseCells(codes, sums("n"), keys, sums("w") if query.weights else None, further, measures)


def _uncountable() -> WorkspaceUnusable:
    return WorkspaceUnusable("The stored records could not be counted.", "Load the dataset again.")


def _plain(column: pa.ChunkedArray) -> NDArray[np.integer]:
    if column.null_count:
        raise WorkspaceUnusable("The stored records have gaps.", "Load the dataset again.")
    return to_numpy(column)


def store(staged: Path, dataset: Dataset, folder: Path, tag: str) -> None:
    """Write staged records to the database of a version, sorted, with their tag."""
    with writing_duckdb(folder / DATABASE, folder) as database:
        sorted_staged(database, staged, dataset).create(RECORDS)
        ((records,),) = database.execute(f"SELECT count(*) FROM {RECORDS}").fetchall()
        names = ", ".join(map(identifier, compiled.code_columns(dataset)))
        batches = database.sql(f"SELECT {names} FROM {RECORDS}").to_arrow_reader(CODES_BATCH)
        compiled.write_codes(batches, records, dataset, folder)
        del batches  # an open result would block the checkpoint
        database.execute(f"CREATE TABLE {SEAL} (tag VARCHAR)")
        database.execute(f"INSERT INTO {SEAL} VALUES (?)", [tag])
        database.execute("CHECKPOINT")  # else the next connection would replay a log file


def _open(folder: Path, dataset: Dataset, threads: int | None) -> DuckDBEngine:
    return DuckDBEngine(folder / DATABASE, threads=threads, codes=compiled.open_codes(folder, dataset))


KIND = EngineKind("duckdb", "DuckDB, embedded, in the workspace", store, _open)
