"""What the shell may offer when somebody presses Tab: datasets of the workspace, and variables of a dataset.

Only names of folders and the stored descriptions are read, which are public; no record and no library.
"""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import typer

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from pathlib import Path


def complete_dataset(context: typer.Context, incomplete: str) -> list[str]:
    """The ids of the workspace's datasets."""
    return sorted(
        path.parent.name for path in _versions(context, "*") if path.parent.name.startswith(incomplete)
    )


def complete_variable(context: typer.Context, incomplete: str) -> list[str]:
    """The variables of the dataset on the line; of a list with commas the last one is completed.

    While an option lacks its value (`--rows` and a space) Typer has not read the dataset: then those of all are offered.
    """
    before, comma, last = incomplete.rpartition(",")
    dataset = context.params.get("dataset") or "*"
    names = dict.fromkeys(name for path in _versions(context, dataset) for name in _variables(path))
    return [
        f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in before.split(",")
    ]


def _versions(context: typer.Context, dataset: str) -> list[Path]:
    """The pointers to the versions that are served; none where there is no workspace."""
    from discreet.workspace.options import workspace_folder

    try:
        folder = workspace_folder(context.params.get("workspace"))
    except DiscreetError:
        return []
    return list((folder / "datasets").glob(f"{dataset}/current"))


def _variables(pointer: Path) -> list[str]:
    try:
        description = pointer.parent / pointer.read_text("ascii").strip() / "dataset.toml"
        return [variable["name"] for variable in tomllib.loads(description.read_text("utf-8"))["variable"]]
    except (OSError, ValueError, KeyError):
        return []
