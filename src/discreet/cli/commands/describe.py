"""`discreet describe`: draft a dataset.toml from a file of records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import emit, messages
from discreet.cli.registry import MAKE_TABLES, Command
from discreet.errors import BadRequest


def describe(
    file: Annotated[Path, typer.Argument(help="A CSV, Parquet or Arrow file.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the draft to this file.")] = None,
) -> None:
    """Draft a dataset.toml from a CSV, Parquet or Arrow file, for you to check and complete."""
    from discreet.records.draft import describe_file

    if out is not None and out.exists():
        raise BadRequest(
            f"The file {str(out)!r} is there already.", "Choose another name: a draft overwrites nothing."
        )
    emit(describe_file(file), out)
    messages.print("A draft: categories were read off the file. Check every line before `discreet load`.")


COMMAND = Command(describe, MAKE_TABLES)
