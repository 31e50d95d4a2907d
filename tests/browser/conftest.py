"""A real server in a thread and a real Chromium; both last for the whole session."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect
from tests.browser.waiting import settled

from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.app import create_app
from discreet.workspace.demo import dp_census_batches, dp_census_description
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace


def _fixtures_of_the_server():
    """The small workspace of tests/web: one description of it serves both folders."""
    path = Path(__file__).parents[1] / "web" / "conftest.py"
    spec = importlib.util.spec_from_file_location("server_fixtures", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


expect.set_options(timeout=30_000)  # as long as all other waiting
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


AREAS = 15_000


def _areas():
    """Fifteen thousand areas in thirty regions, with two people in each."""
    regions = [{"code": f"R{r:02}", "label": f"Region {r}"} for r in range(30)]
    areas = [{"code": f"A{n:05}", "label": f"Area {n}", "parent": f"R{n // 500:02}"} for n in range(AREAS)]
    sexes = [{"code": "1", "label": "Male"}, {"code": "2", "label": "Female"}]
    variables = (("region", "Region", regions), ("area", "Small area", areas), ("sex", "Sex", sexes))
    places = [n // 2 for n in range(2 * AREAS)]
    records = pd.DataFrame(
        {
            "id": [str(n) for n in range(2 * AREAS)],
            "region": [f"R{place // 500:02}" for place in places],
            "area": [f"A{place:05}" for place in places],
            "sex": [str(1 + n % 2) for n in range(2 * AREAS)],
        }
    )
    head = 'id = "areas"\nlabel = "Fifteen thousand areas"\nid_column = "id"\n'
    tree = '[[hierarchy]]\nname = "places"\nlevels = ["region", "area"]\ngeography = true\n'
    return head + "".join(_server._variable(*each) for each in variables) + tree, records


def _crowd():
    """A dataset of 600 places and 9 kinds: a table of it is larger than a page draws at once."""
    places = [{"code": f"p{number:04}", "label": f"Place {number}"} for number in range(1, 601)]
    kinds = [{"code": f"k{number}", "label": f"Kind {number}"} for number in range(1, 10)]
    blocks = _server._variable("place", "Place", places) + _server._variable("kind", "Kind", kinds)
    random = np.random.default_rng(14)
    records = pd.DataFrame(
        {
            "id": [str(number) for number in range(30_000)],
            "place": random.choice([each["code"] for each in places], 30_000),
            "kind": random.choice([each["code"] for each in kinds], 30_000),
        }
    )
    head = 'id = "crowd"\nlabel = "A crowd"\nunit = "persons"\nid_column = "id"\nversion = "1"\n'
    return head + blocks + "[protection]\nmax_cells = 20000\n", records


@pytest.fixture(scope="session")
def browsed_workspace(small_folder, tmp_path_factory):
    """The small workspace with one dataset under `dp` and one of 15,000 areas beside the others."""
    folder = tmp_path_factory.mktemp("browsed") / "workspace"
    shutil.copytree(small_folder, folder)
    load_dataset(folder, dp_census_description(3000), dp_census_batches(3000))
    load_dataset(folder, *_areas())
    load_dataset(folder, *_crowd())
    return Workspace(folder, threads=1)


@pytest.fixture(scope="session")
def base_url(browsed_workspace, small_settings):
    """Where the workspace is served."""
    with _server.running(create_app(DatasetRegistry(browsed_workspace), small_settings)) as address:
        yield address


@pytest.fixture
def open_page(chromium, base_url):
    """Open an address in a context of its own; scripts are off unless they are asked for.

    With scripts, the modules of the page have come.
    """
    contexts = []

    def opened(address, *, scripts=False, **options):
        context = chromium.new_context(java_script_enabled=scripts, **options)
        contexts.append(context)
        page = context.new_page()
        page.goto(base_url + address)
        return settled(page) if scripts else page

    yield opened
    for context in contexts:
        context.close()
