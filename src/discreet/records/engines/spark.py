"""Spark as an engine: each version as Parquet in its folder, written and counted by the cluster.

    DISCREET_SPARK   the master URL: local[4], spark://host:7077, yarn, k8s://...;
                     else `spark.master` of spark-defaults.conf, else local[*]
    records/ seal.json   in the version's folder, sealed (`records/engines/parquet.py`)

Records in Spark are read, checked and keyed by the executors (`records/spark_load.py`); all others come through the usual
readers. All machines of the cluster must reach the workspace under the same path. Spark has no unsigned integers: codes and
keys are stored one size larger. A sum of 2^31 keys of 32 bits fits 63 bits.

A process has one session. Its other settings are Spark's (SPARK_CONF_DIR with spark-defaults.conf, hive-site.xml,
catalogues). Spark counts the rows of each step of a query exactly, so event logs and the web UI are always off. Local files
(shuffles, spilled rows) are enciphered with a key in memory.

Source: Spark documentation, "Spark Security", Local Storage Encryption.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import BadOption, RecordsAway, WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.model.plugins import Extra
from discreet.records.engine import AggregateQuery, EngineKind, SparseCells, identifier, select_sql
from discreet.records.engines.duckdb import cells_of
from discreet.records.engines.parquet import RECORDS, STAGED, read_tag, write_seal
from discreet.records.storage import staged_batches, storage_schema

if TYPE_CHECKING:
    from discreet.records.staging import Read

ENVIRONMENT = "DISCREET_SPARK"
#: Settings that every session has.
GUARDED = {
    "spark.app.name": "discreet",
    "spark.eventLog.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.io.encryption.enabled": "true",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.ansi.enabled": "true",  # a sum that does not fit is an error and not another number
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # region=01 is the text 01
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
}
#: Defaults that spark-defaults.conf may override: counts have few groups.
USUAL = {"spark.sql.shuffle.partitions": "8"}
#: Defaults for clusters: the key of the local files travels between machines.
ON_THE_WIRE = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}
#: Settings for a master in this process, which needs no network.
ALONE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_lock = threading.Lock()
_sessions: list[Any] = []


def spark_session() -> Any:
    """The session of this process; a new one if Spark has died."""
    with _lock:
        if _sessions and not _alive(_sessions[0]):
            _let_go()
        if not _sessions:
            _sessions.append(_start())
        return _sessions[0]


def stop_spark() -> None:
    """End the session, if there is one."""
    with _lock:
        if _sessions and _alive(_sessions[0]):
            _sessions[0].stop()
        _sessions.clear()


@contextmanager
def spark_trouble(what: str, error: type[WorkspaceUnusable] = WorkspaceUnusable) -> Iterator[None]:
    """Replace Spark's errors by ours: their messages could contain values."""
    try:
        yield
    except _errors():
        raise error(
            what,
            f"Look at {ENVIRONMENT}, at Spark's own logs, and whether all its machines reach the workspace; "
            "else load the dataset again.",
        ) from None


def _errors(*more: type[Exception]) -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError, ConnectionError, EOFError, *more


def spark_address(path: Path) -> str:
    """The URL of a local path, for any default file system of Spark."""
    whole = path.absolute()
    if set(str(whole)) & set("*?[]{}\\"):
        raise BadOption(
            f"The name {str(whole)!r} has a star or bracket, which Spark takes for a pattern.", "Rename it."
        )
    return f"file://{whole}"


def _alive(session: Any) -> bool:
    """Whether Java runs and the session was stopped neither by us nor by its master."""
    context = session.sparkContext._jsc  # noqa: SLF001 - PySpark has no public way
    try:
        return not _java_is_gone() and context is not None and not context.sc().isStopped()
    except _errors():
        return False


def _java() -> Any:
    """The process of Java, if this one started it."""
    from pyspark import SparkContext

    return getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001


def _java_is_gone() -> bool:
    return (process := _java()) is not None and process.poll() is not None


def _let_go() -> None:
    """Forget a dead session, which PySpark would still use."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    session = _sessions.pop()
    if not _java_is_gone():
        session.stop()
        return
    process = _java()
    if process is not None and process.stdin is not None:
        process.stdin.close()
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    SparkSession._instantiatedSession = None  # noqa: SLF001


def _start() -> Any:
    """A session with our settings; its private local folder is removed at exit."""
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is not None:  # noqa: SLF001
        raise BadOption(
            "This process has a Spark session already, which may write exact counts to event files and pages.",
            "Stop it (spark.stop()) before Discreet counts with Spark.",
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    local = tempfile.mkdtemp(prefix="discreet-spark-")
    atexit.register(shutil.rmtree, local, ignore_errors=True)
    master = os.environ.get(ENVIRONMENT, "")
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    try:
        SparkContext._ensure_initialized()  # noqa: SLF001 - only then SparkConf knows spark-defaults.conf
        conf = SparkConf()
        master = master or str(conf.get("spark.master", "local[*]"))
        alone = master == "local" or master.startswith("local[")
        usual = USUAL | ({} if alone else ON_THE_WIRE)
        properties = {key: value for key, value in usual.items() if not conf.contains(key)} | GUARDED
        properties |= ALONE | {"spark.local.dir": local} if alone else {}
        conf.setMaster(master).setAll(list(properties.items()))
        return SparkSession.builder.config(conf=conf).getOrCreate()
    except _errors(OSError, RuntimeError, ValueError):
        raise BadOption(
            f"Spark does not start{f' with the master {master!r}' if master else ''}.",
            f"Install Java 17 (on Debian: apt-get install default-jre-headless), and look at {ENVIRONMENT}.",
        ) from None


class SparkEngine:
    """Counts the records of one stored version."""

    def __init__(self, folder: Path) -> None:
        self._folder, self.tag = folder, read_tag(folder)
        self._session: Any = None
        self._records: Any = None
        self._lock = threading.Lock()
        with _counting():
            self._frame()  # fail now if Spark is down

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
    'SELECT `sex` AS g0, count(*) AS n, sum(`record_key`) AS k FROM {records}'
    """
    select = select_sql(query, "{records}", "count(*)", "sum({})", "sum({})", quote="`")
    groups = ", ".join(identifier(name, "`") for name in query.group_by)
    return f"{select} GROUP BY {groups}" if groups else f"{select} HAVING count(*) > 0"


def store(staged: Path, dataset: Dataset, folder: Path, tag: str) -> None:
    """Let the cluster sort and write staged records: a folder of Parquet files, or the file of a load."""
    import pyarrow.parquet as pq

    parts = staged if staged.is_dir() else folder / STAGED
    if parts != staged:
        parts.mkdir()
        with pq.ParquetWriter(parts / "0.parquet", storage_schema(dataset)) as writer:
            for batch in staged_batches(staged):
                writer.write_batch(batch)
    with spark_trouble("The records could not be stored by Spark."):
        session = spark_session()
        frame = session.read.parquet(spark_address(parts)).select(
            *(identifier(name, "`") for name in storage_schema(dataset).names)
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


def _take(*given: Any) -> tuple[Path, Read] | None:
    from discreet.records.spark_load import take  # only a load needs it

    return take(*given)


KIND = EngineKind(
    "spark",
    "Spark, Parquet files in the workspace",
    store,
    lambda folder, _dataset, _threads: SparkEngine(folder),
    Extra("discreet[spark]", ("pyspark",)),
    take=_take,
)
