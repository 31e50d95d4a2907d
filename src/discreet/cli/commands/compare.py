"""`discreet compare`: one table in two versions, cell by cell."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import emit_json, output, print_text
from discreet.cli.registry import EXAMINE, Command
from discreet.cli.shared_options import (
    JsonOption,
    TableQuery,
    TargetArgument,
    ThreadsOption,
    VersionOption,
    WorkspaceOption,
    takes_table_query,
)

#: So many letters of a value are shown.
SHORT = 80


if TYPE_CHECKING:
    from discreet.inference.version_comparison import VersionComparison


@takes_table_query
def compare(
    dataset: TargetArgument,
    other: Annotated[str, typer.Option("--with", help="The version to compare with.")],
    asked: TableQuery,
    version: VersionOption = "",
    measure: Annotated[
        str, typer.Option(help="count, or weighted for datasets with survey weights.")
    ] = "count",
    level: Annotated[float, typer.Option(help="The chance to cover the truth, at least.")] = 0.95,
    descriptions: Annotated[
        bool, typer.Option("--descriptions", help="Compare the two descriptions, key by key, and no table.")
    ] = False,
    as_json: JsonOption = False,
    workspace: WorkspaceOption = None,
    threads: ThreadsOption = None,
) -> None:
    """Compare two versions of a table: both numbers of each cell, their difference and their ratio."""
    from discreet.cli.target import open_target

    if descriptions:
        _compare_descriptions(dataset, version, other, workspace, as_json=as_json)
        return
    target = open_target(dataset, workspace, threads, version)
    request = target.request(**asked, measure=measure)
    doors = target.door, target.at(other)
    for door in doors:  # where one version refuses the table, the other is not charged for it
        door.check(request)
    found = target.answers.compare_versions(doors[0].release(request), doors[1].release(request), level)
    if as_json:
        emit_json(found.document())
    else:
        _show(found)


def _compare_descriptions(
    dataset: str, version: str, other: str, workspace: Path | None, *, as_json: bool
) -> None:
    from discreet.workspace.operate.manage_versions import compare_descriptions
    from discreet.workspace.options import workspace_folder

    found = list(compare_descriptions(workspace_folder(workspace), dataset, version, other))
    if as_json:
        emit_json({"dataset": dataset, "changes": [asdict(change) for change in found]})
        return
    for change in found:
        before, after = (
            "nothing" if value is None else _short(value) for value in (change.before, change.after)
        )
        print_text(f"{change.place}: {before} -> {after}")
    if not found:
        output.print("The descriptions are the same.")


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= SHORT else f"{text[:SHORT]} ..."


def _show(found: VersionComparison) -> None:
    from rich.text import Text

    from discreet.cli.console import print_grid

    document = found.document()
    names = document["dimensions"]
    headers = [*names, found.release.digest[:8], found.other.digest[:8], "difference", "ratio"]
    lines = [
        [
            *cell["codes"],
            *("-" if cell[name] is None else f"{cell[name]:,}" for name in ("value", "with")),
            _interval(cell["difference"], "{:,.0f}"),
            _interval(cell["ratio"], "{:.4g}"),
        ]
        for cell in document["cells"]
    ]
    print_grid(output, found.release.title, headers, lines, len(names), together=4)
    sure = f"Each interval covers the truth with a chance of at least {100 * found.level:g} %."
    for text in (sure, *document["note"]):
        output.print(Text(text), style="dim")


def _interval(found: dict[str, Any], pattern: str) -> str:
    estimate, low, high = (
        "-" if found[name] is None else pattern.format(found[name]) for name in ("estimate", "low", "high")
    )
    return "-" if estimate == "-" else f"{estimate} ({low} to {high})"


COMMAND = Command(compare, EXAMINE)
