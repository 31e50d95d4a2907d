"""`discreet backup`: a copy of a workspace, made while it may be served."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import messages
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import WorkspaceOption


def backup(
    to: Annotated[Path, typer.Argument(help="A new folder for the copy.")],
    workspace: WorkspaceOption = None,
) -> None:
    """Copy a workspace with its secret and its ledger into a new folder; it may be served meanwhile."""
    from discreet.workspace.operate.backup_restore import back_up
    from discreet.workspace.options import workspace_folder

    document = back_up(workspace_folder(workspace), to)
    messages.print(
        f"Backed up: {len(document['files'])} files. The copy holds the secret and the records: keep it as safe as the "
        "workspace.",
        markup=False,
    )
    if document["ledger"] == "elsewhere":
        messages.print(
            "The ledger is in a database elsewhere: back it up after this, with its own tools.", markup=False
        )


COMMAND = Command(backup, OPERATE)
