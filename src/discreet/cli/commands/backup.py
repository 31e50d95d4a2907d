"""`discreet backup`: a copy of a workspace, made while it may be served.

`discreet restore`: restore a backup.
`discreet move`: move a workspace to another place.
`discreet move-engine`: move a version to another storage engine; all numbers stay.
"""

from pathlib import Path

from typer import Argument, Option

from discreet.cli.console import messages, print_message
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import DatasetArgument, VersionOption, WorkspaceOption, workspace_folder


def backup(to: Path = Argument(help="A new folder for the copy."), workspace: WorkspaceOption = None) -> None:
    """Copy a workspace with its secret and its ledger into a new folder; it may be served meanwhile."""
    from discreet.workspace.operate.backup_restore import back_up

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


def restore(
    backup: Path = Argument(help="A folder that `discreet backup` made."), workspace: WorkspaceOption = None
) -> None:
    """Bring a backup back, into an empty place or over a workspace; a ledger only moves forward."""
    from discreet.workspace.operate.backup_restore import restore as bring_back

    folder = workspace_folder(workspace)
    sentences = bring_back(backup, folder)
    print_message(f"Restored: {folder}")
    for sentence in sentences:
        print_message(sentence)


def move(
    to: Path = Argument(help="Where the workspace shall stand; nothing may stand there."),
    workspace: WorkspaceOption = None,
) -> None:
    """Move a workspace; stop its server before, and name the new place to it."""
    from discreet.workspace.operate.backup_restore import move as move_workspace

    move_workspace(workspace_folder(workspace), to)
    print_message(f"Moved: {to}. Name it with --workspace or DISCREET_WORKSPACE.")


def move_engine(
    dataset: DatasetArgument,
    to: str = Option(..., "--to", help="The engine that shall keep the records, as in `load --engine`."),
    version: VersionOption = "",
    workspace: WorkspaceOption = None,
) -> None:
    """Let another engine keep the records of a version; its digest and all numbers stay."""
    from discreet.workspace.operate.manage_versions import move_engine as move_records

    digest = move_records(workspace_folder(workspace), dataset, to, version)
    messages.print(f"{dataset}: version {digest[:8]} is kept by {to} now.", markup=False)


COMMANDS = {
    "backup": Command(backup, OPERATE),
    "restore": Command(restore, OPERATE),
    "move": Command(move, OPERATE),
    "move-engine": Command(move_engine, OPERATE),
}
