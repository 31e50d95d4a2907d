"""A server of the demo, for pages whose examples ask one."""

from __future__ import annotations

import threading
import time

import pytest
import uvicorn

from discreet.release.dataset_registry import open_registry
from discreet.web.app import create_app
from discreet.web.run import listen
from discreet.workspace.demo import census_batches, census_description
from discreet.workspace.options import read_options
from discreet.workspace.versions.load_version import load_dataset


@pytest.fixture(scope="session")
def demo_address(tmp_path_factory):
    """The demo census, of fewer people, on loopback."""
    folder = tmp_path_factory.mktemp("demo")
    load_dataset(folder, census_description(20_000), census_batches(20_000))
    listening = listen("127.0.0.1", 0)
    app = create_app(open_registry(folder), read_options(folder))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    listening.close()
