"""The default engine: DuckDB, embedded, on the file `data.duckdb` of a version, which it opens read-only.

    records   one row a record, sorted by the finest geography
    rollup    counts and sums by all variables but the finer geography, where that is much smaller
    seal      the tag of the version (`records/record_tag.py`)

The roll-up holds the same sums as the records, added up once: a table over its variables is exact and
several times faster from it. It is as confidential as the records.

Categories are stored as small unsigned integers, which lets DuckDB aggregate into a perfect hash table;
raising its threshold to 18 bits makes three-way tables about twice as fast (docs/decisions/0003-engine.md).
The sum of 32-bit keys is cast to UBIGINT: left as HUGEINT it would arrive as a lossy float.

SQL is made of variable names (letters, digits, underscores) and integers only; no label, code or path
ever enters it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, cast

import duckdb
import numpy as np
import pyarrow as pa

from discreet.errors import WorkspaceUnusable
from discreet.records.design_columns import stored_sums
from discreet.records.engine import EngineKind, SparseCells
from discreet.records.storage import MEMORY_LIMIT, RECORD_KEY, WEIGHT

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.records.engine import AggregateQuery

DATABASE = "data.duckdb"
RECORDS = "records"
ROLLUP = "rollup"
SEAL = "seal"
PERFECT_HASH_BITS = 18
#: A roll-up is kept where it has at most one row for so many records.
ROLLUP_GAIN = 4


class DuckDBEngine:
    """Counts the records of one stored version of a dataset.

    Args:
        path: The `data.duckdb` of the version.
        threads: How many threads DuckDB may use; all cores by default. The result does not depend on it.
    """

    def __init__(self, path: Path, *, threads: int | None = None) -> None:
        try:
            self._connection = duckdb.connect(str(path), read_only=True)
        except duckdb.Error:
            raise WorkspaceUnusable(
                f"The stored records {path.parent.name}/{path.name} cannot be opened.",
                "Load the dataset again.",
            ) from None
        self._connection.execute(f"SET perfect_ht_threshold = {PERFECT_HASH_BITS}")
        # In a notebook or `python -c` DuckDB draws a bar of its own on standard output, among our documents.
        self._connection.execute("SET enable_progress_bar = false")
        if threads is not None:
            self._connection.execute(f"SET threads = {int(threads)}")
        self._local = threading.local()
        self._refuse_foreign_tables(path)
        self._rollup = self._rollup_columns()

    def aggregate(self, query: AggregateQuery) -> SparseCells:
        """Run one aggregate; each thread of the server has a cursor of its own."""
        try:
            found = self._cursor().sql(self._sql(query)).to_arrow_table()
        except duckdb.Error:
            raise WorkspaceUnusable(
                "The stored records could not be counted.", "Load the dataset again."
            ) from None
        codes = tuple(_plain(found.column(f"g{place}")) for place in range(len(query.group_by)))
        weights = _plain(found.column("w")).astype(np.int64, copy=False) if query.weights else None
        counts = _plain(found.column("n")).astype(np.int64, copy=False)
        keys = _plain(found.column("k")).astype(np.uint64, copy=False)
        sums = tuple(_plain(found.column(f"s{place}")) for place in range(len(query.sums)))
        return SparseCells(codes, counts, keys, weights, tuple(s.astype(np.int64, copy=False) for s in sums))

    def _sql(self, query: AggregateQuery) -> str:
        """From the roll-up where it has all variables of the query, else from the records."""
        if query.variables <= self._rollup:
            return aggregate_sql(query, ROLLUP, "sum(n)::BIGINT", "sum(k)::UBIGINT", "sum(w)::BIGINT")
        return aggregate_sql(query)

    def _rollup_columns(self) -> frozenset[str]:
        sql = "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND NOT internal"
        return frozenset(name for (name,) in self._connection.execute(sql, [ROLLUP]).fetchall())

    @property
    def tag(self) -> str:
        """The tag that was stored beside the records."""
        found = self._cursor().execute(f"SELECT tag FROM {SEAL} LIMIT 2").fetchall()
        return str(found[0][0]) if len(found) == 1 else ""

    def _refuse_foreign_tables(self, path: Path) -> None:
        sql = "SELECT table_name FROM information_schema.tables"
        names = {name for (name,) in self._connection.execute(sql).fetchall()}
        if not {RECORDS, SEAL} <= names <= {RECORDS, ROLLUP, SEAL}:
            self._connection.close()
            raise WorkspaceUnusable(
                f"The stored records {path.parent.name}/{path.name} do not have the tables of a load.",
                "Load the dataset again.",
            )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        if not hasattr(self._local, "cursor"):
            self._local.cursor = self._connection.cursor()
        cursor: duckdb.DuckDBPyConnection = self._local.cursor
        return cursor


def aggregate_sql(
    query: AggregateQuery,
    table: str = RECORDS,
    count: str = "count(*)",
    key_sum: str = f"sum({RECORD_KEY})::UBIGINT",
    weight_sum: str = f"sum({WEIGHT})::BIGINT",
) -> str:
    """The SQL of an aggregate.

    >>> from discreet.records.engine import AggregateQuery
    >>> aggregate_sql(AggregateQuery(("sex",), (("age", (1, 2)),)))
    'SELECT "sex" AS g0, count(*) AS n, sum(record_key)::UBIGINT AS k FROM records WHERE "age" IN (1, 2) GROUP BY ALL'
    """
    chosen = [f"{_identifier(name)} AS g{place}" for place, name in enumerate(query.group_by)]
    chosen += [f"{count} AS n", f"{key_sum} AS k", *([f"{weight_sum} AS w"] if query.weights else [])]
    chosen += [f"sum({_identifier(name)})::BIGINT AS s{place}" for place, name in enumerate(query.sums)]
    where = " AND ".join(
        f"{_identifier(name)} IN ({', '.join(str(int(code)) for code in codes)})"
        for name, codes in query.filters
    )
    sql = f"SELECT {', '.join(chosen)} FROM {table}"
    return sql + (f" WHERE {where}" if where else "") + " GROUP BY ALL"


def _identifier(name: str) -> str:
    if not name.isidentifier() or not name.isascii():
        raise ValueError("not a variable name")
    return f'"{name}"'


def _plain(column: pa.ChunkedArray) -> NDArray[np.integer]:
    """A NumPy array; a missing value in the stored records means damage."""
    if column.null_count:
        raise WorkspaceUnusable("The stored records have gaps.", "Load the dataset again.")
    # By DLPack and not by `to_numpy`, which loads pandas.
    return cast("NDArray[np.integer]", np.from_dlpack(column.combine_chunks()))


def rollup_variables(dataset: Dataset) -> list[str]:
    """The variables of the roll-up: all but the finer levels of a geography."""
    finer = {level for h in dataset.hierarchies if h.geography for level in h.levels[1:]}
    return [variable.name for variable in dataset.variables if variable.name not in finer]


def store(staged: Path, dataset: Dataset, folder: Path, tag: str) -> None:
    """Write staged records to the database of a version, sorted, with their roll-up and tag, all in its one file."""
    path = folder / DATABASE
    database = duckdb.connect(str(path), config={"memory_limit": MEMORY_LIMIT, "temp_directory": str(folder)})
    database.execute("SET enable_progress_bar = false")
    with pa.memory_map(str(staged)) as source, database:
        database.register("staged", pa.ipc.open_file(source).read_all())
        order = f' ORDER BY "{dataset.finest_geography}"' if dataset.finest_geography else ""
        database.execute(f"CREATE TABLE {RECORDS} AS SELECT * FROM staged{order}")
        database.unregister("staged")
        _roll_up(database, dataset)
        database.execute(f"CREATE TABLE {SEAL} (tag VARCHAR)")
        database.execute(f"INSERT INTO {SEAL} VALUES (?)", [tag])
        database.execute("CHECKPOINT")  # a log beside the file would be replayed by whoever opens it


def _roll_up(database: duckdb.DuckDBPyConnection, dataset: Dataset) -> None:
    names = ", ".join(f'"{name}"' for name in rollup_variables(dataset))
    sums = f"count(*)::UINTEGER AS n, sum({RECORD_KEY})::UBIGINT AS k"
    if dataset.weight_column is not None:
        sums += f", sum({WEIGHT})::BIGINT AS w"
    sums += "".join(f', sum("{name}")::BIGINT AS "{name}"' for name in stored_sums(dataset))
    database.execute(f"CREATE TEMP TABLE rolled AS SELECT {names}, {sums} FROM {RECORDS} GROUP BY {names}")
    sizes = database.execute(
        f"SELECT (SELECT count(*) FROM rolled), (SELECT count(*) FROM {RECORDS})"
    ).fetchone()
    if sizes is not None and sizes[0] * ROLLUP_GAIN <= sizes[1]:
        database.execute(f"CREATE TABLE {ROLLUP} AS SELECT * FROM rolled")


def _open(folder: Path, _dataset: Dataset, threads: int | None) -> DuckDBEngine:
    return DuckDBEngine(folder / DATABASE, threads=threads)


KIND = EngineKind("duckdb", "DuckDB, embedded, in the workspace", store, _open)
