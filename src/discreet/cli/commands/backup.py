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


def backup(to: Path = Argument(help="New folder for the backup."), workspace: WorkspaceOption = None) -> None:
    """Back up a workspace, its secret and its ledger to a new folder; the server can keep running."""
    from discreet.workspace.operate.backup_restore import back_up

    document = back_up(workspace_folder(workspace), to)
    messages.print(
        f"Backed up: {len(document['files'])} files. The copy contains the secret and the records: protect it "
        "like the workspace.",
        markup=False,
    )
    if document["ledger"] == "elsewhere":
        messages.print(
            "The ledger is in an external database: back it up now, with that database's tools.", markup=False
        )


def restore(
    backup: Path = Argument(help="Folder written by `discreet backup`."), workspace: WorkspaceOption = None
) -> None:
    """Restore a backup, to a new folder or over a workspace; no charge in a ledger is ever lost."""
    from discreet.workspace.operate.backup_restore import restore as bring_back

    folder = workspace_folder(workspace)
    sentences = bring_back(backup, folder)
    print_message(f"Restored: {folder}")
    for sentence in sentences:
        print_message(sentence)


def move(
    to: Path = Argument(help="New folder of the workspace; it must not exist yet."),
    workspace: WorkspaceOption = None,
) -> None:
    """Move a workspace. Stop its server first, and start it with the new folder."""
    from discreet.workspace.operate.backup_restore import move as move_workspace

    move_workspace(workspace_folder(workspace), to)
    print_message(f"Moved: {to}. Use it with --workspace or DISCREET_WORKSPACE.")


def move_engine(
    dataset: DatasetArgument,
    to: str = Option(..., "--to", help="New storage engine, as in `load --engine`."),
    version: VersionOption = "",
    workspace: WorkspaceOption = None,
) -> None:
    """Move a version's records to another storage engine; its version id and all numbers stay."""
    from discreet.workspace.operate.manage_versions import move_engine as move_records

    digest = move_records(workspace_folder(workspace), dataset, to, version)
    messages.print(f"{dataset}: version {digest[:8]} is now stored in {to}.", markup=False)


COMMANDS = {
    "backup": Command(backup, OPERATE),
    "restore": Command(restore, OPERATE),
    "move": Command(move, OPERATE),
    "move-engine": Command(move_engine, OPERATE),
}
