"""`discreet relabel`: correct labels, descriptions and notes of what is served."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import messages
from discreet.cli.options import WorkspaceOption
from discreet.cli.registry import OPERATE, Command


def relabel(
    description: Annotated[Path, typer.Argument(help="The dataset.toml with corrected words.")],
    workspace: WorkspaceOption = None,
) -> None:
    """Correct labels, descriptions and notes without a new version; codes and all that decides a number must be equal."""
    from discreet.workspace.description_file import description_named, read_description
    from discreet.workspace.options import workspace_folder
    from discreet.workspace.wording import correct_wording

    with description_named(description):
        digest = correct_wording(workspace_folder(workspace), read_description(description))
    messages.print(f"Version {digest[:8]} is shown in the corrected words.", markup=False)


COMMAND = Command(relabel, OPERATE)
