"""`discreet secret`: the secret of a workspace."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.console import print_message
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import WorkspaceOption
from discreet.errors import BadRequest

MEANS = (
    "A new secret changes every number: each dataset must be loaded again from its file. Under the cell key method "
    "readers who kept old tables have two numbers of the same people, whose noise can be averaged. Under dp each load "
    "needs a new `version` and is charged again. Rotate when the secret may be known to others."
)
app = typer.Typer(help="Rotate the secret of a workspace.", no_args_is_help=True)


@app.callback()
def secret() -> None:
    """Rotate the secret of a workspace."""


@app.command()
def rotate(
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    workspace: WorkspaceOption = None,
) -> None:
    """Put the secret and all that was loaded with it aside, and make a new one; nothing is answered until new loads."""
    from discreet.workspace.operate.rotate import rotate as rotate_secret
    from discreet.workspace.options import workspace_folder

    print_message(MEANS)
    if not yes and not typer.confirm("Rotate the secret?", err=True):
        raise BadRequest("The secret stays.", "Answer yes, or add --yes.")
    done = rotate_secret(workspace_folder(workspace))
    again = ", ".join(done.datasets) or "none"
    print_message(
        f"Rotated. Load again: {again}. The old secret and versions stand in {done.retired!r} of the workspace: remove "
        "them when nothing of them is needed."
    )


COMMAND = Command(app, OPERATE)
