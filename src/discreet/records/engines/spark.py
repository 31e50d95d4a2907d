"""Spark as an engine: each version as Parquet in its folder, written and counted by the cluster.

    DISCREET_SPARK   the master URL (`records/spark/spark_session.py`)
    records/ seal.json   in the version's folder, sealed (`records/engines/parquet.py`)

Records in Spark are read, checked and keyed by the executors (`records/spark/spark_sources.py`); all others come through
the usual readers. All machines of the cluster must reach the workspace under the same path.

Spark has no unsigned integers: codes and keys are stored one size larger. A sum of 2^31 keys of 32 bits fits 63 bits.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.errors import BadOption, RecordsAway
from discreet.model.dataset import Dataset
from discreet.model.plugins import Extra
from discreet.records.engine import AggregateQuery, EngineKind, SparseCells, identifier, where_sql
from discreet.records.engines.duckdb import cells_of
from discreet.records.engines.parquet import RECORDS, STAGED, read_tag, write_seal
from discreet.records.spark.spark_session import spark_address, spark_session, spark_trouble
from discreet.records.storage import RECORD_KEY, WEIGHT, column_names

if TYPE_CHECKING:
    from discreet.records.staging import Read


class SparkEngine:
    """Counts the records of one stored version."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._tag = folder, read_tag(folder)
        self._session: Any = None
        self._records: Any = None
        self._lock = threading.Lock()
        with _counting():
            self._frame()  # fail now if Spark is down

    @property
    def tag(self) -> str:
        """The tag stored with the records."""
        return self._tag

    def sound(self) -> bool:
        """True: the records are in sealed files."""
        return True

    def aggregate(self, query: AggregateQuery) -> SparseCells:
        """Run one aggregate; threads share the session."""
        with _counting():
            found = spark_session().sql(aggregate_sql(query), records=self._frame()).toArrow()
        return cells_of(found, query)

    def close(self) -> None:
        """Release the records; the session stays for other versions."""
        self._session = self._records = None

    def _frame(self) -> Any:
        """The records as a frame of the current session."""
        with self._lock:
            session = spark_session()
            if session is not self._session:
                self._records = session.read.parquet(spark_address(self._folder / RECORDS))
                self._session = session
            return self._records


@contextmanager
def _counting() -> Iterator[None]:
    """If Spark cannot count, the records are away: cubes may still answer."""
    try:
        with spark_trouble("The records could not be counted by Spark.", RecordsAway):
            yield
    except BadOption as error:
        raise RecordsAway(error.message, error.advice) from None


def aggregate_sql(query: AggregateQuery) -> str:
    """The SQL of an aggregate over the frame `{records}`.

    >>> from discreet.records.engine import AggregateQuery
    >>> aggregate_sql(AggregateQuery(("sex",), (("age", (1, 2)),))).partition(" WHERE ")[0]
    'SELECT `sex` AS g0, count(*) AS n, sum(record_key) AS k FROM {records}'
    """
    names = [identifier(name, "`") for name in query.group_by]
    chosen = [f"{name} AS g{place}" for place, name in enumerate(names)] + [
        "count(*) AS n",
        f"sum({RECORD_KEY}) AS k",
    ]
    chosen += [f"sum({WEIGHT}) AS w"] if query.weights else []
    chosen += [f"sum({identifier(name, '`')}) AS s{place}" for place, name in enumerate(query.sums)]
    grouped = f" GROUP BY {', '.join(names)}" if names else ""
    return f"SELECT {', '.join(chosen)} FROM {{records}}{where_sql(query, '`')}{grouped} HAVING count(*) > 0"


def store(staged: Path, dataset: Dataset, folder: Path, tag: str) -> None:
    """Let the cluster sort and write staged records: a folder of Parquet files, or the file of a load."""
    parts = staged if staged.is_dir() else _as_parquet(staged, folder / STAGED)
    with spark_trouble("The records could not be stored by Spark."):
        session = spark_session()
        frame = session.read.parquet(spark_address(parts)).select(
            *(identifier(name, "`") for name in column_names(dataset))
        )
        if dataset.finest_geography:
            finest = identifier(dataset.finest_geography, "`")
            few = int(session.conf.get("spark.sql.shuffle.partitions"))
            frame = frame.repartitionByRange(few, finest).sortWithinPartitions(finest)
        _write(frame, folder / RECORDS)
    for place in {parts, folder / STAGED}:
        shutil.rmtree(place, ignore_errors=True)
    write_seal(folder, tag)


def _write(frame: Any, folder: Path) -> None:
    writer = frame.write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
    writer.parquet(spark_address(folder))


def _as_parquet(staged: Path, parts: Path) -> Path:
    """The file of a load as a folder of Parquet files, batch by batch."""
    import pyarrow.parquet as pq

    parts.mkdir()
    with pa.memory_map(str(staged)) as source:
        reader = pa.ipc.open_file(source)
        with pq.ParquetWriter(parts / "0.parquet", reader.schema) as writer:
            for number in range(reader.num_record_batches):
                writer.write_batch(reader.get_batch(number))
    return parts


def _take(*given: Any) -> tuple[Path, Read] | None:
    from discreet.records.spark.spark_sources import take  # only a load needs it

    return take(*given)


def _open(folder: Path, _dataset: Dataset, _threads: int | None) -> SparkEngine:
    return SparkEngine(folder)


KIND = EngineKind(
    "spark",
    "Spark, Parquet files in the workspace",
    store,
    _open,
    Extra("discreet[spark]", ("pyspark",)),
    take=_take,
)
