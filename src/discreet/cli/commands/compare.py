"""`discreet compare`: one table in two versions, cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.text import Text
from typer import Option

from discreet.cli import shared_options as shared
from discreet.cli.console import emit_json, output, print_grid, print_text
from discreet.cli.registry import EXAMINE, Command

if TYPE_CHECKING:
    from discreet.inference.version_comparison import VersionComparison

#: The length at which a value is cut.
SHORT = 80


@shared.takes_table_query
def compare(
    dataset: shared.TargetArgument,
    other: Annotated[str, Option("--with", help="The version to compare with.")],
    asked: shared.TableQuery,
    version: shared.VersionOption = "",
    measure: str = Option("count", help="count, or weighted for datasets with survey weights."),
    level: float = Option(0.95, help="The chance to cover the truth, at least."),
    descriptions: bool = Option(
        False, "--descriptions", help="Compare the two descriptions, key by key, and no table."
    ),
    as_json: shared.JsonOption = False,
    workspace: shared.WorkspaceOption = None,
    threads: shared.ThreadsOption = None,
) -> None:
    """Compare two versions of a table: both numbers of each cell, their difference and their ratio."""
    from discreet.cli.target import open_target

    if descriptions:
        _compare_descriptions(dataset, version, other, workspace, as_json=as_json)
        return
    target = open_target(dataset, workspace, threads, version)
    request = target.request(**asked, measure=measure)
    registry = target.service, target.at(other)
    for service in registry:  # where one version refuses the table, the other is not charged for it
        service.check(request)
    found = target.answers.compare_versions(registry[0].release(request), registry[1].release(request), level)
    if as_json:
        emit_json(found.document())
    else:
        _show(found)


def _compare_descriptions(
    dataset: str, version: str, other: str, workspace: Path | None, *, as_json: bool
) -> None:
    from discreet.workspace.operate.manage_versions import compare_descriptions

    def short(value: object) -> str:
        text = "nothing" if value is None else str(value)
        return text if len(text) <= SHORT else f"{text[:SHORT]} ..."

    found = list(compare_descriptions(shared.workspace_folder(workspace), dataset, version, other))
    if as_json:
        emit_json({"dataset": dataset, "changes": list(map(asdict, found))})
        return
    for change in found:
        print_text(f"{change.place}: {short(change.before)} -> {short(change.after)}")
    if not found:
        output.print("The descriptions are the same.")


def _show(found: VersionComparison) -> None:
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


def _interval(found: Mapping[str, Any], pattern: str) -> str:
    estimate, low, high = (
        "-" if found[name] is None else pattern.format(found[name]) for name in ("estimate", "low", "high")
    )
    return "-" if estimate == "-" else f"{estimate} ({low} to {high})"


COMMAND = Command(compare, EXAMINE)
