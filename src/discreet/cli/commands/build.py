"""`discreet build`: pre-aggregate the margins of most tables, so that they need no records."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

from typer import Option

from discreet.cli import shared_options as shared
from discreet.cli.console import emit_json, print_message, print_text, simulation_bar
from discreet.cli.registry import OPERATE, Command
from discreet.errors import BadRequest

if TYPE_CHECKING:
    from discreet.workspace.versions.version_engine import CubeFile


def build(
    dataset: shared.DatasetArgument,
    up_to: int | None = Option(
        None,
        "--up-to",
        min=1,
        help=(
            "Cover tables of up to this many variables in addition to geography; by default as many as may be "
            "crossed. Under dp: the declared tables."
        ),
    ),
    within: float = Option(
        1.0, "--within", min=0, help="Maximum size of all cubes of the version in GB; 0 removes them."
    ),
    version: shared.VersionOption = "",
    dry_run: bool = Option(False, "--dry-run", help="Only list the cubes that would be built, and why."),
    workspace: shared.WorkspaceOption = None,
    as_json: shared.JsonOption = False,
) -> None:
    """Build cubes (pre-aggregated tables), so that most tables take milliseconds. No number changes."""
    from discreet.workspace.operate.make_cubes import make_cubes

    if not isfinite(within):
        raise BadRequest(f"--within is {within}.", "Give a number of GB, such as 2.")
    with simulation_bar(f"{dataset}: cubes") as progress:
        done = make_cubes(
            shared.workspace_folder(workspace),
            dataset,
            up_to=up_to,
            within=round(within * 1e9),
            word=version,
            dry_run=dry_run,
            progress=progress,
        )
    if as_json:
        cubes = {"kept": list(map(_facts, done.kept)), "built": list(map(_facts, done.built))}
        emit_json({"dataset": dataset, "dry_run": dry_run, **asdict(done), **cubes})
        return
    sizes = {cube.variables: cube for cube in done.built}
    for cube in done.kept:
        print_text(f"{' x '.join(cube.variables)}: kept, {cube.bytes / 1e6:,.1f} MB.")
    for plan in done.planned:
        made = sizes.get(plan.variables)
        size = f"at most about {plan.bytes / 1e6:,.1f} MB" if made is None else f"{made.bytes / 1e6:,.1f} MB"
        left_out = "" if made or dry_run else " It turned out larger and was skipped."
        print_text(f"{' x '.join(plan.variables)}: {size}; {plan.why}.{left_out}")
    if done.note:
        print_text(done.note)
    version = f"version {done.digest[:8]}"
    built = len(done.kept) + len(done.built)
    print_message(f"Nothing was built for {version}." if dry_run else f"Cubes of {version}: {built}.")


def _facts(cube: CubeFile) -> dict[str, Any]:
    return {"variables": cube.variables, "rows": cube.rows, "bytes": cube.bytes}


COMMAND = Command(build, OPERATE)
