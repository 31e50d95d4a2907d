"""`discreet describe`: draft a dataset.toml from a file of records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.console import clean_up_on_signal, emit, messages, print_message
from discreet.cli.registry import MAKE_TABLES, Command
from discreet.cli.shared_options import (
    DelimiterOption,
    EncodingOption,
    GeographyOption,
    IncludeOption,
    TableOption,
)
from discreet.errors import BadRequest
from discreet.model.messages.text import printable

if TYPE_CHECKING:
    from discreet.records.draft.describe_file import Draft


def describe(
    file: Annotated[
        Path,
        typer.Argument(help="CSV, Excel, Parquet, Arrow, SPSS, Stata, SAS, SQLite or DuckDB."),
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write the draft to this file.")] = None,
    include: IncludeOption = None,
    geography: GeographyOption = None,
    encoding: EncodingOption = "",
    delimiter: DelimiterOption = "",
    table: TableOption = "",
) -> None:
    """Draft a dataset.toml from a file of records, for you to check and complete."""
    from discreet.model.description.sections import FileOptions
    from discreet.records.draft.describe_file import describe_file

    clean_up_on_signal()
    options = FileOptions(encoding, delimiter, table=table)
    stem = None if out is None else out.name.removesuffix(".toml")
    draft = describe_file(file, options, include or (), geography or (), stem)
    if out is not None:
        beside = {out.parent / name: text for name, text in draft.code_lists.items()}
        for path in (out, *beside):
            _refuse_there(path)
        for path, text in beside.items():
            emit(text, path)
    emit(draft.text, out)
    print_draft(draft)
    messages.print("A draft: categories were read off the file. Check every line before `discreet load`.")


def _refuse_there(path: Path) -> None:
    if path.exists():
        raise BadRequest(
            f"The file {str(path)!r} is there already.", "Choose another name: a draft overwrites nothing."
        )


def print_draft(draft: Draft) -> None:
    """What a draft assumed, and what it left out."""
    for sentence in draft.assumed:
        print_message(printable(sentence))
    if draft.left_out:
        messages.print("Left out:", style="bold")
    for name, reason in draft.left_out:
        print_message(printable(f"  {name}: {reason}"))


COMMAND = Command(describe, MAKE_TABLES)
