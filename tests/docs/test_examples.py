"""The examples of README and first steps run: Python blocks as they stand, commands through the same code."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.main import app
from discreet.workspace.demo import (
    census_batches,
    census_description,
    dp_census_batches,
    dp_census_description,
    spudlandia_batches,
    spudlandia_description,
)
from discreet.workspace.load import load_dataset

ROOT = Path(__file__).parents[2]
WITH_PYTHON = ["README.md", "docs/start/first-table.md", "docs/reference/question-language.md"]
PAGES = [*WITH_PYTHON, "docs/reference/cli.md", "docs/book/02-noise-tables.md"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A small demo workspace."""
    folder = tmp_path_factory.mktemp("demo")
    load_dataset(folder, census_description(20_000), census_batches(20_000))
    load_dataset(folder, dp_census_description(20_000), dp_census_batches(20_000))
    load_dataset(folder, spudlandia_description(), spudlandia_batches())
    return folder


def blocks(path, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / path).read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("path", WITH_PYTHON)
def test_the_python_of_a_page_runs(path, demo, monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_WORKSPACE", str(demo))
    monkeypatch.chdir(tmp_path)
    found = blocks(path, "python")
    assert found
    for code in found:
        exec(compile(code, path, "exec"), {"__name__": "example"})  # noqa: S102 - our own pages


def command_lines(path):
    """The commands of a page that need nothing but the demo, in order."""
    for block in blocks(path, "sh"):
        for line in block.strip().splitlines():
            words = shlex.split(line, comments=True)
            if (
                words
                and words[0].split("/")[-1] == "discreet"
                and words[1] not in {"describe", "load", "serve"}
                and "my-tables" not in words  # own data: test_readme.py runs those
            ):
                yield words[1:]


@pytest.mark.parametrize("path", [*PAGES[:2], pytest.param(PAGES[2], marks=pytest.mark.slow)])
def test_the_commands_of_a_page_run(path, demo, monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_WORKSPACE", str(demo))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "TABLE.csv").write_text("40,52\n61,30\n")
    CliRunner().invoke(app, ["design", "laplace", "--epsilon", "1", "--m", "7", "--out", "NOISE.json"])
    lines = list(command_lines(path))
    assert lines
    for words in lines:
        result = CliRunner().invoke(app, words)
        assert result.exception is None, (words, result.exception)
        assert result.exit_code == 0
