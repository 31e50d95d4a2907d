"""What tests of workspaces look at: the folder of the served version, and the numbers that it answers with."""

import pytest

from discreet.model.request import TableRequest
from discreet.release.pipeline import release_table
from discreet.workspace.workspace import Workspace

REQUEST = TableRequest("town", ("sex",), ("age",))


@pytest.fixture
def folder(town_folder):
    """One version of the town, to be changed by each test."""
    return town_folder


@pytest.fixture
def workspace(town_folder):
    return Workspace(town_folder)


def place_of(folder, dataset="town"):
    home = folder / "datasets" / dataset
    return home / (home / "current").read_text().strip()


def numbers(folder, request=REQUEST):
    return answers(folder, [request])[0]


def answers(folder, requests):
    """The numbers of several tables, from a workspace that is opened once."""
    workspace = Workspace(folder)
    try:
        return [release_table(workspace.stored(each.dataset), each).values.tolist() for each in requests]
    finally:
        workspace.close()


def flip(path):
    """Change a bit in the middle of a file, where no hash of its ends sees it."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
