"""A small demo, and a server of it, for pages whose examples ask one."""

import pytest

from discreet.workspace.demo import (
    census_batches,
    census_description,
    dp_census_batches,
    dp_census_description,
    spudlandia_batches,
    spudlandia_description,
)
from discreet.workspace.versions.load_version import load_dataset


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """The demo workspace with censuses of fewer people."""
    folder = tmp_path_factory.mktemp("demo")
    load_dataset(folder, census_description(20_000), census_batches(20_000))
    load_dataset(folder, dp_census_description(20_000), dp_census_batches(20_000))
    load_dataset(folder, spudlandia_description(), spudlandia_batches())
    return folder


@pytest.fixture(scope="session")
def demo_address(served, demo):
    """The demo on loopback."""
    with served(demo) as address:
        yield address
