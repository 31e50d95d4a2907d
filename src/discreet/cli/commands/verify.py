"""`discreet verify`: compare all stored records with the keyed hashes of their loads."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import emit_json, print_text
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import OutcomeOption, WorkspaceOption, complete_dataset, open_workspace
from discreet.errors import EXIT_OURS, DiscreetError, UnknownDataset

if TYPE_CHECKING:
    from discreet.release.dataset_registry import DatasetRegistry


def verify(
    dataset: Annotated[
        str | None,
        typer.Argument(help="A dataset; all of the workspace by default.", autocompletion=complete_dataset),
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: OutcomeOption = False,
) -> None:
    """Read all stored records and compare them with the seals of their loads; what fails is not served."""
    with closing(open_workspace(workspace)[0]) as doors:
        found = [_verify_dataset(doors, name) for name in ([dataset] if dataset else doors.ids())]
    if as_json:
        emit_json({"workspace": str(doors.folder), "datasets": found})
    else:
        for each in found:
            print_text(_sentence(each))
    if not all(each["sound"] for each in found):
        raise typer.Exit(EXIT_OURS)


COMMAND = Command(verify, OPERATE)


def _verify_dataset(doors: DatasetRegistry, name: str) -> dict[str, Any]:
    try:
        return {"dataset": name, "sound": True, "version": doors.verify(name)}
    except UnknownDataset:
        raise
    except DiscreetError as error:
        return {"dataset": name, "sound": False, "reason": error.message, "advice": error.advice}


def _sentence(found: dict[str, Any]) -> str:
    if found["sound"]:
        return f"{found['dataset']}: version {found['version'][:8]} is as it was loaded"
    return f"{found['dataset']}: not sound. {found['reason']} {found['advice']}".rstrip()
