"""`discreet use`: serve another stored version."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.console import messages
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import DatasetArgument, WorkspaceOption


def use(
    dataset: DatasetArgument,
    version: Annotated[str, typer.Argument(help="8 letters or more of a version's digest, or its name.")],
    workspace: WorkspaceOption = None,
) -> None:
    """Serve an earlier version of a dataset again (roll back), or a later one; nothing is charged or changed."""
    from discreet.workspace.operate.manage_versions import roll_back
    from discreet.workspace.options import workspace_folder

    found = roll_back(workspace_folder(workspace), dataset, version)
    messages.print(f"{dataset}: version {found.version} ({found.digest[:8]}) is served now.", markup=False)


COMMAND = Command(use, OPERATE)
