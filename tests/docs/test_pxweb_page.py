"""The page about PxWebApi: its Python runs against a server of the demo, and it names what there is."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from discreet.web.pxweb.output import CSV_PARAMETERS, FORMATS
from discreet.web.pxweb.routes import LARGEST_BODY, PREFIX
from discreet.web.pxweb.selection_syntax import LONGEST_ID

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "pxweb.md").read_text("utf-8")


@pytest.mark.slow
def test_the_first_minute_runs(demo_address):
    found = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    made = []
    for code in found:
        names = {"__name__": "example"}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(code.replace("http://127.0.0.1:8000", demo_address), "pxweb.md", "exec"), names)  # noqa: S102
        made.append(names)
    assert len(made[0]["rows"]) == 3 * 4
    assert len(made[0]["regions"]) == 12
    assert len(made[1]["frame"]) == 3 * 6
    assert len(made[2]["frame"]) == 2 * 6


@pytest.mark.parametrize("name", [*FORMATS, *CSV_PARAMETERS])
def test_every_format_and_parameter_is_documented(name):
    assert f"`{name}`" in PAGE


def test_limits_are_documented():
    assert f"`{PREFIX}`" in PAGE
    assert f"{LARGEST_BODY:,} bytes" in PAGE
    assert f"{LONGEST_ID:,} letters" in PAGE
