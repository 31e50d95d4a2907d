"""A workspace with one version of the town, to be changed by each test."""

import pytest


@pytest.fixture
def folder(town_folder):
    return town_folder
