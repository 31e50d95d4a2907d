"""A workspace with counts, a survey and a dataset under `dp`, served on loopback, and both ways to open it."""

from __future__ import annotations

import pytest

import discreet
from discreet.workspace.demo import spudlandia_batches, spudlandia_description
from discreet.workspace.versions.load_version import load_dataset


@pytest.fixture(scope="session")
def served_folder(town, private_description, tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    town.load(folder).close()
    load_dataset(folder, private_description.replace('id = "town"', 'id = "town-dp"', 1), town.records)
    load_dataset(folder, spudlandia_description(), spudlandia_batches())
    return folder


@pytest.fixture
def catalogue(town_workspace):
    with discreet.open(town_workspace.folder) as opened:
        yield opened


@pytest.fixture(scope="session")
def address(served, served_folder):
    with served(served_folder) as base:
        yield base


@pytest.fixture(scope="session")
def here(served_folder):
    with discreet.open(served_folder) as opened:
        yield opened


@pytest.fixture(scope="session")
def there(address):
    with discreet.open(address) as opened:
        yield opened
