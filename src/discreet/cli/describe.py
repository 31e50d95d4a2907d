"""`discreet describe`: draft a dataset.toml from a file of records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import emit, messages


def describe(
    file: Annotated[Path, typer.Argument(help="A CSV, Parquet or Arrow file.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the draft to this file.")] = None,
) -> None:
    """Draft a dataset.toml from a CSV, Parquet or Arrow file, for you to check and complete."""
    from discreet.microdata.describe import describe_file

    emit(describe_file(file), out)
    messages.print("A draft: categories were read off the file. Check every line before `discreet load`.")
