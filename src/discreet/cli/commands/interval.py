"""`discreet interval`: confidence intervals of counts, and of sums, shares, ratios and differences."""

from __future__ import annotations

from typing import Annotated, Any

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
from discreet.errors import BadRequest


@takes_table_query
def interval(
    dataset: TargetArgument,
    asked: TableQuery,
    cells: Annotated[
        list[str] | None,
        typer.Option("--cell", help="A cell such as sex=1,age=20-24; several are added up. Without it: all."),
    ] = None,
    of: Annotated[
        list[str] | None,
        typer.Option("--of", help="The share in this: a total, or each part of the whole."),
    ] = None,
    over: Annotated[
        list[str] | None, typer.Option("--over", help="The ratio to this cell, or to several.")
    ] = None,
    minus: Annotated[
        list[str] | None, typer.Option("--minus", help="The difference to this cell, or to several.")
    ] = None,
    minus_of: Annotated[
        list[str] | None,
        typer.Option("--minus-of", help="Of weighted shares: what --minus is a share of, if not --of."),
    ] = None,
    measure: Annotated[
        str, typer.Option(help="count, or weighted: people represented, for sampling and noise together.")
    ] = "count",
    level: Annotated[float, typer.Option(help="The chance to cover the true value, at least.")] = 0.95,
    as_json: JsonOption = False,
    version: VersionOption = "",
    workspace: WorkspaceOption = None,
    threads: ThreadsOption = None,
) -> None:
    """Say between which limits the true counts lie, or a sum, a share, a ratio or a difference of them."""
    from discreet.cli.target import open_target
    from discreet.inference.confidence_intervals.table_intervals import (
        error_text,
        interval_document,
        interval_texts,
        limits_document,
    )

    if not cells and (of or over or minus):
        raise BadRequest("--of, --over and --minus need a cell.", "Add --cell, as in --cell sex=1.")
    target = open_target(dataset, workspace, threads, version)
    release = target.door.release(target.request(**asked, measure=measure))
    # Intervals of counts are exact, those of weighted tables use the normal distribution.
    sure = "about" if release.measure.has_errors else "at least"
    if not cells:
        document = limits_document(release, target.answers.every_interval(release, level), level)
        if as_json:
            emit_json(document)
        else:
            _show(document, sure)
        return
    others = {"of": of or (), "over": over or (), "minus": minus or (), "minus_of": minus_of or ()}
    found = target.answers.interval(release, cells, level, others)
    if as_json:
        emit_json(interval_document(found))
    else:
        estimate, low, high = interval_texts(found, share=bool(of), ratio=bool(over), minus=bool(minus))
        error = f" ({text})" if (text := error_text(found)) else ""
        print_text(
            f"{estimate}{error}; between {low} and {high} with a chance of {sure} {100 * found.level:g} %"
        )


def _show(document: dict[str, Any], sure: str) -> None:
    from rich.table import Table
    from rich.text import Text

    from discreet.model.messages.text import printable

    shown = Table(box=None, pad_edge=False, header_style="bold")
    for name in (*document["dimensions"], "value", "low", "high"):
        shown.add_column(name, justify="right" if name in {"value", "low", "high"} else "left")
    for cell in document["cells"]:
        numbers = ("-" if cell[name] is None else f"{cell[name]:,}" for name in ("value", "low", "high"))
        shown.add_row(*(Text(printable(code)) for code in cell["codes"]), *numbers)
    output.print(shown)
    output.print(f"Each covers the true count with a chance of {sure} {100 * document['level']:g} %.")


COMMAND = Command(interval, EXAMINE)
