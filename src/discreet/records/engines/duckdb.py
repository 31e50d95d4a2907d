"""The default engine: DuckDB, embedded, on a file that it opens read-only.

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

from discreet.errors import WorkspaceUnusable
from discreet.records.engine import SparseCells
from discreet.records.storage import RECORD_KEY, RECORDS, ROLLUP, WEIGHT

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from discreet.records.engine import AggregateQuery

PERFECT_HASH_BITS = 18


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
        return SparseCells(codes, counts, _plain(found.column("k")).astype(np.uint64, copy=False), weights)

    def _sql(self, query: AggregateQuery) -> str:
        """From the roll-up where it has all variables of the query, else from the records."""
        if query.variables <= self._rollup:
            return aggregate_sql(query, ROLLUP, "sum(n)::BIGINT", "sum(k)::UBIGINT", "sum(w)::BIGINT")
        return aggregate_sql(query)

    def _rollup_columns(self) -> frozenset[str]:
        sql = "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND NOT internal"
        return frozenset(name for (name,) in self._connection.execute(sql, [ROLLUP]).fetchall())

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
    where = " AND ".join(
        f"{_identifier(name)} IN ({', '.join(str(int(code)) for code in codes)})"
        for name, codes in query.filters
    )
    sql = f"SELECT {', '.join(chosen)} FROM {table}"  # noqa: S608 - names and integers only
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
