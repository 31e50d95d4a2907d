"""The pages on what a reader may conclude: their code runs, and they name what there is."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet import inference
from discreet.cli.main import app

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("noise-aware-tests", "intervals")


def text_of(page):
    return (DOCS / "methods" / f"{page}.md").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs(page):
    found = re.findall(r"```python\n(.*?)```", text_of(page), re.DOTALL)
    assert found
    for code in found:
        exec(compile(code, f"{page}.md", "exec"), {"__name__": page})  # noqa: S102 - our own pages


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_claim_formula_use_and_source(page):
    for part in ("**Claim.**", "## Formula", "## Use", "## Source"):
        assert part in text_of(page)


def test_the_commands_of_a_page_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```sh\n(.*?)```", text_of("noise-aware-tests"), re.DOTALL):
        for line in block.strip().splitlines():
            assert CliRunner().invoke(app, shlex.split(line)[1:]).exit_code == 0


def test_every_function_is_on_a_page():
    text = "".join(map(text_of, PAGES)) + (DOCS / "reference" / "cli.md").read_text("utf-8")
    assert [name for name in inference.__all__ if name not in text and name.islower()] == []
