"""Shell completion, by the protocol that the shells speak: words in, one proposal a line.

Options that several commands share.

The options of a table are declared once, and every command that asks for one has them all.
"""

from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from discreet.cli.shared_options import TableQuery, choose_picture, open_workspace, takes_table_query
from discreet.errors import BadRequest


@pytest.fixture
def complete(run_process):
    """What bash is offered for the last word of a line."""

    def offered(line, **environment):
        words = line.split(" ")
        protocol = {
            "_DISCREET_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        }
        done = run_process(**protocol, **environment)
        assert done.stderr == ""
        return done.stdout.split()

    return offered


@pytest.mark.slow
def test_commands_are_completed(complete):
    assert complete("discreet t") == ["table", "try", "test"]
    assert complete("discreet att") == ["attack"]
    assert complete("discreet attack b") == ["bob"]


def test_options_are_completed(complete):
    assert complete("discreet table --co") == ["--columns"]
    assert complete("discreet --ver") == ["--version"]


@pytest.mark.slow
def test_datasets_and_variables_of_the_workspace_are_completed(complete, folder):
    there = {"DISCREET_WORKSPACE": str(folder)}
    assert complete("discreet table to", **there) == ["town"]
    assert complete("discreet table town --rows a", **there) == ["area", "age"]
    assert complete("discreet table town --rows sex,", **there) == [
        f"sex,{name}" for name in ("region", "area", "age", "job")
    ]


def test_without_a_workspace_nothing_is_offered_and_nothing_is_said(complete, tmp_path):
    assert complete("discreet table to", DISCREET_WORKSPACE=str(tmp_path)) == []
    assert complete("discreet table town --rows a", DISCREET_WORKSPACE=str(tmp_path)) == []


def test_the_script_for_a_shell_is_shown(run_process):
    done = run_process("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.returncode == 0
    assert "_DISCREET_COMPLETE=complete_bash" in done.stdout


def test_a_picture_needs_a_file_to_be_drawn_into():
    assert choose_picture(None, None, "law") == "law"
    assert choose_picture("curve", Path("x.svg"), "law") == "curve"
    with pytest.raises(BadRequest, match="--plot"):
        choose_picture("curve", None, "law")


def test_a_workspace_is_opened_with_what_the_command_was_given(town_workspace):
    doors, options = open_workspace(town_workspace.folder, port=9, threads=None)
    assert doors.ids() == ["town"]
    assert (options.port, options.host) == (9, "127.0.0.1")
    doors.close()


OPTIONS = {"--rows", "--columns", "--layers", "--filter", "--group", "--levels"}


def test_a_command_gets_what_was_given_as_one_value():
    got = {}
    app = typer.Typer()

    @app.command()
    @takes_table_query
    def ask(dataset: str, asked: TableQuery, level: Annotated[float, typer.Option()] = 0.5) -> None:
        """Ask."""
        got.update(dataset=dataset, asked=asked, level=level)

    done = CliRunner().invoke(
        app, ["town", "--rows", "sex", "--filter", "age=1", "--filter", "job=2", "--level", "0.9"]
    )
    assert done.exit_code == 0, done.output
    assert (got["dataset"], got["level"]) == ("town", 0.9)
    assert got["asked"] == {
        "rows": ["sex"],
        "columns": None,
        "layers": None,
        "filters": ["age=1", "job=2"],
        "groups": None,
        "levels": None,
    }


@pytest.mark.parametrize("name", ["table", "interval", "compare", "assess"])
def test_every_command_that_asks_for_a_table_has_all_of_them(run_here, name):
    shown = run_here(name, "--help").stdout
    assert all(option in shown for option in OPTIONS)
