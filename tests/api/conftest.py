"""A workspace with counts, a survey and a dataset under `dp`, served on loopback, and both ways to open it."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

import discreet
from discreet.answer.door import open_doors
from discreet.server.app import create_app, listen
from discreet.workspace.demo import spudlandia_batches, spudlandia_description
from discreet.workspace.load import load_dataset
from discreet.workspace.options import read_options

PRIVATE = """
[protection]
method = "dp"
[protection.universe]
variables = ["sex", "age", "job", "area"]
up_to = 1
tables = [["sex", "age"], ["age", "job"], ["sex", "area"]]
[protection.budget]
family = "town"
epsilon = 4.0
cap_epsilon = 9.0
answer_cost = 0.5
"""


@contextmanager
def serving(folder, below=""):
    """The address of a workspace while it is served, at the root or mounted below a path."""
    doors = open_doors(folder, threads=1)
    app = create_app(doors, read_options(folder))
    listening = listen("127.0.0.1", 0)
    mounted = Starlette(routes=[Mount(below, app)]) if below else app
    server = uvicorn.Server(uvicorn.Config(mounted, log_config=None, server_header=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(timeout=30)
        listening.close()
        doors.close()


@pytest.fixture(scope="session")
def served():
    return serving


@pytest.fixture(scope="session")
def served_folder(town, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    town.load(folder).close()
    public, _, _ = town.description.partition("[protection]")
    load_dataset(folder, public.replace('id = "town"', 'id = "town-dp"', 1) + PRIVATE, town.records)
    load_dataset(folder, spudlandia_description(), spudlandia_batches())
    return folder


@pytest.fixture(scope="session")
def address(served_folder):
    with serving(served_folder) as base:
        yield base


@pytest.fixture(scope="session")
def here(served_folder):
    with discreet.open(served_folder) as opened:
        yield opened


@pytest.fixture(scope="session")
def there(address):
    with discreet.open(address) as opened:
        yield opened
