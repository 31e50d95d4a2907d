"""`discreet public-key`: the public key for signatures of a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import emit, print_message
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import WorkspaceOption


def public_key(
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write it to a file.")] = None,
    workspace: WorkspaceOption = None,
) -> None:
    """The public key of a workspace, as PEM: with it anybody can check what the workspace signed."""
    from discreet.records.signing import signing_key
    from discreet.workspace.folder_layout import refuse_no_workspace
    from discreet.workspace.options import workspace_folder

    folder = workspace_folder(workspace)
    refuse_no_workspace(folder)
    public = signing_key(folder).public
    emit(public.text, out)
    print_message(f"SHA-256 of the key: {public.fingerprint}")


COMMAND = Command(public_key, OPERATE)
