"""A standalone cluster of Spark: one master and two workers in processes of their own, with the numbers of DuckDB.

The office's program runs in another process, whose executors belong to the workers. It loads records that live in the
cluster, answers tables, builds cubes and moves a version to another engine. An executor is killed while it has a task of a
load and again while it has one of a count; then a worker is killed. Spark repeats the lost tasks.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from discreet.model.request import request_from_text
from discreet.release.pipeline import release_table

pytestmark = [pytest.mark.spark, pytest.mark.slow]

REQUESTS = [
    {"rows": ["area", "sex"], "columns": ["age"]},
    {"rows": ["job"], "columns": ["sex"], "filters": ["area=N1,S2"]},
]
#: Both ends of each connection need the secret of the cluster.
DEFAULTS = """
spark.authenticate true
spark.authenticate.secret canary-of-a-cluster-0123456789abcdef
spark.network.crypto.enabled true
spark.executor.cores 1
spark.executor.memory 512m
spark.driver.memory 512m
spark.sql.shuffle.partitions 2
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
"""
PROGRAM = """
import json, os, signal, subprocess, sys, threading, time
from pathlib import Path
from discreet.model.request import request_from_text
from discreet.records.engines import spark
from discreet.release.pipeline import release_table
from discreet.workspace.operate.make_cubes import make_cubes
from discreet.workspace.operate.manage_versions import move_engine
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

folder, people, requests, worker = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3]), int(sys.argv[4])
text = (folder.parent / "town.toml").read_text("utf-8")
context = spark.spark_session().sparkContext
found = {}

def executors():
    pattern = f"CoarseGrainedExecutorBackend.*{context.applicationId}"
    return sorted(map(int, subprocess.run(["pgrep", "-f", pattern], capture_output=True, text=True).stdout.split()))

def wait(what, ready):
    ends = time.monotonic() + 240
    while not ready():
        assert time.monotonic() < ends, what
        time.sleep(0.05)

def only_the_stopped_one_works():
    stages = [context.statusTracker().getStageInfo(each) for each in context.statusTracker().getActiveStageIds()]
    return any(s and s.numActiveTasks == 1 and s.numCompletedTasks == s.numTasks - 1 for s in stages)

def lose_an_executor(work):
    # A stopped executor keeps its task: when all others are done, the kill falls within the job.
    wait("two executors", lambda: len(executors()) == 2)
    lost, fell = executors()[0], []
    os.kill(lost, signal.SIGSTOP)
    def kill():
        wait("a task of the stopped executor", only_the_stopped_one_works)
        os.kill(lost, signal.SIGKILL)
        fell.append(lost)
    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    done = work()
    killer.join()
    wait("a new executor", lambda: len(executors()) == 2 and lost not in executors())
    found["kills"] = found.get("kills", 0) + len(fell)
    return done

def answers():
    workspace = Workspace(folder)
    stored = workspace.stored("town")
    tables = [release_table(stored, request_from_text("town", **each)) for each in requests]
    workspace.close()
    return [stored.digest, *(table.values.tolist() for table in tables)]

write = spark._write
spark._write = lambda frame, place: lose_an_executor(lambda: write(frame, place))
load_dataset(folder, text, people, engine="spark")
spark._write = write
make_cubes(folder, "town", within=0)
found["loaded"] = answers()
found["executor lost"] = lose_an_executor(answers)
make_cubes(folder, "town", within=10**8)
found["from cubes"] = answers()
make_cubes(folder, "town", within=0)
os.kill(worker, signal.SIGKILL)
wait("one executor", lambda: len(executors()) == 1)
found["worker lost"] = answers()
move_engine(folder, "town", "duckdb")
found["moved away"] = answers()
move_engine(folder, "town", "spark")
found["moved back"] = answers()
spark.stop_spark()
print(json.dumps(found))
"""


@contextmanager
def daemon(name, log, environment, *arguments):
    """A master or worker of Spark, which listens on loopback."""
    command = [
        str(Path(environment["SPARK_HOME"]) / "bin" / "spark-class"),
        f"org.apache.spark.deploy.{name.lower()}.{name}",
        *("--host", "127.0.0.1", "--port", "0", "--webui-port", "0", *arguments),
    ]
    with log.open("wb") as out:
        process = subprocess.Popen(command, env=environment, stdout=out, stderr=out, start_new_session=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def written(process, log, pattern):
    """Wait until a process has written a line."""
    ends = time.monotonic() + 180
    while not (found := re.search(pattern, log.read_text("utf-8", errors="replace"))):
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < ends, f"no line of {pattern} in {log.name}"
        time.sleep(0.1)
    return found


@pytest.fixture
def cluster(tmp_path):
    """The address of the master, the environment of a program, and a worker."""
    pyspark = pytest.importorskip("pyspark")
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("Java is not installed; as root `make test` installs it")
    home = tmp_path / "spark"
    home.mkdir()
    (home / "spark-defaults.conf").write_text(DEFAULTS, "utf-8")
    environment = {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_CONF_DIR": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(home / "work"),
        "SPARK_DAEMON_MEMORY": "256m",
        "PYSPARK_PYTHON": sys.executable,
    }
    logs = [home / f"{name}.log" for name in ("master", "one", "two")]
    with daemon("Master", logs[0], environment) as master:
        address = written(master, logs[0], r"Starting Spark master at (spark://\S+)")[1]
        size = ("--cores", "1", "--memory", "640m", address)
        with (
            daemon("Worker", logs[1], environment, *size) as one,
            daemon("Worker", logs[2], environment, *size) as two,
        ):
            for worker, log in ((one, logs[1]), (two, logs[2])):
                written(worker, log, "Successfully registered with master")
            yield {**environment, "DISCREET_SPARK": address}, two


def test_a_cluster_that_loses_executors_and_a_worker_gives_the_numbers_of_duckdb(
    town, town_workspace, cluster, tmp_path
):
    environment, worker = cluster
    people, folder = tmp_path / "people", tmp_path / "w"
    people.mkdir()
    folder.mkdir()
    for place in range(4):
        pq.write_table(town.records.slice(750 * place, 750), people / f"{place}.parquet")
    (tmp_path / "town.toml").write_text(town.description, "utf-8")
    shutil.copy(town_workspace.folder / "secret", folder / "secret")
    command = [sys.executable, "-c", PROGRAM, folder, people, json.dumps(REQUESTS), worker.pid]
    done = subprocess.run(
        list(map(str, command)), env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("kills") == 2
    stored = town_workspace.stored("town")
    tables = [release_table(stored, request_from_text("town", **each)) for each in REQUESTS]
    expected = [stored.digest, *(table.values.tolist() for table in tables)]
    assert found == dict.fromkeys(
        ("loaded", "executor lost", "from cubes", "worker lost", "moved away", "moved back"), expected
    )
