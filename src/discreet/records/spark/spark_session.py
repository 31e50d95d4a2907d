"""The one Spark session of a process: its master, and settings that must not change.

    DISCREET_SPARK   the master URL: local[4], spark://host:7077, yarn, k8s://...;
                     else `spark.master` of spark-defaults.conf, else local[*]

Other settings are Spark's (SPARK_CONF_DIR with spark-defaults.conf, hive-site.xml, catalogues). Spark counts the rows of
each step of a query exactly, so event logs and the web UI are always off. Local files (shuffles, spilled rows) are
enciphered with a key in memory.

Source: Spark documentation, "Spark Security", Local Storage Encryption.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from discreet.errors import BadOption, WorkspaceUnusable

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
_ours: list[Any] = []


def spark_session() -> Any:
    """The session of this process; a new one if Spark has died.

    Raises:
        BadOption: The process has another session, or Spark cannot start.
    """
    with _lock:
        if _ours and not _alive(_ours[0]):
            _let_go()
        if not _ours:
            _ours.append(_start())
        return _ours[0]


def stop_spark() -> None:
    """End the session, if there is one."""
    with _lock:
        if _ours and _alive(_ours[0]):
            _ours[0].stop()
        _ours.clear()


@contextmanager
def spark_trouble(what: str, error: type[WorkspaceUnusable] = WorkspaceUnusable) -> Iterator[None]:
    """Replace Spark's errors by ours: their messages could contain values."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError, ConnectionError, EOFError):
        raise error(
            what,
            f"Look at {ENVIRONMENT}, at Spark's own logs, and whether all its machines reach the workspace; "
            "else load the dataset again.",
        ) from None


def spark_address(path: Path) -> str:
    """The URL of a local path, for any default file system of Spark.

    Raises:
        BadOption: Spark would take the name for a pattern.
    """
    whole = path.absolute()
    if set(str(whole)) & set("*?[]{}\\"):
        raise BadOption(
            f"The name {str(whole)!r} has a star or bracket, which Spark takes for a pattern.", "Rename it."
        )
    return f"file://{whole}"


def _alive(session: Any) -> bool:
    """Whether Java runs and the session was stopped neither by us nor by its master."""
    from py4j.protocol import Py4JError

    context = session.sparkContext._jsc  # noqa: SLF001 - PySpark has no public way
    try:
        return not _java_is_gone() and context is not None and not context.sc().isStopped()
    except (Py4JError, ConnectionError):
        return False


def _java_is_gone() -> bool:
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001
    return process is not None and process.poll() is not None


def _let_go() -> None:
    """Forget a dead session, which PySpark would still use."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    session = _ours.pop()
    if not _java_is_gone():
        session.stop()
        return
    process = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001
    if process is not None and process.stdin is not None:
        process.stdin.close()
    SparkContext._active_spark_context = None  # noqa: SLF001
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    SparkSession._instantiatedSession = None  # noqa: SLF001


def _start() -> Any:
    """A session with our settings; its private local folder is removed at exit."""
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    import atexit

    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
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
    except (PySparkException, Py4JError, OSError, RuntimeError, ValueError):
        raise BadOption(
            f"Spark does not start{f' with the master {master!r}' if master else ''}.",
            f"Install Java 17 (on Debian: apt-get install default-jre-headless), and look at {ENVIRONMENT}.",
        ) from None
