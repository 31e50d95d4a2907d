"""`discreet datasets`: list the datasets of a workspace."""

from __future__ import annotations

from rich.table import Column, Table
from rich.text import Text

from discreet.cli.console import emit_json, output
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import JsonOption, WorkspaceOption


def datasets(
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the datasets of a workspace: version, when it was loaded, method, size on disk."""
    from discreet.workspace.operate.manage_versions import list_datasets
    from discreet.workspace.options import workspace_folder

    folder = workspace_folder(workspace)
    found = list_datasets(folder)
    if as_json:
        emit_json({"workspace": str(folder), "datasets": [each.as_json() for each in found]})
        return
    table = Table(Column("dataset", no_wrap=True), "label", "version", Column("loaded", no_wrap=True))
    for name in ("method", "kept", "size"):
        table.add_column(name, no_wrap=True)
    for each in found:
        state = each.version or ("not served" if each.kept else "removed")
        cells = (
            each.id,
            each.label,
            state,
            each.loaded[:10],
            each.method,
            str(each.kept),
            f"{each.size / 2**20:,.1f} MB",
        )
        table.add_row(*map(Text, cells))
    output.print(table)
    for each in found:
        if each.trouble:
            output.print(Text(f"{each.id} cannot be served: {each.trouble}"))


COMMAND = Command(datasets, OPERATE)
