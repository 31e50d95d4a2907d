"""`discreet compare`: one table in two versions, cell by cell.

Comes from: two versions of a dataset, each through its door. Goes to: a table for people, or `--json`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import emit_json, output
from discreet.cli.options import (
    KEY_ENVIRONMENT,
    ColumnsOption,
    DatasetArgument,
    FilterOption,
    GroupOption,
    LayersOption,
    LevelsOption,
    RowsOption,
    ThreadsOption,
    VersionOption,
    WorkspaceOption,
    open_workspace,
)
from discreet.cli.registry import EXAMINE, Command

if TYPE_CHECKING:
    from discreet.inference.compared import Compared


def compare(
    dataset: DatasetArgument,
    other: Annotated[str, typer.Option("--with", help="The version to compare with.")],
    version: VersionOption = "",
    rows: RowsOption = None,
    columns: ColumnsOption = None,
    layers: LayersOption = None,
    filters: FilterOption = None,
    groups: GroupOption = None,
    levels: LevelsOption = None,
    measure: Annotated[
        str, typer.Option(help="count, or weighted for datasets with survey weights.")
    ] = "count",
    level: Annotated[float, typer.Option(help="The chance to cover the truth, at least.")] = 0.95,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON alone on standard output.")] = False,
    workspace: WorkspaceOption = None,
    threads: ThreadsOption = None,
) -> None:
    """Compare two versions of a table: both numbers of each cell, their difference and their ratio."""
    from discreet.inference import compared
    from discreet.model.request import request_from_text

    request = request_from_text(
        dataset,
        rows=rows or (),
        columns=columns or (),
        layers=layers or (),
        filters=filters or (),
        groups=groups or (),
        levels=levels or (),
        measure=measure,
    )
    opened, _ = open_workspace(workspace, threads=threads)
    doors = [opened.door(dataset, os.environ.get(KEY_ENVIRONMENT), word) for word in (version, other)]
    questions = [door.check(request) for door in doors]
    one, two = (door.answer(question) for door, question in zip(doors, questions, strict=True))
    found = compared.compare(one, two, level)
    if as_json:
        emit_json(found.document())
    else:
        _show(found)


def _show(found: Compared) -> None:
    from rich.text import Text

    from discreet.cli.grid import print_grid

    document = found.document()
    names = document["dimensions"]
    headers = [*names, found.release.digest[:8], found.other.digest[:8], "difference", "ratio"]
    lines = [
        [
            *cell["codes"],
            *(_number(cell[name]) for name in ("value", "with")),
            _interval(cell["difference"], "{:,.0f}"),
            _interval(cell["ratio"], "{:.4g}"),
        ]
        for cell in document["cells"]
    ]
    print_grid(output, found.release.title, headers, lines, len(names), together=4)
    sure = f"Each interval covers the truth with a chance of at least {100 * found.level:g} %."
    for text in (sure, *document["note"]):
        output.print(Text(text), style="dim")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,}"


def _interval(found: dict[str, Any], pattern: str) -> str:
    """An estimate with its limits; a dash for what there is not."""
    texts = (
        "-" if found[name] is None else pattern.format(found[name]) for name in ("estimate", "low", "high")
    )
    estimate, low, high = texts
    return "-" if estimate == "-" else f"{estimate} ({low} to {high})"


COMMAND = Command(compare, EXAMINE)
