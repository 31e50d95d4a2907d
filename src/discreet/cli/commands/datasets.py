"""`discreet datasets`: what a workspace holds."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from discreet.cli.console import emit_json, output
from discreet.cli.options import JsonOption, WorkspaceOption
from discreet.cli.registry import OPERATE, Command


def datasets(
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the datasets of a workspace: version, when it was loaded, method, size on disk."""
    from discreet.workspace.options import workspace_folder
    from discreet.workspace.upkeep.datasets import list_datasets

    folder = workspace_folder(workspace)
    found = list_datasets(folder)
    if as_json:
        emit_json({"workspace": str(folder), "datasets": [each.as_json() for each in found]})
        return
    table = Table("dataset", "label", "version", "loaded", "method", "versions kept", "size")
    for each in found:
        told = each.version or "not served"
        cells = (
            each.id,
            each.label,
            told,
            each.loaded[:10],
            each.method,
            str(each.kept),
            f"{each.size / 2**20:,.1f} MB",
        )
        table.add_row(*map(Text, cells))
    output.print(table)


COMMAND = Command(datasets, OPERATE)
