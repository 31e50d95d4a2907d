"""The town on a server, and under another name as a survey; asked in this process, or over loopback."""

from contextlib import ExitStack

import numpy as np
import pyarrow as pa
import pytest
from starlette.testclient import TestClient
from tests.web.conftest import running

from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.app import create_app
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import load_dataset

BASE = "/api/pxweb/v2"
SURVEY = """
[survey]
form = "average-weight"
sample_size = 3000
population_size = 120000
largest_weight = 50
relative_variance = 0.0625
"""


@pytest.fixture(scope="session")
def px_workspace(town, tmp_path_factory):
    """The town, and the same as a survey."""
    folder = tmp_path_factory.mktemp("pxweb")
    workspace = town.load(folder)
    text = town.description
    for old, new in (
        ('id_column = "person"', 'id_column = "person"\nweight_column = "w"'),
        ('id = "town"', 'id = "survey"'),
        ('label = "A town"', 'label = "A survey of the town"'),
    ):
        text = text.replace(old, new)
    weights = pa.array(np.resize([30, 50], len(town.records)))
    load_dataset(folder, text + SURVEY, town.records.append_column("w", weights))
    return workspace


@pytest.fixture(scope="session")
def px_registry(px_workspace):
    return DatasetRegistry(px_workspace)


@pytest.fixture(scope="session")
def px_app(px_registry, px_workspace):
    """The application, by its options."""
    return lambda **options: create_app(
        px_registry, read_options(px_workspace.folder, **{"pxweb_calls": 10_000} | options)
    )


@pytest.fixture(scope="session")
def px(px_app):
    """Ask the API: `px("/config")` is its JSON."""
    return Asker(TestClient(px_app()))


class Asker:
    """GET and POST below the API."""

    def __init__(self, client):
        self.client = client

    def get(self, path, **options):
        return self.client.get(BASE + path, **options)

    def post(self, path, body, **options):
        return self.client.post(BASE + path, json=body, **options)

    def __call__(self, path, body=None):
        response = self.get(path) if body is None else self.post(path, body)
        assert response.status_code < 300, response.text
        return response.json()

    def refusal(self, path, body=None):
        """The status, the title and the detail of a problem."""
        response = self.get(path) if body is None else self.post(path, body)
        assert response.headers["content-type"] == "application/problem+json"
        problem = response.json()
        assert problem["status"] == response.status_code
        return response.status_code, problem["title"], problem["detail"]


@pytest.fixture
def live():
    """Serve an application over loopback; the address of its PxWebApi."""
    with ExitStack() as stack:
        yield lambda app: stack.enter_context(running(app)) + BASE
