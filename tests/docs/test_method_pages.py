from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.noise import families

PAGES = Path(__file__).parent.parent.parent / "docs" / "methods"
NAMES = [*families.names(), "quantisation", "design"]


def blocks(name, language):
    return re.findall(
        rf"```{language}\n(.*?)```", (PAGES / f"{name}.md").read_text(encoding="utf-8"), re.DOTALL
    )


@pytest.mark.parametrize("name", families.names())
def test_a_family_has_a_page_with_claim_formula_use_account_and_source(name):
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    for part in ("**Claim.**", "## Formula", "## When to use it", "## Its exact (ε, δ)", "## Source"):
        assert part in text, part


@pytest.mark.parametrize("name", NAMES)
def test_the_python_of_a_page_runs(name, monkeypatch):
    monkeypatch.setattr(families, "_registered", {})
    found = blocks(name, "python")
    assert found
    for code in found:
        exec(compile(code, f"{name}.md", "exec"), {"__name__": name})  # noqa: S102 - our own pages


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [line for name in NAMES for block in blocks(name, "sh") for line in block.strip().splitlines()],
)
def test_the_commands_of_a_page_run(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line, comments=True)
    assert words[0] == "discreet"
    result = CliRunner().invoke(app, words[1:])
    assert result.exception is None, result.exception


def test_every_parameter_of_every_family_is_on_the_design_page():
    text = (PAGES / "design.md").read_text(encoding="utf-8")
    for family in families.families():
        for name in family.names():
            words = {f"--{name.replace('_', '-')}", f"--no-{name}"}
            assert any(word in text for word in words), name
