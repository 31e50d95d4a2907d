"""The description of the town, read."""

import pytest

from discreet.model.dataset_toml import parse_dataset


@pytest.fixture(scope="session")
def dataset(town):
    return parse_dataset(town.description)
