"""`discreet describe`: draft a dataset.toml from a file of records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from typer import Argument, Option

from discreet.cli import shared_options as shared
from discreet.cli.console import emit, messages, print_message
from discreet.cli.registry import MAKE_TABLES, Command
from discreet.cli.signals import clean_up_on_signal
from discreet.errors import BadRequest
from discreet.model.description.sections import FileOptions
from discreet.model.messages.text import printable

if TYPE_CHECKING:
    from discreet.records.draft.describe_file import Draft


def describe(
    file: Path = Argument(
        help="File of records: CSV, Excel, Parquet, Arrow, SPSS, Stata, SAS, SQLite or DuckDB."
    ),
    out: Path | None = Option(None, "--out", "-o", help="Write the draft to this file."),
    include: shared.IncludeOption = None,
    geography: shared.GeographyOption = None,
    encoding: shared.EncodingOption = "",
    delimiter: shared.DelimiterOption = "",
    table: shared.TableOption = "",
) -> None:
    """Draft a dataset.toml from a file of records; check and complete it before you load."""
    from discreet.records.draft.describe_file import describe_file
    from discreet.release.load_cautions import weigh_draft

    clean_up_on_signal()
    options = FileOptions(encoding, delimiter, table=table)
    stem = None if out is None else out.name.removesuffix(".toml")
    draft = weigh_draft(describe_file(file, options, include or (), geography or (), stem), file)
    if out is not None:
        beside = {out.parent / name: text for name, text in draft.code_lists.items()}
        for path in (out, *beside):
            if path.exists():
                raise BadRequest(
                    f"The file {str(path)!r} exists already.",
                    "Choose another name; a draft never overwrites a file.",
                )
        for path, text in beside.items():
            emit(text, path)
    emit(draft.text, out)
    print_draft(draft)
    messages.print(
        "This is a draft: its categories come from the file. Check every line before `discreet load`."
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
