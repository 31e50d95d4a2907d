"""PostgreSQL as an engine: one schema per version, filled by COPY, counted by one aggregate.

    DISCREET_POSTGRES   the connection string of libpq; passwords by libpq's means (PGPASSFILE, a service)
    postgres.json       in the version's folder, sealed: the database without password, the schema, a salted checksum
    <schema>.records    one row per record, sorted by the finest geography; <schema>.seal the tag

Rows travel as PostgreSQL's binary COPY, made and read by NumPy. Only the loading role has rights on the schema. `discreet
verify` compares the salted checksum of all rows: its salt is not in the database, so an attacker who can write only there
cannot forge it.

PostgreSQL has no unsigned integers: codes and keys are stored one size larger. A sum of 2^31 keys of 32 bits fits 63 bits.

Source: PostgreSQL documentation, COPY, "Binary Format".
"""

import json
import os
import secrets
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import BadOption, RecordsAway, WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.model.plugins import Extra
from discreet.records.engine import (
    AggregateQuery,
    EngineKind,
    SparseCells,
    identifier,
    measure_columns,
    measure_sums,
    select_sql,
)
from discreet.records.storage import staged_batches, storage_schema

ENVIRONMENT = "DISCREET_POSTGRES"
PLACE = "postgres.json"
_ADVICE = f"Start the database, and look at {ENVIRONMENT} and at the rights of its role; else load the dataset again."
_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_TRAILER = b"\xff\xff"
#: The middle of the range of record keys.
_MIDDLE = 2**31
#: Groups are kept in memory up to here by each process of a query; PostgreSQL's default is 4 MB.
_WORK_MEMORY = "64MB"
_TYPES = {
    pa.uint8(): ("smallint", ">i2"),
    pa.uint16(): ("integer", ">i4"),
    pa.uint32(): ("bigint", ">i8"),
    pa.int64(): ("bigint", ">i8"),
}


class PostgresEngine:
    """Counts the records of one stored version, which `postgres.json` describes."""

    def __init__(self, place: dict[str, Any], threads: int | None = None) -> None:
        self._place, self._threads = place, threads
        self._schema = identifier(place["schema"])
        self._local, self._open = threading.local(), list[Any]()
        with _trouble():
            self._connection()  # fail now if the database is down

    @property
    def tag(self) -> str:
        """The tag stored with the records."""
        with _trouble():
            found = self._rows(f"SELECT tag FROM {self._schema}.seal LIMIT 2")
        return str(found[0][0]) if len(found) == 1 else ""

    def sound(self) -> bool:
        """Whether the number of rows and their salted checksum are those of the load."""
        with _trouble():
            return bool(self._rows(_sum_sql(self._schema), self._place["salt"])[0][0] == self._place["sum"])

    def aggregate(self, query: AggregateQuery) -> SparseCells:
        """Run one aggregate; each thread has a connection."""
        sql = aggregate_sql(query, self._schema)
        with (
            _trouble(),
            self._connection().cursor() as cursor,
            cursor.copy(f"COPY ({sql}) TO STDOUT (FORMAT binary)") as copy,
        ):
            raw = b"".join(bytes(part) for part in copy)
        named = measure_columns(query)
        width = len(query.group_by) + 2 + query.weights + len(query.sums)
        columns = _numbers(raw, width + len(named))
        measures = measure_sums(query, dict(zip(named, columns[width:], strict=True)).__getitem__)
        columns = columns[:width]
        codes, (counts, keys, *rest) = columns[: len(query.group_by)], columns[len(query.group_by) :]
        weights = rest.pop(0) if query.weights else None
        return SparseCells(tuple(codes), counts, keys.astype(np.uint64), weights, tuple(rest), measures)

    def close(self) -> None:
        """Close all connections."""
        for connection in self._open:
            connection.close()
        self._open.clear()
        self._local = threading.local()

    def _rows(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        with self._connection().cursor() as cursor:
            return list(cursor.execute(sql, values).fetchall())

    def _connection(self) -> Any:
        connection = getattr(self._local, "connection", None)
        if connection is None or connection.closed:
            connection = _connect(self._place["database"])
            connection.autocommit = True
            connection.execute("SET default_transaction_read_only = on")
            connection.execute(f"SET work_mem = '{_WORK_MEMORY}'")
            connection.execute("SET jit = off")  # a count takes less time than its compilation
            if self._threads is not None:
                connection.execute(f"SET max_parallel_workers_per_gather = {int(self._threads)}")
            self._local.connection = connection
            self._open.append(connection)
        return connection


def aggregate_sql(query: AggregateQuery, schema: str) -> str:
    """The SQL of an aggregate; every column is a 64-bit integer.

    A sum of 64-bit integers is numeric in PostgreSQL and slow to move between parallel workers; one of 32-bit integers is
    not. So keys are added up as key - 2^31, and 2^31 for each record is added to the sum.

    >>> from discreet.records.engine import AggregateQuery
    >>> aggregate_sql(AggregateQuery(("sex",)), "s").partition(" FROM ")[2]
    's.records GROUP BY "sex"'
    """
    key = f"sum(({{}} - {_MIDDLE})::int4) + {_MIDDLE} * count(*)"
    select = select_sql(query, f"{schema}.records", "count(*)::int8", key, "sum({})::int8", "{}::int8")
    groups = ", ".join(identifier(name) for name in query.group_by)
    return f"{select} GROUP BY {groups}" if groups else f"{select} HAVING count(*) > 0"


def store(staged: Path, dataset: Dataset, folder: Path, tag: str) -> None:
    """Write staged records into a new schema, in one transaction."""
    database = os.environ.get(ENVIRONMENT, "")
    if not database:
        raise BadOption(
            f"The engine postgres does not know its database: {ENVIRONMENT} is not set.",
            f'Set it, as in {ENVIRONMENT}="host=db.office dbname=discreet"; the password goes into a PGPASSFILE.',
        )
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    parts: dict[str, Any] = {**conninfo_to_dict(database)}
    parts.pop("password", None)
    schema, salt = f"discreet_{secrets.token_hex(12)}", secrets.token_hex(16)
    place = {"database": make_conninfo(**parts), "schema": schema, "salt": salt}
    # Written before the schema, so that an aborted load can be cleaned up.
    (folder / PLACE).write_text(json.dumps(place) + "\n", "utf-8")
    with _trouble(), _connect(database) as connection, connection.cursor() as cursor:
        schema, arrow = identifier(place["schema"]), storage_schema(dataset)
        cursor.execute(f"CREATE SCHEMA {schema}")
        cursor.execute(f"REVOKE ALL ON SCHEMA {schema} FROM PUBLIC")
        columns = ", ".join(f"{identifier(field.name)} {_TYPES[field.type][0]} NOT NULL" for field in arrow)
        cursor.execute(f"CREATE TEMP TABLE staged ({columns}) ON COMMIT DROP")
        with cursor.copy("COPY staged FROM STDIN (FORMAT binary)") as copy:
            copy.write(_HEADER)
            for batch in staged_batches(staged):
                copy.write(_binary(batch, arrow))
            copy.write(_TRAILER)
        order = f" ORDER BY {identifier(dataset.finest_geography)}" if dataset.finest_geography else ""
        cursor.execute(f"CREATE TABLE {schema}.records AS SELECT * FROM staged{order}")
        cursor.execute(f"CREATE TABLE {schema}.seal (tag text)")
        cursor.execute(f"INSERT INTO {schema}.seal VALUES (%s)", (tag,))
        place["sum"] = cursor.execute(_sum_sql(schema), (place["salt"],)).fetchone()[0]
        cursor.execute(f"ANALYZE {schema}.records")
    (folder / PLACE).write_text(json.dumps(place) + "\n", "utf-8")


def forget(folder: Path) -> None:
    """Drop the schema of a removed version or an aborted load."""
    if (folder / PLACE).is_file():
        place = _read(folder)
        with _trouble(), _connect(place["database"]) as connection:
            connection.execute(f"DROP SCHEMA IF EXISTS {identifier(place['schema'])} CASCADE")


def _sum_sql(schema: str) -> str:
    """The number of rows and the sum of their salted hashes, as text; independent of order."""
    return (
        "SELECT count(*) || ' ' || coalesce(sum(('x' || substr(md5(%s || t::text), 1, 16))::bit(64)::int8::numeric), 0) "
        f"FROM {schema}.records t"
    )


def _row_type(kinds: Sequence[str]) -> np.dtype[np.void]:
    """A row in binary COPY format: the number of columns, and each value with its length."""
    fields: list[tuple[str, str]] = [("n", ">i2")]
    for place, kind in enumerate(kinds):
        fields += [(f"l{place}", ">i4"), (f"c{place}", kind)]
    return np.dtype(fields)


def _binary(batch: pa.RecordBatch, schema: pa.Schema) -> bytes:
    kinds = [_TYPES[field.type][1] for field in schema]
    rows = np.empty(batch.num_rows, dtype=_row_type(kinds))
    rows["n"] = len(kinds)
    for place, kind in enumerate(kinds):
        rows[f"l{place}"] = np.dtype(kind).itemsize
        rows[f"c{place}"] = batch.column(place).to_numpy()
    return rows.tobytes()


def _numbers(raw: bytes, width: int) -> list[NDArray[np.int64]]:
    """The columns of a binary COPY of 64-bit integers; a missing value means damage."""
    row, body = _row_type([">i8"] * width), raw[len(_HEADER) : -len(_TRAILER)]
    rows = np.frombuffer(body, dtype=row) if len(body) % row.itemsize == 0 else None
    if rows is None or any((rows[f"l{place}"] != 8).any() for place in range(width)):
        raise WorkspaceUnusable("The stored records have gaps.", "Load the dataset again.")
    return [rows[f"c{place}"].astype(np.int64) for place in range(width)]


def _connect(database: str) -> Any:
    import psycopg

    try:
        return psycopg.connect(os.environ.get(ENVIRONMENT) or database)
    except psycopg.OperationalError:
        raise RecordsAway(
            "The records are kept by a PostgreSQL database that does not answer.", _ADVICE
        ) from None


@contextmanager
def _trouble() -> Iterator[None]:
    """Replace database errors by ours: their messages could contain values."""
    import psycopg

    try:
        yield
    except psycopg.Error:
        message = "The records are kept by a PostgreSQL database that does not answer, or not as it should."
        raise WorkspaceUnusable(message, _ADVICE) from None


def _read(folder: Path) -> dict[str, Any]:
    try:
        place: dict[str, Any] = json.loads((folder / PLACE).read_text("utf-8"))
        identifier(place["schema"])
    except (OSError, ValueError, KeyError, TypeError):
        raise WorkspaceUnusable(
            f"{PLACE} of version {folder.name[:8]} cannot be read.", "Load the dataset again."
        ) from None
    return place


KIND = EngineKind(
    "postgres",
    "PostgreSQL, a schema for each version",
    store,
    lambda folder, _dataset, threads: PostgresEngine(_read(folder), threads),
    Extra("discreet[postgresql]", ("psycopg",)),
    forget,
)
