"""`discreet versions`: the versions of a dataset, and which can be queried.

`discreet use`: serve another stored version.
`discreet remove`: remove the records of a version, or of a whole dataset.
`discreet relabel`: correct labels, descriptions and notes of the current version.
"""

from dataclasses import asdict
from pathlib import Path

import typer
from rich.table import Table
from rich.text import Text
from typer import Argument, Option

from discreet.cli.console import emit_json, messages, output
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import DatasetArgument, JsonOption, WorkspaceOption, workspace_folder
from discreet.errors import BadRequest


def versions(
    dataset: DatasetArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False
) -> None:
    """List the versions of a dataset: the served one, those that are still answered, why others are not, and their cubes."""
    from discreet.workspace.folder_layout import dataset_folder, list_versions
    from discreet.workspace.operate.make_cubes import cube_summary

    home = dataset_folder(workspace_folder(workspace), dataset)
    found = list_versions(home)
    cubes = {each.digest: cube_summary(home / each.digest) for each in found}
    if as_json:
        listed = [{**asdict(each), "cubes": cubes[each.digest]} for each in found]
        emit_json({"dataset": dataset, "versions": listed})
        return
    table = Table("digest", "version", "loaded", "state")
    for each in found:
        state = "served" if each.current else each.closed or "answered by `version=`"
        table.add_row(*map(Text, (each.digest[:8], each.version, each.loaded, state)))
    output.print(table)
    for digest, sizes in cubes.items():
        if sizes:
            output.print(Text(f"Cubes of {digest[:8]}: {sizes}."))


def use(
    dataset: DatasetArgument,
    version: str = Argument(help="8 letters or more of a version's digest, or its name."),
    workspace: WorkspaceOption = None,
) -> None:
    """Serve an earlier version of a dataset again (roll back), or a later one; nothing is charged or changed."""
    from discreet.workspace.operate.manage_versions import roll_back

    found = roll_back(workspace_folder(workspace), dataset, version)
    messages.print(f"{dataset}: version {found.version} ({found.digest[:8]}) is served now.", markup=False)


REMAINS = (
    "What remains: the description and the keys' number of each removed version, the history, and all charges in the "
    "ledger. What was published cannot be taken back. Backups, and a disk that keeps old blocks, still hold the records."
)


def remove(
    dataset: DatasetArgument,
    version: str = Option("", "--version", help="This version only; else the whole dataset."),
    yes: bool = Option(False, "--yes", help="Do not ask."),
    workspace: WorkspaceOption = None,
) -> None:
    """Remove a version, or a whole dataset: the records are gone, the ledger is kept."""
    from discreet.workspace.operate.manage_versions import remove_dataset, remove_version

    what = f"version {version} of {dataset}" if version else f"all versions of {dataset}"
    if not yes and not typer.confirm(f"Remove {what}, for good?", err=True):
        raise BadRequest("Nothing was removed.", "Answer yes, or add --yes.")
    folder = workspace_folder(workspace)
    gone = [remove_version(folder, dataset, version)] if version else remove_dataset(folder, dataset)
    messages.print(
        f"Removed: {', '.join(digest[:8] for digest in gone) or 'nothing was left'}. {REMAINS}", markup=False
    )


def relabel(
    description: Path = Argument(help="The dataset.toml with corrected words."),
    workspace: WorkspaceOption = None,
) -> None:
    """Correct labels, descriptions and notes without a new version; codes and all that decides a number must be equal."""
    from discreet.workspace.folder_layout import name_description_in_errors, read_description
    from discreet.workspace.versions.label_corrections import relabel_dataset

    with name_description_in_errors(description):
        digest = relabel_dataset(workspace_folder(workspace), read_description(description))
    messages.print(f"Version {digest[:8]} is shown in the corrected words.", markup=False)


COMMANDS = {
    "versions": Command(versions, OPERATE),
    "use": Command(use, OPERATE),
    "remove": Command(remove, OPERATE),
    "relabel": Command(relabel, OPERATE),
}
