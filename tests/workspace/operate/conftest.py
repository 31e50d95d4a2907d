"""A workspace with three versions of the town, to be changed by each test; and one under dp."""

import shutil

import pytest


@pytest.fixture
def folder(town_versions, tmp_path):
    """Three versions: "0" is closed by "1", from which one record differs; "2" is served beside "1"."""
    copy = tmp_path / "workspace"
    shutil.copytree(town_versions, copy)
    copy.chmod(0o700)
    return copy


@pytest.fixture
def dp_folder(private_folder, tmp_path):
    """The town under dp: a ledger with one charge."""
    return shutil.copytree(private_folder, tmp_path / "dp")
