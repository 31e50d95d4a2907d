"""`discreet bench`: what the README claims about speed, measured here. One module of `bench/` a part."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.console import emit_json, messages, output
from discreet.cli.registry import OPERATE, Command
from discreet.errors import BadRequest, nearest

if TYPE_CHECKING:
    from discreet_studies.bench.part import Part, Result

#: The parts, each a module of `discreet_studies.bench`.
PARTS = ("tables", "dp", "margins", "startup")


def bench(
    part: Annotated[
        str,
        typer.Argument(
            help="tables (against DuckDB and ONS), dp and margins (against OpenDP), or startup (processor time)."
        ),
    ] = "tables",
    rows: Annotated[
        str | None,
        typer.Option(help="Numbers of records, comma-separated; tables: 1000000,10000000 by default."),
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(min=1, help="Runs of each; the best counts. tables: 7 by default.")
    ] = None,
    no_ons: Annotated[bool, typer.Option("--no-ons", help="Leave out the ONS package.")] = False,
    no_opendp: Annotated[bool, typer.Option("--no-opendp", help="Leave out OpenDP.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the timings as JSON.")] = False,
) -> None:
    """Time protected tables against DuckDB's bare count(*), the ONS package and OpenDP, in one run."""
    from discreet_studies.bench.part import Wish

    sizes = () if rows is None else _sizes(rows)
    chosen = _part(part)
    alone = no_ons if part == "tables" else no_opendp
    wish = Wish(sizes, repeats, not alone, messages.print)
    results = list(chosen.measure(wish))
    if as_json:
        emit_json(results)
    else:
        _show(chosen, results)


COMMAND = Command(bench, OPERATE)


def _part(name: str) -> Part:
    if name not in PARTS:
        raise BadRequest(f'The benchmark has no part "{name}".', nearest(name, PARTS))
    part: Part = import_module(f"discreet_studies.bench.{name}").PART
    return part


def _sizes(rows: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(part.replace("_", "")) for part in rows.split(",") if part.strip())
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1000:
        raise BadRequest(
            f"--rows is {rows!r}.", "Give whole numbers of at least 1000, as in 1000000,10000000."
        )
    return sizes


def _show(part: Part, results: list[Result]) -> None:
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD)
    for place, header in enumerate(part.columns):
        grid.add_column(header, justify="right" if place else "left")
    for result in results:
        grid.add_row(*(text(result) for text in part.columns.values()))
    output.print(grid)
