"""`discreet describe`: draft a dataset.toml from a file of records.

`discreet check`: validate a file against its description, without a workspace.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from discreet.cli import shared_options as shared
from discreet.cli.console import clean_up_on_signal, emit, load_bars, messages, print_message, report_problems
from discreet.cli.registry import MAKE_TABLES, Command
from discreet.errors import BadRequest
from discreet.model.messages.text import printable

if TYPE_CHECKING:
    from discreet.records.draft.describe_file import Draft


def describe(
    file: Path = Argument(help="CSV, Excel, Parquet, Arrow, SPSS, Stata, SAS, SQLite or DuckDB."),
    out: Path | None = Option(None, "--out", "-o", help="Write the draft to this file."),
    include: shared.IncludeOption = None,
    geography: shared.GeographyOption = None,
    encoding: shared.EncodingOption = "",
    delimiter: shared.DelimiterOption = "",
    table: shared.TableOption = "",
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
            if path.exists():
                raise BadRequest(
                    f"The file {str(path)!r} is there already.",
                    "Choose another name: a draft overwrites nothing.",
                )
        for path, text in beside.items():
            emit(text, path)
    emit(draft.text, out)
    print_draft(draft)
    messages.print("A draft: categories were read off the file. Check every line before `discreet load`.")


def print_draft(draft: Draft) -> None:
    """What a draft assumed, and what it left out."""
    for sentence in draft.assumed:
        print_message(printable(sentence))
    if draft.left_out:
        messages.print("Left out:", style="bold")
    for name, reason in draft.left_out:
        print_message(printable(f"  {name}: {reason}"))


def check(
    file: Annotated[Path, Argument(help="The records: a file of any kind that `describe` reads.")],
    description: Path = Argument(help="The dataset.toml."),
    workspace: Path | None = Option(
        None,
        "--workspace",
        "-w",
        help="Compare with the version that this workspace serves; by default with none.",
    ),
    as_json: shared.OutcomeOption = False,
) -> None:
    """Check a file of records against its dataset.toml: all problems at once; nothing is written."""
    from discreet.cli.commands.load import show_dry_run
    from discreet.release.load_cautions import LoadJob, dry_load_document
    from discreet.workspace.folder_layout import name_description_in_errors, read_description

    clean_up_on_signal()
    text = read_description(description)
    with tempfile.TemporaryDirectory(prefix="discreet-check-") as nowhere:
        folder = workspace or Path(nowhere) / "workspace"
        with (
            report_problems(as_json=as_json),
            name_description_in_errors(description),
            load_bars() as progress_for,
        ):
            job = LoadJob(folder, text, file, progress_for(file.name, None), description.parent)
            found = dry_load_document(job)
    show_dry_run(found, as_json=as_json)


COMMANDS = {"describe": Command(describe, MAKE_TABLES), "check": Command(check, MAKE_TABLES)}
