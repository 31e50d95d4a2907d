"""`discreet check`: validate a file against its description, without a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import clean_up_on_signal
from discreet.cli.registry import MAKE_TABLES, Command
from discreet.cli.shared_options import OutcomeOption


def check(
    file: Annotated[Path, typer.Argument(help="The records: a file of any kind that `describe` reads.")],
    description: Annotated[Path, typer.Argument(help="The dataset.toml.")],
    workspace: Annotated[
        Path | None,
        typer.Option(
            "--workspace",
            "-w",
            help="Compare with the version that this workspace serves; by default with none.",
        ),
    ] = None,
    as_json: OutcomeOption = False,
) -> None:
    """Check a file of records against its dataset.toml: all problems at once; nothing is written."""
    import tempfile

    from discreet.cli.commands.load import show_dry_run
    from discreet.cli.console import load_bars, report_problems
    from discreet.release.load_cautions import LoadJob, dry_load_document
    from discreet.workspace.description_file import name_description_in_errors, read_description

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


COMMAND = Command(check, MAKE_TABLES)
