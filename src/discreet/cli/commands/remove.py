"""`discreet remove`: remove the records of a version, or of a whole dataset."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.console import messages
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import DatasetArgument, WorkspaceOption
from discreet.errors import BadRequest

REMAINS = (
    "What remains: the description and the keys' number of each removed version, the history, and all charges in the "
    "ledger. What was published cannot be taken back. Backups, and a disk that keeps old blocks, still hold the records."
)


def remove(
    dataset: DatasetArgument,
    version: Annotated[
        str, typer.Option("--version", help="This version only; else the whole dataset.")
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Remove a version, or a whole dataset: the records are gone, the ledger is kept."""
    from discreet.workspace.operate.manage_versions import remove_dataset, remove_version
    from discreet.workspace.options import workspace_folder

    what = f"version {version} of {dataset}" if version else f"all versions of {dataset}"
    if not yes and not typer.confirm(f"Remove {what}, for good?", err=True):
        raise BadRequest("Nothing was removed.", "Answer yes, or add --yes.")
    folder = workspace_folder(workspace)
    gone = [remove_version(folder, dataset, version)] if version else remove_dataset(folder, dataset)
    messages.print(
        f"Removed: {', '.join(digest[:8] for digest in gone) or 'nothing was left'}. {REMAINS}", markup=False
    )


COMMAND = Command(remove, OPERATE)
