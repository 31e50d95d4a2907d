"""The description of the town as a value."""

import pytest

from discreet.model.description.dataset_toml import parse_dataset


@pytest.fixture(scope="session")
def dataset(town):
    return parse_dataset(town.description)
