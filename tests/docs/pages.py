"""Pages of the documentation: their text, their examples, and how to run them."""

import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

from discreet.cli.main import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def text_of(page):
    """The text of a page below docs/, or of one at the root of the repository."""
    folder = ROOT if (ROOT / page).is_file() else DOCS
    return (folder / page).read_text("utf-8")


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", text_of(page), re.DOTALL)


def run_python(page, code, names=None):
    """Run an example; the names that it makes."""
    names = {"__name__": "example"} if names is None else names
    exec(compile(code, page, "exec"), names)  # noqa: S102 - our own pages
    return names


def command_lines(page):
    return [line for block in blocks(page, "sh") for line in block.strip().splitlines()]


def run_command(line):
    """Run a line that begins with `discreet` in this process; what it printed."""
    words = shlex.split(line, comments=True)
    assert words[0] == "discreet"
    result = CliRunner().invoke(app, words[1:])
    assert result.exception is None, (line, result.exception)
    return result.stdout
