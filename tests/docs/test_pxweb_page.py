"""The page about PxWebApi: its Python runs against a server of the demo, and it names what there is."""

import contextlib
import io
import re
import threading
import time
from pathlib import Path

import pytest
import uvicorn

from discreet.answer.door import open_doors
from discreet.server.app import create_app, listen
from discreet.server.pxweb.csv_lines import WORDS
from discreet.server.pxweb.data import FORMATS
from discreet.server.pxweb.exchange import LARGEST_BODY, PREFIX
from discreet.server.pxweb.saved import LONGEST_ID
from discreet.workspace.demo import census_batches, census_description
from discreet.workspace.load import load_dataset
from discreet.workspace.options import read_options

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "pxweb.md").read_text("utf-8")


@pytest.fixture
def address(tmp_path):
    """The demo, served on loopback."""
    load_dataset(tmp_path, census_description(20_000), census_batches(20_000))
    listening = listen("127.0.0.1", 0)
    app = create_app(open_doors(tmp_path), read_options(tmp_path))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    listening.close()


@pytest.mark.slow
def test_the_first_minute_runs(address):
    found = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    made = []
    for code in found:
        names = {"__name__": "example"}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code.replace("http://127.0.0.1:8000", address), "pxweb.md", "exec"), names)  # noqa: S102
        made.append(names)
    assert len(made[0]["rows"]) == 3 * 4
    assert len(made[0]["regions"]) == 12
    assert len(made[1]["frame"]) == 3 * 6
    assert len(made[2]["frame"]) == 2 * 6


@pytest.mark.parametrize("name", [*FORMATS, *WORDS])
def test_every_format_and_parameter_is_documented(name):
    assert f"`{name}`" in PAGE


def test_limits_are_documented():
    assert f"`{PREFIX}`" in PAGE
    assert f"{LARGEST_BODY:,} bytes" in PAGE
    assert f"{LONGEST_ID:,} letters" in PAGE
