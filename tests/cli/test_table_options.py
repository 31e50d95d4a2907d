"""The options of a table are declared once, and every command that asks for one has them all."""

from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from discreet.cli.table_options import Asked, asks_table

OPTIONS = {"--rows", "--columns", "--layers", "--filter", "--group", "--levels"}


def test_a_command_gets_what_was_given_as_one_value():
    got = {}
    app = typer.Typer()

    @app.command()
    @asks_table
    def ask(dataset: str, asked: Asked, level: Annotated[float, typer.Option()] = 0.5) -> None:
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
