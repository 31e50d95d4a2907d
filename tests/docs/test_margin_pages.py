"""The pages on margins: every part is there, the code runs, and every method is named."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.margins.study import METHODS

METHOD_PAGES = Path(__file__).parents[2] / "docs" / "methods"
PAGES = sorted(METHOD_PAGES.glob("margins-*.md"))


def blocks(path, language):
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_a_page_has_its_claim_formula_and_tests(path):
    text = path.read_text(encoding="utf-8")
    for part in ("**Claim.**", "## Formula", "## Use", "Tests: `tests/"):
        assert part in text, part
    assert "## Source" in text or path.stem == "margins-advice"


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.stem)
def test_the_python_of_a_page_runs(path):
    found = blocks(path, "python")
    assert found
    for code in found:
        exec(compile(code, path.name, "exec"), {"__name__": path.stem})  # noqa: S102 - our own pages


@pytest.mark.slow
@pytest.mark.parametrize(
    "line", [line for path in PAGES for block in blocks(path, "sh") for line in block.strip().splitlines()]
)
def test_the_commands_of_a_page_run(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
    assert result.exception is None, result.exception


def test_every_method_is_on_the_page_of_advice():
    text = (METHOD_PAGES / "margins-advice.md").read_text(encoding="utf-8")
    for method in METHODS:
        assert f"| `{method}` |" in text
