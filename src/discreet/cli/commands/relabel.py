"""`discreet relabel`: correct labels, descriptions and notes of the current version."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import messages
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import WorkspaceOption


def relabel(
    description: Annotated[Path, typer.Argument(help="The dataset.toml with corrected words.")],
    workspace: WorkspaceOption = None,
) -> None:
    """Correct labels, descriptions and notes without a new version; codes and all that decides a number must be equal."""
    from discreet.workspace.description_file import name_description_in_errors, read_description
    from discreet.workspace.options import workspace_folder
    from discreet.workspace.versions.label_corrections import relabel_dataset

    with name_description_in_errors(description):
        digest = relabel_dataset(workspace_folder(workspace), read_description(description))
    messages.print(f"Version {digest[:8]} is shown in the corrected words.", markup=False)


COMMAND = Command(relabel, OPERATE)
