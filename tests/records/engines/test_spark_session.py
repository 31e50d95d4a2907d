"""The one Spark session: what an office's settings cannot change, and where no key ever stands."""

import base64
import os
import subprocess
import sys
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest

from discreet.errors import BadOption
from discreet.records.engines import spark as sessions
from discreet.records.engines.spark import GUARDED, spark_session, stop_spark
from discreet.records.keys import lent_labels

pytestmark = [pytest.mark.spark, pytest.mark.slow]

#: A session that shows and writes all that it can, and what REST tells of it.
SHOWN = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.ui.enabled": "true",
    "spark.ui.port": "0",
    "spark.log.level": "INFO",
    "spark.discreet.wrong": "canary-of-a-setting",
}
PAGES = ("environment", "stages", "jobs", "sql?details=true", "storage/rdd", "allexecutors")


def test_the_office_cannot_switch_event_files_or_pages_on(spark_home):
    """Their counts of rows are exact. The wrong alternative is to take spark-defaults.conf as it is: it asks for both."""
    asked = (spark_home / "spark-defaults.conf").read_text()
    assert "spark.eventLog.enabled true" in asked
    assert "spark.ui.enabled true" in asked
    session = spark_session()
    assert session.range(5).count() == 5
    assert session.sparkContext.uiWebUrl is None
    assert not list((spark_home / "events").iterdir())
    found = dict(session.sparkContext.getConf().getAll())
    assert GUARDED.items() <= found.items()
    assert found["spark.sql.shuffle.partitions"] == "2", "what is not guarded is the office's"
    assert found["spark.driver.host"] == "127.0.0.1"
    assert Path(found["spark.local.dir"]).stat().st_mode & 0o077 == 0
    assert spark_session() is session


def test_a_session_that_its_master_gave_up_is_replaced(spark_home):
    """The wrong alternative asks whether Java is there: it is, and every count would fail from then on."""
    session = spark_session()
    session.sparkContext._jsc.sc().stop()
    assert spark_session() is not session
    assert spark_session().range(3).count() == 3


def test_a_session_of_somebody_else_is_refused(spark_home):
    from pyspark.sql import SparkSession

    stop_spark()
    foreign = SparkSession.builder.getOrCreate()
    try:
        with pytest.raises(BadOption, match="has a Spark session already"):
            spark_session()
    finally:
        foreign.stop()


def test_without_java_it_is_said(spark_home):
    program = "from discreet.records.engines.spark import spark_session\nspark_session()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "JAVA_HOME": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "BadOption: Spark does not start" in done.stderr
    assert "default-jre-headless" in done.stderr


@pytest.fixture
def start_other(spark_home, monkeypatch):
    """A session with other guarded settings."""

    def start(**settings):
        stop_spark()
        monkeypatch.setattr(sessions, "GUARDED", {**GUARDED, **settings})
        return spark_session()

    yield start
    stop_spark()


def rest(session):
    """All that the pages of Spark tell, as bytes."""
    base = f"{session.sparkContext.uiWebUrl}/api/v1/applications/{session.sparkContext.applicationId}"
    return b"".join(httpx.get(f"{base}/{page}", timeout=60).content for page in PAGES)


def files(place):
    return b"".join(path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file())


def with_a_row_on_disk(session):
    """What stands in the local folders of a session that keeps a row of text there."""
    from pyspark import StorageLevel

    rows = session.createDataFrame([("canary-of-a-row" * 20,)], "v string").persist(StorageLevel.DISK_ONLY)
    assert rows.count() == 1
    return files(Path(session.conf.get("spark.local.dir")))


def test_no_key_stands_in_plans_pages_event_files_logs_or_local_folders(
    town, secret, start_other, spark_home, tmp_path
):
    """All that Spark can show and write is switched on.

    Wrong alternatives: a key as a setting stands in pages and event files; a row that is not enciphered stands on disk.
    """
    session = start_other(**SHOWN)
    (tmp_path / "people").mkdir()
    pq.write_table(town.records, tmp_path / "people" / "0.parquet")
    town.load(tmp_path / "w", records=tmp_path / "people", engine="spark").close()
    local = Path(session.conf.get("spark.local.dir"))
    seen = {"pages": rest(session), "local": with_a_row_on_disk(session)}
    stop_spark()
    seen |= {
        "events": files(spark_home / "events"),
        "log": (spark_home / "log").read_bytes(),
        "left": files(local),
    }
    assert b"canary-of-a-setting" in seen["pages"]
    assert b"canary-of-a-setting" in seen["events"]
    assert b"MapInArrow" in seen["events"], "the load is told in the event file"
    assert b"DAGScheduler" in seen["log"], "the log tells of the load"
    assert len(seen["local"]) > 300, "shuffled rows and the row are there, enciphered"
    assert b"canary-of-a-row" not in seen["local"]
    for key in [secret.derive(*each) for each in lent_labels("town")] + [secret._material]:
        for needle in (key, key.hex().encode(), key.hex().upper().encode(), base64.b64encode(key)[:40]):
            assert not [place for place, data in seen.items() if needle in data]
    plain = start_other(**{"spark.io.encryption.enabled": "false", "spark.rdd.compress": "false"})
    assert b"canary-of-a-row" in with_a_row_on_disk(plain)
