"""`discreet move`: move a workspace to another place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import print_message
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import WorkspaceOption


def move(
    to: Annotated[Path, typer.Argument(help="Where the workspace shall stand; nothing may stand there.")],
    workspace: WorkspaceOption = None,
) -> None:
    """Move a workspace; stop its server before, and name the new place to it."""
    from discreet.workspace.operate.backup_restore import move as move_workspace
    from discreet.workspace.options import workspace_folder

    move_workspace(workspace_folder(workspace), to)
    print_message(f"Moved: {to}. Name it with --workspace or DISCREET_WORKSPACE.")


COMMAND = Command(move, OPERATE)
