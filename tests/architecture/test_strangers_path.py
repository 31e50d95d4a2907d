"""A stranger adds one file for each row of "Where do I add a ...?", and every face has it.

The package is copied, one module is written for a noise family, a rule, a measure, a format, an engine, a kind of file
and a command, and nothing else is touched. A new process then loads a dataset that uses all of them and asks for it from
the command line, from Python, over HTTP and on the page.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import discreet

SOURCE = Path(discreet.__file__).parent
ROOT = Path(__file__).parents[2]
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")

#: What a stranger writes: one file a row.
FILES = {
    "noise/families/stranger.py": '''
"""Noise of a stranger: one up or one down."""
from discreet.noise.family import Family
from discreet.noise.ideal_distribution import IdealTable, row_from_weights
def ideal():
    return IdealTable((row_from_weights([-1, 1], [1, 1]),), 1, "stranger", {})
def stranger():
    from discreet.noise.quantise import quantise
    return quantise(ideal(), 2**32)
FAMILY = Family("stranger", "One up or one down.", (), ideal, page="methods/stranger.md", make=stranger, place=99)
''',
    "rules/kinds/strangers.py": '''
"""A rule of a stranger: no table of jobs alone."""
from dataclasses import dataclass
from typing import ClassVar
from discreet.rules.rule import Rule, register
@register
@dataclass(frozen=True, slots=True)
class NoJobs(Rule):
    """No table of jobs alone."""
    kind: ClassVar[str] = "no-jobs"
    def refuse(self, request, shape, dataset):
        return self.refusal("No jobs alone.", "Cross them.") if request.variables == ("job",) else None
''',
    "release/measures/stranger.py": '''
"""A measure of a stranger: hundreds of people."""
from discreet.release.measures import MeasureKind, MeasureValues
from discreet.model.request import Measure
MEASURE = MeasureKind(
    Measure("hundreds", lambda d: "Hundreds", lambda d: "Hundreds of people", "One count by itself"),
    lambda question, exact, cells: MeasureValues(cells.noisy * 100),
)
''',
    "formats/stranger.py": '''
"""A format of a stranger: the largest value."""
from discreet.formats import Format
FORMAT = Format("largest", "Largest", "one number", "largest", "text/plain; charset=utf-8",
                lambda release: [f"largest {int(release.values.max())}".encode()])
''',
    "records/engines/stranger.py": '''
"""An engine of a stranger: DuckDB under another name."""
from discreet.records.engine import EngineKind
from discreet.records.engines import duckdb
KIND = EngineKind("stranger", "DuckDB for a test", duckdb.KIND.store, duckdb.KIND.open)
''',
    "records/readers/stranger.py": '''
"""A file of a stranger: Parquet under another name."""
from discreet.records.readers import Reader
from discreet.records.source import Source
READER = Reader("strange", (".strange",), lambda connection, path, options, aside: Source(
    connection.read_parquet(str(path)), None, path.name))
''',
    "cli/commands/stranger.py": '''
"""`discreet stranger`."""
from discreet.cli.registry import EXAMINE, Command
def stranger() -> None:
    """Say something strange."""
    print("strange")
COMMAND = Command(stranger, EXAMINE)
''',
}

DRIVE = """
import json, sys
from pathlib import Path
from fastapi.testclient import TestClient
import discreet
from discreet.release.dataset_registry import open_registry
from discreet.web.app import create_app
from discreet.workspace.options import read_options
folder = Path(sys.argv[1])
with discreet.open(folder) as catalogue:
    table = catalogue.table("town", rows=["sex"], measure="hundreds")
    python = {"title": table.release.title, "largest": table.to_largest(), "promise": table.release.promise}
    try:
        catalogue.table("town", rows=["job"])
    except discreet.errors.Refused as refusal:
        python["refused"] = [refusal.code, refusal.message]
client = TestClient(create_app(open_registry(folder), read_options(folder)))
asked = "rows=sex&measure=hundreds"
print(json.dumps({
    "python": python,
    "http": client.get(f"/api/datasets/town/table?{asked}&format=largest").text,
    "http_refused": client.get("/api/datasets/town/table?rows=job").json()["code"],
    "page": client.get(f"/datasets/town?{asked}").text,
    "page_refused": client.get("/datasets/town?rows=job").text,
    "openapi": client.get("/openapi.json").text,
}))
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """A copy of the package with the strangers' files in it, and how to run a program there."""
    place = tmp_path_factory.mktemp("house")
    shutil.copytree(SOURCE, place / "discreet", ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in FILES.items():
        assert not (SOURCE / name).exists()
        (place / "discreet" / name).write_text(text, "utf-8")

    def run(*words):
        environment = {**os.environ, "PYTHONPATH": str(place)}
        command = [sys.executable, *map(str, words)]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, env=environment, cwd=place
        )

    return run


@pytest.fixture(scope="module")
def command(house):
    return lambda *words: house("-c", "from discreet.cli.main import run; run()", *words)


@pytest.fixture(scope="module")
def folder(command, town, tmp_path_factory):
    """The town under the strangers' noise and rule, kept by the stranger's engine."""
    place = tmp_path_factory.mktemp("strange")
    start = town.description.index("[protection.noise]")
    rule = '[[rule]]\nkind = "no-jobs"\n'
    description = town.description[:start] + '[protection.noise]\nfamily = "stranger"\n' + rule
    (place / "dataset.toml").write_text(description, "utf-8")
    pq.write_table(town.records, place / "town.strange")
    files = (place / "dataset.toml", place / "town.strange")
    done = command("load", *files, "-w", place / "w", "--engine", "stranger")
    assert done.returncode == 0, done.stderr
    return place / "w"


@pytest.fixture(scope="module")
def driven(house, folder):
    done = house("-c", DRIVE, folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


pytestmark = pytest.mark.slow


def test_the_command_line_has_them(command, folder):
    asked = ("table", "town", "--rows", "sex", "-w", folder)
    done = command(*asked, "--measure", "hundreds", "--format", "largest")
    assert re.fullmatch(r"largest \d+00\n?", done.stdout), done
    assert "no-jobs" in command("table", "town", "--rows", "job", "-w", folder, "--dry-run").stdout
    assert "strange" in command("stranger").stdout
    assert "stranger" in command("--help").stdout
    designed = command("design", "stranger", "--json")
    assert json.loads(designed.stdout)["family"] == "stranger", designed.stderr
    assert next(folder.glob("datasets/town/*/engine")).read_text("ascii").strip() == "stranger"


def test_python_has_them(driven):
    found = driven["python"]
    assert found["title"].startswith("Hundreds of people by")
    assert re.fullmatch(r"largest \d+00", found["largest"])
    assert found["refused"] == ["no-jobs", "No jobs alone."]
    assert "stranger" in found["promise"][0]


def test_http_and_the_page_have_them(driven):
    assert driven["http"] == driven["python"]["largest"]
    assert driven["http_refused"] == "no-jobs"
    assert all(name in driven["openapi"] for name in ('"largest"', "`hundreds`"))
    assert "Hundreds of people by" in driven["page"]
    assert "format=largest" in driven["page"]
    assert "No jobs alone." in driven["page_refused"]


def test_every_place_that_the_page_names_is_there_and_a_stranger_walked_the_single_folders():
    table = ARCHITECTURE.split("## Where do I add a ...?")[1].split("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ") and "what" not in line[:8]]
    rows = [line.split("|")[1:4] for line in lines]
    assert len(rows) > 12
    for what, where, page in rows:
        named = re.findall(r"`([\w./-]+/[\w./-]*)`", where)
        assert named, what
        for place in named:
            assert (SOURCE / place).exists() or (ROOT / place).exists(), (what, place)
        for place in re.findall(r"`(docs/[\w./-]+|tests/[\w./-]+)`", page):
            assert (ROOT / place).exists(), (what, place)
    for folder in {name.rsplit("/", 1)[0] for name in FILES}:
        assert any(f"a module in `{folder}/`" in where for _, where, _ in rows), folder
