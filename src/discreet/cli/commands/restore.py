"""`discreet restore`: restore a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import print_message
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import WorkspaceOption


def restore(
    backup: Annotated[Path, typer.Argument(help="A folder that `discreet backup` made.")],
    workspace: WorkspaceOption = None,
) -> None:
    """Bring a backup back, into an empty place or over a workspace; a ledger only moves forward."""
    from discreet.workspace.operate.backup_restore import restore as bring_back
    from discreet.workspace.options import workspace_folder

    folder = workspace_folder(workspace)
    sentences = bring_back(backup, folder)
    print_message(f"Restored: {folder}")
    for sentence in sentences:
        print_message(sentence)


COMMAND = Command(restore, OPERATE)
