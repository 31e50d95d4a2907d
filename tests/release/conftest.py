"""The description of the town, read; a demo census of 50,000 persons."""

import pytest

from discreet.model.description.dataset_toml import parse_dataset
from discreet.workspace.demo import census_batches, census_description
from discreet.workspace.versions.load_version import load_dataset
from discreet.workspace.workspace import Workspace


@pytest.fixture(scope="session")
def dataset(town):
    return parse_dataset(town.description)


@pytest.fixture(scope="session")
def census(tmp_path_factory):
    folder = tmp_path_factory.mktemp("answer-census")
    load_dataset(folder, census_description(50_000), census_batches(50_000))
    return Workspace(folder).stored("census")
