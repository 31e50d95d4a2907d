"""The `discreet` command: a list of commands, one module each, and one place where errors become exit codes."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path

import typer

from discreet import __version__
from discreet.cli import (
    account,
    assess,
    attack,
    audit,
    budget,
    demo,
    describe,
    design,
    design_options,
    hypothesis_test,
    ledger,
    load,
    margins,
    serve,
    table,
)
from discreet.cli.console import report_error
from discreet.errors import DiscreetError, NotFound
from discreet_studies.commands import bench, reproduce

app = typer.Typer(
    name="discreet",
    help="Protected frequency tables from microdata, with an exact account of what is promised.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Show the version."
    ),
) -> None:
    """Protected frequency tables from microdata, with an exact account of what is promised."""


for _command in (
    demo.demo,
    serve.serve,
    describe.describe,
    load.load,
    table.table,
    audit.audit,
    budget.budget,
    ledger.ledger,
    margins.margins,
    reproduce.reproduce,
    assess.assess,
    bench.bench,
):
    app.command()(_command)
app.command(cls=design_options.DesignCommand)(design.design)
app.add_typer(hypothesis_test.test)


app.add_typer(account.account, name="account")
app.add_typer(attack.attack, name="attack")


def run() -> None:
    """Run the command line; an expected error becomes one clear message and its exit code."""
    try:
        app()
    except DiscreetError as error:
        sys.exit(report_error(error))
    except OSError as error:
        where = f" {error.filename!r}" if error.filename else ""
        sys.exit(
            report_error(
                NotFound(
                    f"The system refused{where}: {error.strerror}.", "Check the path and its permissions."
                )
            )
        )
    except Exception as error:  # noqa: BLE001 - whatever it is, its text may hold a count: only its kind is shown
        place = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
        sys.exit(
            report_error(
                DiscreetError(f"An unexpected error: {kind}.", "Please report it with what you did.")
            )
        )
