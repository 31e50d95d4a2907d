"""`discreet load`: check records against their description and store them as a new version."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from discreet.cli.console import emit_json, messages
from discreet.cli.options import WorkspaceOption
from discreet.cli.registry import MAKE_TABLES, Command

MOST_CAUTIONS = 20


def load(
    description: Annotated[Path, typer.Argument(help="The dataset.toml.")],
    file: Annotated[Path, typer.Argument(help="The records: a CSV, Parquet or Arrow file.")],
    engine: Annotated[
        str | None,
        typer.Option(
            help="The engine that keeps the records; by default the one that the description or the workspace names.",
        ),
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Check a file of records against its dataset.toml and load it; bad input leaves nothing behind."""
    from discreet.answer.load import load_dataset
    from discreet.cli.progress import load_bars
    from discreet.model.dataset_toml import parse_dataset
    from discreet.workspace.description_file import description_named, read_description
    from discreet.workspace.lineage import lineage_defaults
    from discreet.workspace.options import default_folder, workspace_folder

    text = read_description(description)
    folder = workspace_folder(workspace)
    with description_named(description):
        dataset = parse_dataset(text, lineage_defaults(folder, text))
    if folder == default_folder():
        messages.print("No --workspace was given: loading into the demo workspace.", style="bold")
    cautions: list[str] = []
    with description_named(description), load_bars() as progress_for:
        digest = load_dataset(
            folder, text, file, progress_for(dataset.id, None), description.parent, cautions.append, engine
        )
    _tell(cautions)
    if as_json:
        emit_json({"dataset": dataset.id, "digest": digest, "workspace": str(folder)})
    else:
        messages.print(f"Loaded {dataset.id}, version {digest[:8]}, into {folder}", soft_wrap=True)
        if dataset.protection.is_dp:
            _tell_left(folder, dataset.id)


COMMAND = Command(load, MAKE_TABLES)


def _tell_left(folder: Path, dataset: str) -> None:
    """What the budget has left now that the version is charged to it."""
    from discreet.answer.door import open_doors

    doors = open_doors(folder, threads=1)
    try:
        messages.print(Text(doors.door(dataset).budget_left() or ""), soft_wrap=True)
    finally:
        doors.close()


def _tell(cautions: list[str]) -> None:
    """Declared groups that differ by a few people, for the custodian."""
    if cautions:
        messages.print(f"{len(cautions)} cautions, for your eyes only:", style="bold")
    for caution in cautions[:MOST_CAUTIONS]:
        messages.print(Text(f"  {caution}"), soft_wrap=True)
    if len(cautions) > MOST_CAUTIONS:
        messages.print(f"  and {len(cautions) - MOST_CAUTIONS} more")
