"""`discreet versions`: the versions of a dataset, and which can be queried."""

from __future__ import annotations

from dataclasses import asdict

from rich.table import Table
from rich.text import Text

from discreet.cli.console import emit_json, output
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import DatasetArgument, JsonOption, WorkspaceOption


def versions(
    dataset: DatasetArgument,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the versions of a dataset: which is served, which are answered beside it, why others are not, and their cubes."""
    from discreet.workspace.folder_layout import dataset_folder, list_versions
    from discreet.workspace.operate.make_cubes import cube_summary
    from discreet.workspace.options import workspace_folder

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


COMMAND = Command(versions, OPERATE)
