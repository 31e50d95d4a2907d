"""A small workspace for the web face, one dataset of it with hostile labels; a client; watched engines."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import numpy as np
import pytest
import uvicorn
from fastapi.testclient import TestClient

from discreet.release.dataset_registry import DatasetRegistry, open_registry
from discreet.web.app import create_app
from discreet.web.connections import set_write_timeout
from discreet.web.run import listen
from discreet.workspace.ledger_location import open_accounts, open_ledger
from discreet.workspace.options import Options, read_options
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd

DISTRICTS = 48
AGES = ("0-14", "15-64", "65+")
HOSTILE = {
    "a,b": "<script>alert('label')</script>",
    "c+d=e": '"><img src=x onerror=alert(1)>',
    "=1+1": "=cmd|' /C calc'!A0",
    "x\\y": "nul \x00 and bell \x07",
    "<b>": "\u202eright to left\u2069\u2069",
}

HOSTILE_LABEL, HOSTILE_SOURCE = "<b>Hostile</b> & \u202elabels", '"/><script>source()</script>'


def people_description() -> str:
    """Geography, four other variables and a structural zero."""
    areas = [
        {"code": f"D{d:02}", "label": f"District {d}", "parent": f"R{1 + d % 2}"}
        for d in range(1, DISTRICTS + 1)
    ]
    variables = {
        "region": ("Region", _coded(R1="North", R2="South")),
        "district": ("District", areas),
        "sex": ("Sex", _coded(**{"1": "Male", "2": "Female"})),
        "age": ("Age", _coded(**{age: f"{age} years" for age in AGES})),
        "job": ("Job", _coded(**{"1": "None", "2": "Farm", "3": "Office"})),
        "origin": ("Country of birth", _coded(**{str(c): f"Country {c}" for c in range(1, 5)})),
    }
    blocks = "".join(_variable(name, label, categories) for name, (label, categories) in variables.items())
    return f"""
id = "people"
label = "People of Smallville"
description = "A test of everything."
source = "Smallville Statistics"
version = "7"
reference_date = "2026-01-01"
unit = "persons"
population = "All residents"
id_column = "person"
{blocks}
[[hierarchy]]
name = "place"
label = "Place"
levels = ["region", "district"]
geography = true
[[structural_zero]]
label = "Children have no job"
where = {{ age = ["0-14"], job = ["2", "3"] }}
[protection]
max_cells = 5000
"""


def people_records(count: int = 617) -> pd.DataFrame:
    """Records from a seed."""
    import pandas as pd

    random = np.random.default_rng(20260101)
    weight = np.tile([1.0, 1.7], DISTRICTS // 2)
    district = random.choice(np.arange(1, DISTRICTS + 1), count, p=weight / weight.sum())
    age = random.choice(AGES, count, p=[0.2, 0.6, 0.2])
    job = np.where(age == "0-14", "1", random.choice(["1", "2", "3"], count))
    return pd.DataFrame(
        {
            "person": [f"p{number}" for number in range(count)],
            "region": [f"R{1 + d % 2}" for d in district],
            "district": [f"D{d:02}" for d in district],
            "sex": random.choice(["1", "2"], count, p=[0.45, 0.55]),
            "age": age,
            "job": job,
            "origin": random.choice(["1", "2", "3", "4"], count),
        }
    )


def hostile_description() -> str:
    """Labels and codes that would like to be HTML, a formula, a control or a change of direction."""
    return f"""
id = "hostile"
label = {_text(HOSTILE_LABEL)}
source = {_text(HOSTILE_SOURCE)}
unit = {_text("<i>things</i>")}
id_column = "id"
{_variable("bad", "</title><script>alert(2)</script>", _coded(**HOSTILE))}
{_variable("good", "Good", _coded(**{"1": "One", "2": "Two"}))}
"""


def hostile_records(count: int = 300) -> pd.DataFrame:
    """A few of each."""
    import pandas as pd

    random = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "id": [str(number) for number in range(count)],
            "bad": random.choice(np.array(list(HOSTILE), dtype=object), count),
            "good": random.choice(["1", "2"], count),
        }
    )


def _coded(**labels: str) -> list[dict[str, str]]:
    return [{"code": code, "label": label} for code, label in labels.items()]


def _variable(name: str, label: str, categories: list[dict[str, str]]) -> str:
    lines = ["{ " + ", ".join(f"{key} = {_text(text)}" for key, text in c.items()) + " }" for c in categories]
    return f"[[variable]]\nname = {_text(name)}\nlabel = {_text(label)}\ncategories = [{', '.join(lines)}]\n"


def _text(text: str) -> str:
    """A TOML string: JSON writes it the same way."""
    return json.dumps(text)


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace on disk; tests that change it copy it first."""
    folder = tmp_path_factory.mktemp("small")
    load_dataset(folder, people_description(), people_records())
    load_dataset(folder, hostile_description(), hostile_records())
    return folder


@pytest.fixture(scope="session")
def small_workspace(small_folder: Path) -> Workspace:
    return Workspace(small_folder, threads=1)


@pytest.fixture(scope="session")
def small_settings(small_folder: Path) -> Options:
    return read_options(small_folder, page_cells=1000)


class CountingEngine:
    """An engine that counts how often it is asked."""

    def __init__(self, engine):
        self.engine, self.close, self.calls = engine, engine.close, 0

    def aggregate(self, query):
        self.calls += 1
        return self.engine.aggregate(query)


class WatchedWorkspace:
    """A workspace whose engines count how often they are asked."""

    def __init__(self, workspace):
        self.workspace = workspace
        self.engines = {name: CountingEngine(workspace.stored(name).engine) for name in workspace.ids()}

    def __getattr__(self, name):
        return getattr(self.workspace, name)

    def stored(self, dataset_id, version=""):
        return replace(self.workspace.stored(dataset_id, version), engine=self.engines[dataset_id])

    def asker(self, _key):
        return None


def client_of(source, **options):
    """A client of a server of a workspace, or of the folder of one."""
    registry = open_registry(source) if isinstance(source, Path) else DatasetRegistry(source)
    folder = source if isinstance(source, Path) else source.folder
    return TestClient(create_app(registry, read_options(folder, **options)))


def with_key(key):
    return {"authorization": f"Bearer {key}"}


def key_with_budget(folder):
    """The key of an account that may spend 1 on the town under `dp`."""
    with closing(open_ledger(folder)) as ledger:
        key = open_accounts(folder).create("ann", "analyst")
        ledger.allow("town", "ann", (Fraction(1), Fraction(1, 10**9)))
    return key


@pytest.fixture
def small_copy(small_folder, tmp_path):
    """A copy of the small workspace, without what a server wrote into it."""
    return shutil.copytree(small_folder, tmp_path / "copy", ignore=shutil.ignore_patterns("server"))


@pytest.fixture(scope="session")
def client(small_workspace):
    return client_of(small_workspace, page_cells=1000)


@pytest.fixture
def watched(small_workspace):
    return WatchedWorkspace(small_workspace)


@pytest.fixture
def watched_client(watched):
    return client_of(watched, page_cells=1000)


@contextmanager
def running(app, write_seconds=0, **options):
    """The address of an application that a thread serves over loopback; options of uvicorn."""
    listening = listen("127.0.0.1", 0)
    if write_seconds:
        set_write_timeout(listening, write_seconds)
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, **options))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def in_processes(number, work, *given):
    """Run some work in several processes at once, to their end."""
    fork = multiprocessing.get_context("fork")
    made = [fork.Process(target=work, args=given) for _ in range(number)]
    for process in made:
        process.start()
    for process in made:
        process.join()


class Page(HTMLParser):
    """A page as a list of elements, with the text inside each, and a check that every tag is closed."""

    VOID = frozenset({"meta", "link", "img", "input", "br", "hr"})

    def __init__(self, response):
        super().__init__()
        self.elements = []
        self.open = []
        self.feed(response.text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        element = {"tag": tag, "text": "", **dict(attributes)}
        self.elements.append(element)
        if tag not in self.VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, tag, **attributes):
        """Elements that are not hidden from readers."""
        names = {name.rstrip("_"): value for name, value in attributes.items()}
        shown = [e for e in self.elements if e["tag"] == tag and e.get("aria-hidden") != "true"]
        return [e for e in shown if all(e.get(k) == v for k, v in names.items())]

    def chosen(self):
        """The variables on each shelf: rows, columns, layers."""
        query = next(dict(parse_qsl(e["data-query"])) for e in self.elements if "data-query" in e)
        return [query.get(axis, "") for axis in ("rows", "columns", "layers")]

    def texts(self, tag, **attributes):
        return [" ".join(element["text"].split()) for element in self.all(tag, **attributes)]


def broken_workspace(exception, folder):
    """A workspace whose dataset cannot be opened."""

    def stored(*_):
        raise exception

    return SimpleNamespace(
        folder=folder, ids=lambda: ["people"], has="people".__eq__, mark=str, stored=stored
    )


@pytest.fixture(scope="session")
def town_registry(town_versions):
    """The registry of a dataset with a closed, a former and a current version."""
    with closing(open_registry(town_versions)) as opened:
        yield opened


@pytest.fixture(scope="session")
def town_client(town_versions):
    return client_of(town_versions)
