"""`discreet build`: pre-aggregate the margins of most tables, so that they need no records."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import emit_json, print_message, print_text
from discreet.cli.registry import OPERATE, Command
from discreet.cli.shared_options import DatasetArgument, JsonOption, VersionOption, WorkspaceOption
from discreet.errors import BadRequest

if TYPE_CHECKING:
    from discreet.workspace.operate.make_cubes import CubeReport
    from discreet.workspace.versions.version_engine import CubeFile


def build(
    dataset: DatasetArgument,
    up_to: Annotated[
        int | None,
        typer.Option(
            "--up-to",
            min=1,
            help="Make tables of up to so many variables beside geography fast; by default as many as may be crossed. "
            "Under dp the declared tables.",
        ),
    ] = None,
    within: Annotated[
        float,
        typer.Option("--within", min=0, help="GB that all cubes of the version may take; 0 removes them."),
    ] = 1.0,
    version: VersionOption = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell which cubes would be built, and why.")
    ] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Build cubes: tables that they cover are answered in milliseconds, and need no records. No number changes."""
    from discreet.cli.console import simulation_bar
    from discreet.workspace.operate.make_cubes import make_cubes
    from discreet.workspace.options import workspace_folder

    if not isfinite(within):
        raise BadRequest(f"--within is {within}.", "Give a number of GB, such as 2.")
    with simulation_bar(f"{dataset}: cubes") as progress:
        done = make_cubes(
            workspace_folder(workspace),
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
    _print_report(done, dry_run=dry_run)


COMMAND = Command(build, OPERATE)


def _facts(cube: CubeFile) -> dict[str, Any]:
    return {"variables": cube.variables, "rows": cube.rows, "bytes": cube.bytes}


def _print_report(done: CubeReport, *, dry_run: bool) -> None:
    sizes = {cube.variables: cube for cube in done.built}
    for cube in done.kept:
        print_text(f"{' x '.join(cube.variables)}: kept, {cube.bytes / 1e6:,.1f} MB.")
    for plan in done.planned:
        made = sizes.get(plan.variables)
        size = f"at most about {plan.bytes / 1e6:,.1f} MB" if made is None else f"{made.bytes / 1e6:,.1f} MB"
        left_out = "" if made or dry_run else " It was larger than that, and was left out."
        print_text(f"{' x '.join(plan.variables)}: {size}; {plan.why}.{left_out}")
    if done.note:
        print_text(done.note)
    what = (
        f"Nothing was built for version {done.digest[:8]}."
        if dry_run
        else f"Cubes of version {done.digest[:8]}: {len(done.kept) + len(done.built)}."
    )
    print_message(what)
