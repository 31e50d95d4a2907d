"""`discreet doctor`: examine a workspace."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from discreet.cli.console import emit_json, print_text
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import JsonOption, WorkspaceOption
from discreet.errors import EXIT_OURS


def doctor(
    workspace: WorkspaceOption = None,
    quick: Annotated[bool, typer.Option("--quick", help="Do not read all stored records.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Examine a workspace: secret, permissions, ledger, versions, seals, history, disk; what to do about each fault."""
    from discreet.workspace.operate.diagnosis import examine
    from discreet.workspace.options import workspace_folder

    folder = workspace_folder(workspace)
    found = examine(folder, records=not quick)
    if as_json:
        emit_json({"workspace": str(folder), "findings": [asdict(each) for each in found]})
    else:
        for each in found:
            text = f"{each.state:8}{each.what}: {each.said} {each.advice}".rstrip()
            print_text(text, {"fault": "bold red", "caution": "yellow"}.get(each.state, ""))
    if any(each.state == "fault" for each in found):
        raise typer.Exit(EXIT_OURS)


COMMAND = Command(doctor, OPERATE)
