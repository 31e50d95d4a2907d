"""Fixtures that several folders use: a small invented town, its description, and a workspace with it."""

import gc
import hashlib
import io
import json
import os
import pwd
import shutil
import subprocess
import tempfile
import threading

# One thread a process: the suite runs on all cores already, and threads of small factorisations only wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import asyncio
import signal
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import settings

from discreet.cli.main import run as command_line
from discreet.model import survey
from discreet.model.request import request_from_text
from discreet.records.keys import BYTES, Secret, write_guarded
from discreet.release.pipeline import release_table
from discreet.rules import rule_set as declared
from discreet.workspace.versions import load_version as load
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace


def _memory():
    """A file system in memory with room for the files of tests: nobody waits there until a disk has written."""
    place = Path("/dev/shm")
    usable = place.is_dir() and os.access(place, os.W_OK) and not os.statvfs(place).f_flag & os.ST_NOEXEC
    return str(place) if usable and shutil.disk_usage(place).free > 4 * 2**30 else None


#: Where temporary files are made; None: where the system makes them.
MEMORY = _memory()
if MEMORY:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)

#: Every rule set that the test at hand declares.
DECLARED_RULES = set()
parse_rules = declared.parse_rules


def _remembered(entries, dataset):
    rules = parse_rules(entries, dataset)
    DECLARED_RULES.add(frozenset(rules))
    return rules


for module in (each for name, each in sys.modules.items() if name.startswith("discreet.")):
    if vars(module).get("parse_rules") is parse_rules:
        vars(module)["parse_rules"] = _remembered

settings.register_profile("discreet", deadline=None, derandomize=True)
settings.load_profile("discreet")

SECRET_BYTES = bytes.fromhex("6b1f4a5c93d8e207f1b2a3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708")

TOWN = """
id = "town"
label = "A town"
source = "Invented"
version = "1"
unit = "persons"
population = "residents"
id_column = "person"

[[variable]]
name = "region"
label = "Region"
categories = [{ code = "N", label = "North" }, { code = "S", label = "South" }]

[[variable]]
name = "area"
label = "Area"
categories = [
  { code = "N1", label = "North one", parent = "N" }, { code = "N2", label = "North two", parent = "N" },
  { code = "S1", label = "South one", parent = "S" }, { code = "S2", label = "South two", parent = "S" },
  { code = "S3", label = "South three", parent = "S" },
]

[[variable]]
name = "sex"
label = "Sex"
categories = [{ code = "1", label = "Male" }, { code = "2", label = "Female" }]

[[variable]]
name = "age"
label = "Age"
categories = [{ code = "child", label = "Child" }, { code = "adult", label = "Adult" }, { code = "old", label = "Old" }]

[[variable]]
name = "job"
label = "Job"
not_stated = "9"
categories = [
  { code = "0", label = "None" }, { code = "1", label = "Farm" }, { code = "2", label = "Shop" },
  { code = "9", label = "Not stated" },
]

[[hierarchy]]
name = "geography"
label = "Geography"
levels = ["region", "area"]
geography = true

[[code_list]]
name = "grown"
label = "Grown up or not"
variable = "age"
categories = [{ code = "grown", label = "Grown up", members = ["adult", "old"] }]

[[code_list]]
name = "work"
variable = "job"
categories = [{ code = "any", label = "Any job", members = ["1", "2"] }, { code = "0", label = "None", members = ["0"] }]

[[structural_zero]]
label = "Children have no job"
where = { age = ["child"], job = ["1", "2", "9"] }

[protection]
keys = "hashed"
max_variables = 3

[protection.noise]
family = "maxent"
D = 4
V = 2
js = 1
"""


#: What makes the town's protection `dp`: all pairs of sex, age and job, and areas with each of them.
PRIVATE = """
[protection]
method = "dp"

[protection.universe]
margins = "own"
variables = ["sex", "age", "job", "area"]
up_to = 1
tables = [["sex", "age"], ["sex", "job"], ["sex", "area"], ["age", "job"], ["age", "area"]]

[protection.budget]
calibrate = false
family = "town"
epsilon = 4.0
delta = 1e-9
cap_epsilon = 9.0
cap_delta = 1e-6
answer_cost = 0.5
"""
#: The same as a joint universe with a level more.
JOINT = PRIVATE.replace('"own"', '"joint"').replace('"job", "area"]', '"job", "region", "area"]')
JOINT_TOWN = TOWN[: TOWN.index("[protection]")] + JOINT
PRIVATE_TOWN = TOWN[: TOWN.index("[protection]")] + PRIVATE


def town_records(records=3000, seed=5):
    """Records of the town: ids, five variables, children without a job.

    `RandomState` gives the same numbers in every version of NumPy: the golden releases rest on them.
    """
    rng = np.random.RandomState(seed)
    area = rng.choice(5, records, p=[0.35, 0.05, 0.3, 0.25, 0.05])
    age = rng.choice(3, records, p=[0.2, 0.6, 0.2])
    job = np.where(age == 0, 0, rng.choice(4, records, p=[0.3, 0.3, 0.35, 0.05]))
    names = np.array(["N1", "N2", "S1", "S2", "S3"])[area]
    jobs = [None if j == 3 else str(j) for j in job]
    return pa.table(
        {
            "person": pa.array(rng.permutation(records) + 1000),
            "region": pa.array([name[0] for name in names]),
            "area": pa.array(names),
            "sex": pa.array(rng.choice(["1", "2"], records)),
            "age": pa.array(np.array(["child", "adult", "old"])[age]),
            "job": pa.array(jobs),
        }
    )


@dataclass(frozen=True)
class Town:
    """The town's description and records, and a way to load variants of them."""

    description: str
    records: pa.Table
    folder: Path

    def load(
        self,
        folder,
        description=None,
        records=None,
        engine=None,
    ):
        """A workspace with (a variant of) the town and the tests' own secret."""
        write_secret(folder)
        records = self.records if records is None else records
        load_dataset(folder, description or self.description, records, engine=engine)
        return Workspace(folder)


def write_secret(folder):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "secret"
    if not path.exists():
        path.write_bytes(SECRET_BYTES)
        path.chmod(0o600)


def pytest_addoption(parser):
    """What `tests/golden` does with its numbers: compare them, add new ones, or replace those that differ."""
    parser.addoption("--golden", choices=("check", "record", "overwrite"), default="check")


def pytest_collection_finish():
    """Thousands of tests stay until the end: no collection of garbage needs to look at them again."""
    gc.freeze()


def pytest_unconfigure():
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _no_loop_of_a_browser(request):
    """Playwright lives in a loop that seems to run until the session ends: other tests do not see it."""
    loop = asyncio._get_running_loop()
    if loop is None or "chromium" in request.fixturenames:
        yield
        return
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(loop)


@pytest.fixture(scope="session")
def secret():
    return Secret(SECRET_BYTES)


@pytest.fixture(scope="session")
def town(tmp_path_factory):
    return Town(TOWN, town_records(), tmp_path_factory.mktemp("town"))


@pytest.fixture(scope="session")
def town_workspace(town):
    return town.load(town.folder / "workspace")


@pytest.fixture(scope="session")
def town_original(town):
    """A workspace with the town that nobody changes: tests that change one copy it."""
    folder = town.folder / "original"
    town.load(folder).close()
    return folder


@pytest.fixture
def town_folder(town_original, tmp_path):
    """A workspace with the town that a test may change."""
    return shutil.copytree(town_original, tmp_path / "w")


@pytest.fixture(scope="session")
def town_versions(town):
    """A workspace with three versions: "0" is closed by "1", from which one record differs; "2" is served beside "1"."""
    folder = town.folder / "versions"
    for version, records in (
        ("0", town.records.slice(1)),
        ("1", town.records),
        ("2", town.records.slice(150)),
    ):
        text = town.description.replace('version = "1"', f'version = "{version}"')
        town.load(folder, text, records).close()
    return folder


@pytest.fixture(scope="session")
def town_release(town_workspace):
    """Age by job by sex: children have no job, so some cells cannot occur."""
    request = request_from_text("town", rows=["age"], columns=["job"], layers=["sex"])
    return release_table(town_workspace.stored("town"), request)


@pytest.fixture(scope="session")
def joint_town(town):
    """The town as a joint universe: its description, its records and a folder for workspaces."""
    return Town(JOINT_TOWN, town.records, town.folder / "joint")


@pytest.fixture(scope="session")
def joint_workspace(joint_town):
    return joint_town.load(joint_town.folder / "workspace")


@pytest.fixture(scope="session")
def private_description():
    """The town's description under `dp`."""
    return PRIVATE_TOWN


@pytest.fixture(scope="session")
def private_folder(town):
    """A workspace with the town under `dp` that nobody spends: tests that spend copy it."""
    folder = town.folder / "private"
    town.load(folder, PRIVATE_TOWN).close()
    return folder


@pytest.fixture
def private_town(town, private_folder, tmp_path):
    """The town under `dp`, in a workspace that a test may spend."""
    return Town(PRIVATE_TOWN, town.records, shutil.copytree(private_folder, tmp_path / "private"))


@pytest.fixture(scope="session")
def unattacked():
    """Take what tests declared since the last look: the rule sets that withhold areas and are not attacked."""
    from discreet_studies.attacks.rule_sets import RULE_SETS, on_counts

    attacked = {frozenset(), *(each.parsed() for each in RULE_SETS)}

    def taken():
        ours = [rules for rules in DECLARED_RULES if all(map(_is_ours, rules))]
        DECLARED_RULES.clear()
        return {on_counts(rules) for rules in ours} - attacked

    return taken


def _is_ours(rule):
    """Whether a kind is shipped; those that tests register are strangers."""
    return type(rule).__module__.startswith("discreet.rules.")


@pytest.fixture(scope="session", autouse=True)
def _a_secret_by_its_place(tmp_path_factory):
    """A load without a secret makes one of its folder's name: noise fails a test in every run or in none."""
    base = tmp_path_factory.getbasetemp()

    def create(path):
        first, *others = Path(os.path.relpath(path.absolute(), base)).parts
        place = "/".join((first.rstrip("0123456789"), *others))
        write_guarded(path, hashlib.blake2b(place.encode(), digest_size=BYTES).digest())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "create_secret", create)
        yield


@pytest.fixture(scope="session")
def errors_of_0_2_0():
    """`with errors_of_0_2_0():` loads give surveys the printed errors of 0.2.0, which come from exact weights."""

    @contextmanager
    def patched():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(survey, "NEW_ERRORS", survey.DESIGN_EFFECTS)
            yield

    return patched


@pytest.fixture(autouse=True)
def _rules_are_attacked(unattacked):
    """A test that declares rules that withhold areas fails, unless `discreet attack withheld --rules` attacks them."""
    yield
    unknown = [sorted(map(str, rules)) for rules in unattacked()]
    assert not unknown, f"add these rules to studies/src/discreet_studies/attacks/rule_sets.py: {unknown}"


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch):
    """Tests do not depend on the caller's environment."""
    for name in [
        name
        for name in os.environ
        if name.startswith("DISCREET_") and name not in {"DISCREET_CHROMIUM", "DISCREET_AXE"}
    ]:
        monkeypatch.delenv(name)


@dataclass(frozen=True)
class Done:
    """What a command said, as `subprocess.run` would tell it."""

    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run_here(monkeypatch):
    """Run `discreet` in this process: what a person sees, without a second of imports each time."""

    def run(*arguments, **environment):
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        code = 0
        with monkeypatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.setattr(sys, "argv", ["discreet", *map(str, arguments)])
            for name, value in environment.items():
                patch.setenv(name, value)
            ends = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
            try:
                command_line()
            except SystemExit as ended:
                code = ended.code
            for number, handler in ends.items():
                if signal.getsignal(number) is not handler:
                    signal.signal(number, handler)
        told = []
        for stream in (out, err):
            stream.flush()
            told.append(stream.buffer.getvalue().decode())
        return Done(int(code or 0), *told)

    return run


#: `make drills` sets it to a file: then each drill runs as often as docs/evidence/drills.md says, and notes figures.
FIGURES = os.environ.get("DISCREET_DRILLS", "")


class Drill:
    """One drill, by the name of its test."""

    def __init__(self, name):
        self._name = name

    def times(self, quick, full):
        """How often a fault is made: a few times among the tests, often in `make drills`."""
        return full if FIGURES else quick

    def note(self, **figures):
        """What came of it."""
        if FIGURES:
            kept = Path(FIGURES)
            known = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
            kept.write_text(json.dumps(known | {self._name: figures}, indent=1) + "\n", "utf-8")


@pytest.fixture
def drill(request):
    """How often a fault is made, and a place for what came of it."""
    return Drill(request.node.name.removeprefix("test_"))


@contextmanager
def _serving(folder, below=""):
    """The address of a workspace while it is served, at the root or below a path."""
    from dataclasses import replace

    import uvicorn

    from discreet.release.dataset_registry import open_registry
    from discreet.web.app import create_app
    from discreet.web.run import listen
    from discreet.workspace.options import read_options

    registry = open_registry(folder, threads=1)
    listening = listen("127.0.0.1", 0)
    options = read_options(folder)
    if below:
        options = replace(options, public_url=f"http://127.0.0.1:{listening.getsockname()[1]}{below}")
    app = create_app(registry, options)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, server_header=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        listening.close()
        registry.close()


@pytest.fixture(scope="session")
def served():
    """Serve a workspace on loopback: `with served(folder) as address`."""
    return _serving


def _postgres_programs():
    """The folder of `initdb` and `pg_ctl`; Debian keeps them off the path."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not folders:
        pytest.skip("PostgreSQL is not installed; as root `make test` installs it")
    return folders[-1]


def _server_account():
    """Who runs the server, and what leads its commands: PostgreSQL refuses to run as root."""
    if os.geteuid():
        return pwd.getpwuid(os.geteuid()).pw_name, []
    known = {entry.pw_name for entry in pwd.getpwall()}
    name = next((name for name in ("postgres", "nobody") if name in known), None)
    runuser = shutil.which("runuser", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if name is None or runuser is None:
        pytest.skip("PostgreSQL does not run as root, and there is no other account to run it")
    return name, [runuser, "-u", name, "--"]


class PostgresHome:
    """A folder with the data of a PostgreSQL server of our own: no network, no password, a socket in the folder."""

    def __init__(self):
        pytest.importorskip("psycopg")
        self._programs, (account, self._led_by) = _postgres_programs(), _server_account()
        # short: the path of a socket has at most 107 characters
        self.folder = tempfile.mkdtemp(prefix="pg-", dir=MEMORY)
        shutil.chown(self.folder, account)

    def run(self, program, *arguments):
        command = [*self._led_by, str(self._programs / program), "-D", f"{self.folder}/data", *arguments]
        subprocess.run(command, check=True, capture_output=True, timeout=120, cwd=self.folder)

    def make(self):
        self.run("initdb", "-U", "me", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync")

    def start(self, more=""):
        options = (
            f"-c listen_addresses='' -k {self.folder} -c max_connections=100 -c shared_buffers=16MB {more}"
        )
        self.run("pg_ctl", "-w", "-o", options, "-l", f"{self.folder}/log", "start")

    def stop(self):
        self.run("pg_ctl", "-w", "-m", "immediate", "stop")

    @property
    def process(self):
        return int(Path(self.folder, "data", "postmaster.pid").read_text().split()[0])


@pytest.fixture(scope="session")
def postgres_server():
    """The folder of the socket of a server, gone at the end.

    One that is installed and does not start is a failure and not a reason to skip.
    """
    home = PostgresHome()
    home.make()
    try:
        home.start()
        yield home.folder
    finally:
        home.stop()
        shutil.rmtree(home.folder, ignore_errors=True)


@pytest.fixture
def postgres_homes():
    """Three folders for servers that a test makes, starts and kills."""
    homes = [PostgresHome() for _ in range(3)]
    try:
        yield homes
    finally:
        for home in homes:
            with suppress(subprocess.CalledProcessError):
                home.stop()
            shutil.rmtree(home.folder, ignore_errors=True)


#: How the tests' Spark is set: small and quick to start. It asks for event files and a page, which Discreet never allows.
SPARK_DEFAULTS = """
spark.master local[2]
spark.driver.memory 512m
spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dderby.system.home={home}
spark.sql.shuffle.partitions 2
spark.sql.adaptive.enabled false
spark.sql.codegen.wholeStage false
spark.sql.warehouse.dir file://{home}/warehouse
spark.sql.catalogImplementation hive
spark.hadoop.javax.jdo.option.ConnectionURL jdbc:derby:memory:town;create=true
spark.eventLog.enabled true
spark.eventLog.dir file://{home}/events
spark.ui.enabled true
"""
SPARK_LOG = """
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {home}/log
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c: %m%n%ex
"""


@pytest.fixture(scope="session")
def spark_home(tmp_path_factory):
    """Spark in this process, one session for all tests; the folder has what an office's Spark would have."""
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("Java is not installed; as root `make test` installs it")
    from discreet.records.engines.spark import stop_spark

    home = tmp_path_factory.mktemp("spark")
    (home / "events").mkdir()
    (home / "spark-defaults.conf").write_text(SPARK_DEFAULTS.format(home=home), "utf-8")
    (home / "log4j2.properties").write_text(SPARK_LOG.format(home=home), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(home))
        yield home
        stop_spark()


_databases = count()


@pytest.fixture
def postgres_url(postgres_server):
    """An empty database of its own for each test."""
    from sqlalchemy import create_engine, text

    name = f"ledger_{next(_databases)}"
    address = f"postgresql+psycopg://me@/{{}}?host={postgres_server}"
    engine = create_engine(address.format("postgres"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
        yield address.format(name)
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()
