"""How much processor time a command takes before it does its work: help, an error, a small table.

Each command runs in a process of its own, some times; the least processor time counts (user and system, of all
threads). Python's compiled files are kept in a folder of this run, so that the first run compiles and the others do
not: as with an installed program.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from discreet.workspace.versions.load_version import load_dataset
from discreet_studies.bench.part import Part, Result, Wish, figure

REPEATS = 5
_RUN = "from discreet.cli.main import run; run()"
TOWN = """
id = "town"
label = "A town"
source = "Invented"
version = "1"
unit = "persons"
population = "residents"
id_column = "person"

[[variable]]
name = "sex"
label = "Sex"
categories = [{ code = "f", label = "Female" }, { code = "m", label = "Male" }]

[[variable]]
name = "age"
label = "Age"
categories = [{ code = "young", label = "Young" }, { code = "old", label = "Old" }]
"""


def commands(workspace: Path) -> dict[str, list[str]]:
    """What is timed: the words after `python`."""
    table = ["table", "town", "--rows", "sex", "--columns", "age", "--workspace", str(workspace)]
    return {
        "python -c pass": ["-c", "pass"],
        "import discreet": ["-c", "import discreet"],
        "discreet --help": ["-c", _RUN, "--help"],
        "an unknown command": ["-c", _RUN, "tabel"],
        "a wrong option": ["-c", _RUN, "table", "--nope"],
        "a table of 9 cells": ["-c", _RUN, *table],
    }


def measure(wish: Wish) -> Iterator[Result]:
    """Load a small town, then time each command."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        load_town(folder / "workspace")
        for what, words in commands(folder / "workspace").items():
            wish.say(f"{what}: running")
            runs = [cpu_seconds(words, folder) for _ in range(1 + (wish.repeats or REPEATS))]
            yield {"what": what, "cpu_s": round(min(runs[1:]), 3)}


def load_town(workspace: Path) -> None:
    """A workspace with 200 invented people."""
    people = range(200)
    sexes, ages = (
        pa.array([names[person % 2] for person in people]) for names in (("f", "m"), ("young", "old"))
    )
    load_dataset(workspace, TOWN, pa.table({"person": pa.array(people), "sex": sexes, "age": ages}))


def cpu_seconds(words: Sequence[str], folder: Path) -> float:
    """The processor time of one process; what it prints and how it ends does not matter."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
    before = _children()
    subprocess.run([sys.executable, *words], env=environment, capture_output=True, check=False)
    return _children() - before


def _children() -> float:
    used = os.times()
    return used.children_user + used.children_system


PART = Part(
    measure, {"command": lambda result: str(result["what"]), "processor time": figure("cpu_s", "{:.2f} s")}
)
