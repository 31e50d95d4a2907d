"""`discreet doctor`: examine a workspace.

`discreet verify`: compare all stored records with the keyed hashes of their loads.
"""

from contextlib import closing
from dataclasses import asdict
from typing import Any

import typer
from typer import Argument, Option

from discreet.cli import shared_options as shared
from discreet.cli.console import emit_json, print_text
from discreet.cli.registry import OPERATE, Command
from discreet.errors import EXIT_OURS, DiscreetError, UnknownDataset


def doctor(
    workspace: shared.WorkspaceOption = None,
    quick: bool = Option(False, "--quick", help="Skip reading all stored records."),
    as_json: shared.JsonOption = False,
) -> None:
    """Check a workspace (secret, permissions, ledger, versions, checksums, history, disk) and say how to fix each fault."""
    from discreet.workspace.operate.diagnosis import examine

    folder = shared.workspace_folder(workspace)
    found = examine(folder, records=not quick)
    if as_json:
        emit_json({"workspace": str(folder), "findings": [asdict(each) for each in found]})
    else:
        for each in found:
            text = f"{each.state:8}{each.what}: {each.said} {each.advice}".rstrip()
            print_text(text, {"fault": "bold red", "caution": "yellow"}.get(each.state, ""))
    if any(each.state == "fault" for each in found):
        raise typer.Exit(EXIT_OURS)


def verify(
    dataset: str | None = Argument(
        None, help="The dataset's id; by default all datasets.", autocompletion=shared.complete_dataset
    ),
    workspace: shared.WorkspaceOption = None,
    as_json: shared.OutcomeOption = False,
) -> None:
    """Read all stored records and compare them with their checksums; a version that fails is not served."""
    found: list[dict[str, Any]] = []
    with closing(shared.open_workspace(workspace)[0]) as registry:
        for name in [dataset] if dataset else registry.ids():
            try:
                found.append({"dataset": name, "sound": True, "version": registry.verify(name)})
            except UnknownDataset:
                raise
            except DiscreetError as error:
                reason = {"reason": error.message, "advice": error.advice}
                found.append({"dataset": name, "sound": False, **reason})
    if as_json:
        emit_json({"workspace": str(registry.folder), "datasets": found})
    for each in () if as_json else found:
        sound = "version {version:.8} is intact" if each["sound"] else "not sound. {reason} {advice}"
        print_text(f"{each['dataset']}: {sound.format_map(each)}".rstrip())
    if not all(each["sound"] for each in found):
        raise typer.Exit(EXIT_OURS)


COMMANDS = {"doctor": Command(doctor, OPERATE), "verify": Command(verify, OPERATE)}
