"""A client of the server, and workspaces whose engines are watched."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from discreet.server.app import create_app


class CountingEngine:
    """An engine that counts how often it is asked."""

    def __init__(self, engine):
        self.engine = engine
        self.calls = 0

    def aggregate(self, query):
        self.calls += 1
        return self.engine.aggregate(query)

    def close(self):
        self.engine.close()


class WatchedWorkspace:
    """A workspace whose stored datasets are changed on the way out."""

    def __init__(self, workspace, **changes):
        self.workspace = workspace
        self.changes = changes
        self.engines = {name: CountingEngine(workspace.stored(name).engine) for name in workspace.ids()}

    def ids(self):
        return self.workspace.ids()

    def stored(self, dataset_id):
        stored = self.workspace.stored(dataset_id)
        return replace(stored, engine=self.engines[dataset_id], **self.changes)


@pytest.fixture
def client(small_workspace, small_settings):
    return TestClient(create_app(small_workspace, small_settings))


@pytest.fixture
def watched(small_workspace):
    return WatchedWorkspace(small_workspace)


@pytest.fixture
def watched_client(watched, small_settings):
    return TestClient(create_app(watched, small_settings))
