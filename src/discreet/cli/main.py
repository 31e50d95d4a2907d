"""The `discreet` command: dispatch to the commands, and handle errors as exit codes."""

import gc
import os
import sys
from pathlib import Path

import typer

from discreet import __version__
from discreet.cli.registry import CommandGroup
from discreet.cli.signals import guarded
from discreet.errors import DiscreetError, NotFound, WorkspaceUnusable

#: How often Python looks for garbage: there is none while modules load, and looking takes 7 % of a small table.
RARELY = (100_000, 20, 20)

#: The exit code after Ctrl-C.
INTERRUPTED = 130

app = typer.Typer(
    name="discreet",
    cls=CommandGroup,
    no_args_is_help=True,
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


def run() -> None:
    """Run the command line; an expected error becomes one clear message and its exit code."""
    gc.set_threshold(*RARELY)
    # Arrow's own pool keeps the memory of blocks that have left.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    with guarded() as guard:
        try:
            app()
        except Exception as error:  # noqa: BLE001 - whatever it is, it ends as one of ours
            if guard.received:  # DuckDB and Arrow raise errors of their own at Ctrl-C
                sys.exit(INTERRUPTED)
            from discreet.cli.console import report_error

            sys.exit(report_error(_expected_error(error)))


def _expected_error(error: Exception) -> DiscreetError:
    if isinstance(error, DiscreetError):
        return error
    if isinstance(error, OSError):
        return _system_error(error)
    # The text may hold a count: only the kind of the error is shown.
    import traceback

    place = traceback.extract_tb(error.__traceback__)[-1]
    kind = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}"
    return DiscreetError(f"Unexpected error: {kind}.", "Please report it, with the command you ran.")


def _system_error(error: OSError) -> DiscreetError:
    """A full disk, whatever the command was doing; else what the system said of a path."""
    from discreet.workspace.sealed import is_full_disk

    if is_full_disk(error):
        return WorkspaceUnusable(
            "The disk is full; the command was stopped.",
            "Free some space and run the command again.",
        )
    where = f" {error.filename!r}" if error.filename else ""
    why = error.strerror or type(error).__name__
    return NotFound(f"The operating system refused{where}: {why}.", "Check the path and its permissions.")
