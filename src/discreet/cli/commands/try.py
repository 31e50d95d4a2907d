"""`discreet try`: from a file to the table builder, in a temporary workspace."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import clean_up_on_signal, messages, print_message
from discreet.cli.registry import MAKE_TABLES, Command
from discreet.cli.shared_options import (
    DelimiterOption,
    EncodingOption,
    GeographyOption,
    IncludeOption,
    TableOption,
)
from discreet.errors import BadData


def try_file(
    file: Annotated[Path, typer.Argument(help="The records: a file of any kind that `describe` reads.")],
    include: IncludeOption = None,
    geography: GeographyOption = None,
    encoding: EncodingOption = "",
    delimiter: DelimiterOption = "",
    table: TableOption = "",
    port: Annotated[int | None, typer.Option(help="The port to listen on; by default a free one.")] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open a browser.")] = False,
) -> None:
    """Look at a file in the table builder: draft, load, serve, and remove everything at Ctrl-C."""
    from discreet.cli.commands.describe import print_draft
    from discreet.model.description.sections import FileOptions
    from discreet.records.draft.describe_file import describe_file

    clean_up_on_signal()
    draft = describe_file(file, FileOptions(encoding, delimiter, table=table), include or (), geography or ())
    print_draft(draft)
    if "\n[[variable]]" not in draft.text:
        raise BadData(
            f"{file.name} has no column with 20 records a category: there is nothing to tabulate.",
            "Name a column with --include, or draft a description with `discreet describe` and edit it.",
        )
    try:
        with tempfile.TemporaryDirectory(prefix="discreet-try-") as name:
            _serve(Path(name), draft.text, file, port, browser=not no_browser)
            messages.print("The workspace was removed, and the file is as it was.")
    except KeyboardInterrupt:
        messages.print("Stopped; the workspace was removed, and the file is as it was.")


def _serve(folder: Path, description: str, file: Path, port: int | None, *, browser: bool) -> None:
    import webbrowser

    from discreet.cli.console import load_bars
    from discreet.model.description.dataset_toml import parse_names_only
    from discreet.release.dataset_registry import open_registry
    from discreet.release.load_cautions import LoadJob, load_with_cautions
    from discreet.web.run import serve
    from discreet.workspace.options import read_options

    dataset = parse_names_only(description).id
    with load_bars() as progress_for:
        load_with_cautions(LoadJob(folder, description, file, progress_for(dataset, None)))
    print_message(
        "A look for you alone: the draft above protects the tables, and nobody checked it. To publish, run "
        "`discreet describe`, check every line, and `discreet load`. Ctrl-C removes everything."
    )

    def announce(address: str) -> None:
        print_message(f"The table builder: {address}/datasets/{dataset}")
        if browser:
            webbrowser.open(f"{address}/datasets/{dataset}")

    options = read_options(folder, host="127.0.0.1", port=port or _free_port())
    serve(open_registry(folder, threads=options.threads), options, announce)


def _free_port() -> int:
    from discreet.web.run import listen

    with listen("127.0.0.1", 0) as listening:
        port: int = listening.getsockname()[1]
    return port


COMMAND = Command(try_file, MAKE_TABLES)
