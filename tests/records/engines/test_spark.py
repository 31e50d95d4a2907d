"""Spark as an engine: the same releases as DuckDB, files that DuckDB reads too, and nothing left by what was killed."""

import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from discreet.errors import WorkspaceUnusable
from discreet.model.request import request_from_text
from discreet.records.engine import AggregateQuery, engine_kind
from discreet.records.engines import spark as spark_engine
from discreet.records.keys import lent_labels
from discreet.release.pipeline import release_table
from discreet.workspace.versions.load_version import load_dataset

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.usefixtures("spark_home")]

REQUEST = request_from_text("town", rows=["area", "sex"], columns=["age"])
#: A load that is killed while it lasts: it stops before a step, or after the last one, and waits.
LOADER = """
import sys, time
from pathlib import Path
from discreet.records.engines import spark
from discreet.workspace.versions import load_version as load
folder, text, people, step = sys.argv[1:]
def stops(*_given):
    Path(folder, "here").touch()
    time.sleep(600)
if step != "end":
    setattr(spark if step == "_write" else load, step, stops)
load.load_dataset(Path(folder), Path(text).read_text("utf-8"), people, engine="spark")
stops()
"""
#: Records are staged; stored; sealed, on disk and not settled; pointed to.
STEPS = ("_write", "seal_records", "_settle", "end")


def kill_java():
    from pyspark import SparkContext

    os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
    SparkContext._gateway.proc.wait()


def version_of(workspace):
    return workspace.folder / "datasets" / "town" / workspace.stored("town").digest


@pytest.fixture(scope="module")
def kept(town, spark_home):
    workspace = town.load(town.folder / "by-spark", engine="spark")
    yield workspace
    workspace.close()


def test_duckdb_reads_in_place_what_spark_wrote_and_the_other_way_round(kept, town, tmp_path):
    """The layout does not tell who wrote it."""
    other = town.load(tmp_path / "w", engine="parquet")
    dataset, query = other.stored("town").dataset, AggregateQuery(("area", "job"), (("sex", (1,)),))
    found = []
    for folder in (version_of(kept), version_of(other)):
        for name in ("spark", "parquet"):
            engine = engine_kind(name).open(folder, dataset, None)
            cells = engine.aggregate(query)
            rows = zip(*cells.codes, cells.counts, cells.key_sums, strict=True)
            found.append(sorted(tuple(map(int, row)) for row in rows))
            engine.close()
    assert found[0] == found[1] == found[2] == found[3]
    other.close()


def test_records_are_sorted_by_the_finest_geography(kept):
    files = sorted((version_of(kept) / "records").glob("*.parquet"))
    assert len(files) > 1, "few files, and more than one"
    area = [code for file in files for code in pq.read_table(file)["area"].to_pylist()]
    assert area == sorted(area)
    assert not list(version_of(kept).rglob("staged*"))


def test_killing_spark_while_it_stores_leaves_the_version_before(kept, town, town_workspace, monkeypatch):
    """It is answered by a Spark that is started again, where it was open already.

    The wrong alternative is to point to the new version before all of it is there.
    """
    before, write = kept.stored("town").digest, spark_engine._write

    def dies(frame, folder):
        kill_java()
        write(frame, folder)

    monkeypatch.setattr(spark_engine, "_write", dies)
    text = town.description.replace('version = "1"', 'version = "2"')
    with pytest.raises(WorkspaceUnusable, match="could not be stored by Spark"):
        load_dataset(kept.folder, text, town.records.slice(1), engine="spark")
    monkeypatch.undo()
    home = kept.folder / "datasets" / "town"
    assert (home / "current").read_text().strip() == before
    assert not list(home.glob(".loading-*"))
    ours = release_table(kept.stored("town"), REQUEST)
    assert ours.values.tolist() == release_table(town_workspace.stored("town"), REQUEST).values.tolist()


@pytest.mark.drill
def test_killing_a_spark_load_leaves_the_version_before_and_no_key_outside(
    kept, town, secret, tmp_path, drill
):
    """SIGKILL of the whole load at a step: what is left lies in the workspace, and the next load drops it."""
    (tmp_path / "people").mkdir()
    pq.write_table(town.records, tmp_path / "people" / "0.parquet")
    (tmp_path / "town.toml").write_text(town.description.replace('version = "1"', 'version = "2"'), "utf-8")
    (tmp_path / "tmp").mkdir()
    home, before = kept.folder / "datasets" / "town", kept.stored("town").digest
    lent = [secret.derive(*each) for each in lent_labels("town")]
    needles, steps = [*lent, *(key.hex().encode() for key in lent)], STEPS[: drill.times(1, len(STEPS))]
    for step in steps:
        kill_load_at(step, kept.folder, tmp_path)
        assert ((home / "current").read_text().strip() == before) == (step != "end")
        if step == "_write":
            (left,) = home.glob(".loading-*")
            assert not (left / "lent-keys").exists()
            needles.append(
                pq.read_table(left / "staged")["record_key"].to_numpy().astype("<u4")[:4].tobytes()
            )
            assert holds([left], needles[-1:]), "the search finds a key where there is one"
        assert not holds([tmp_path / "tmp", tmp_path / "log"], needles)
        load_dataset(kept.folder, town.description, town.records, engine="spark")
        assert (home / "current").read_text().strip() == before
        assert not list(home.glob(".loading-*"))
        assert kept.verify("town") == before
    drill.note(
        kills=len(steps), steps=len(steps), version_before=len(steps) - ("end" in steps), keys_outside=0
    )


def kill_load_at(step, folder, tmp_path):
    """Start a load in a process of its own, and kill it with its Spark at a step."""
    command = [sys.executable, "-c", LOADER, folder, tmp_path / "town.toml", tmp_path / "people", step]
    running = subprocess.Popen(
        list(map(str, command)),
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
        stderr=(tmp_path / "log").open("wb"),
        start_new_session=True,
    )
    try:
        ends = time.monotonic() + 180
        while not (folder / "here").exists():
            assert running.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < ends
            time.sleep(0.05)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    (folder / "here").unlink()


def holds(places, needles):
    """Whether a needle stands in a file; Parquet is unpacked."""
    for place in places:
        for path in [place, *place.rglob("*")]:
            if path.is_file():
                data = path.read_bytes()
                if path.suffix == ".parquet":
                    table = pq.read_table(path)
                    data = b"".join(table[n].to_numpy().astype("<u4").tobytes() for n in ("record_key",))
                if any(needle in data for needle in needles):
                    return True
    return False


def test_a_name_that_spark_takes_for_a_pattern_is_refused(town, tmp_path):
    from discreet.errors import BadOption

    with pytest.raises(BadOption, match="star or bracket"):
        town.load(tmp_path / "w[1]", engine="spark")
