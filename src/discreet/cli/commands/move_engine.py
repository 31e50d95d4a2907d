"""`discreet move-engine`: move a version to another storage engine; all numbers stay."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.console import messages
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import DatasetArgument, VersionOption, WorkspaceOption


def move_engine(
    dataset: DatasetArgument,
    to: Annotated[
        str, typer.Option("--to", help="The engine that shall keep the records, as in `load --engine`.")
    ],
    version: VersionOption = "",
    workspace: WorkspaceOption = None,
) -> None:
    """Let another engine keep the records of a version; its digest and all numbers stay."""
    from discreet.workspace.operate.manage_versions import move_engine as move_records
    from discreet.workspace.options import workspace_folder

    digest = move_records(workspace_folder(workspace), dataset, to, version)
    messages.print(f"{dataset}: version {digest[:8]} is kept by {to} now.", markup=False)


COMMAND = Command(move_engine, OPERATE)
