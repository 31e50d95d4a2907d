"""A real server in a thread and a real Chromium; both last for the whole session."""

from __future__ import annotations

import importlib.util
import os
import shutil
import threading
from pathlib import Path

import pytest
import uvicorn

from discreet.answer.door import Doors
from discreet.server.app import create_app, listen
from discreet.workspace.demo import dp_census_batches, dp_census_description
from discreet.workspace.load import load_dataset
from discreet.workspace.workspace import Workspace


def _fixtures_of_the_server():
    """The small workspace of tests/server: one description of it serves both folders."""
    path = Path(__file__).parents[1] / "server" / "conftest.py"
    spec = importlib.util.spec_from_file_location("server_fixtures", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_server = _fixtures_of_the_server()
small_folder = _server.small_folder
small_workspace = _server.small_workspace
small_settings = _server.small_settings


@pytest.fixture(scope="session")
def chromium():
    """The browser: the one that DISCREET_CHROMIUM names, or the system's."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    path = os.environ.get("DISCREET_CHROMIUM") or shutil.which("chromium")
    if not path:
        pytest.skip("no Chromium: install Debian's `chromium`, or set DISCREET_CHROMIUM to its path")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def browsed_workspace(small_folder, tmp_path_factory):
    """The small workspace with one dataset under `dp` beside the others."""
    folder = tmp_path_factory.mktemp("browsed") / "workspace"
    shutil.copytree(small_folder, folder)
    load_dataset(folder, dp_census_description(3000), dp_census_batches(3000))
    return Workspace(folder, threads=1)


@pytest.fixture(scope="session")
def base_url(browsed_workspace, small_settings):
    """Where the workspace is served."""
    listening = listen("127.0.0.1", 0)
    app = create_app(Doors(browsed_workspace), small_settings)
    config = uvicorn.Config(app, log_config=None, server_header=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join(timeout=30)
    listening.close()


@pytest.fixture
def open_page(chromium, base_url):
    """Open an address in a context of its own; scripts are off unless they are asked for."""
    contexts = []

    def opened(address, *, scripts=False, **options):
        context = chromium.new_context(java_script_enabled=scripts, **options)
        contexts.append(context)
        page = context.new_page()
        page.goto(base_url + address)
        return page

    yield opened
    for context in contexts:
        context.close()
