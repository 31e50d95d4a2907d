"""`discreet bench`: what README and docs claim about speed and error rates, measured here. One module of `bench/` a part."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.console import emit_json, messages, output
from discreet.cli.registry import OPERATE, Command
from discreet.errors import BadRequest, nearest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet_studies.bench.part import Part, Result, Wish

#: The parts, each a module of `discreet_studies.bench`.
PARTS = ("tables", "dp", "margins", "startup", "tests-size")


def bench(
    part: Annotated[
        str,
        typer.Argument(
            help="tables (against DuckDB and ONS), dp and margins (against OpenDP), startup (processor time), or tests-size "
            "(how often noise-aware tests reject true hypotheses)."
        ),
    ] = "tables",
    rows: Annotated[
        str | None,
        typer.Option(help="Numbers of records, comma-separated; tables: 1000000,10000000 by default."),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Runs of each; the best counts. tables: 7 by default. tests-size: tables a point.",
        ),
    ] = None,
    points: Annotated[
        str | None, typer.Option(help="tests-size: only these points, comma-separated names.")
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            help="tests-size: a JSON file of results. Its points are not measured again; new ones are added."
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    no_ons: Annotated[bool, typer.Option("--no-ons", help="Leave out the ONS package.")] = False,
    no_opendp: Annotated[bool, typer.Option("--no-opendp", help="Leave out OpenDP.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the timings as JSON.")] = False,
) -> None:
    """Time protected tables against DuckDB's bare count(*), the ONS package and OpenDP; measure the sizes of tests."""
    from discreet_studies.bench.part import Wish

    sizes = () if rows is None else _sizes(rows)
    chosen = _part(part)
    alone = no_ons if part == "tables" else no_opendp
    names = tuple(name.strip() for name in (points or "").split(",") if name.strip())
    if part != "tests-size" and (names or keep):
        raise BadRequest(
            f"--points and --keep mean nothing to {part}.", "Leave them out, or take tests-size."
        )
    wish = Wish(sizes, repeats, not alone, names, messages.print)
    results = list(chosen.measure(wish) if keep is None else _kept(chosen, wish, keep))
    if as_json:
        emit_json(results)
    elif markdown:
        output.print("\n".join(markdown_lines(chosen, results)), markup=False, soft_wrap=True)
    else:
        _show(chosen, results)


COMMAND = Command(bench, OPERATE)


def _part(name: str) -> Part:
    if name not in PARTS:
        raise BadRequest(f'The benchmark has no part "{name}".', nearest(name, PARTS))
    part: Part = import_module(f"discreet_studies.bench.{name.replace('-', '_')}").PART
    return part


def _kept(part: Part, wish: Wish, keep: Path) -> Iterator[Result]:
    """What a file has already, then the other points; each is written down at once, so that a run can be cut off."""
    from discreet_studies.bench.tests_size import chosen

    known = {each["point"]: each for each in json.loads(keep.read_text("utf-8"))} if keep.is_file() else {}
    for point in chosen(wish.points):
        if point.name not in known:
            known[point.name] = next(iter(part.measure(replace(wish, points=(point.name,)))))
            keep.write_text(json.dumps(list(known.values()), indent=1) + "\n", "utf-8")
        yield known[point.name]


def markdown_lines(part: Part, results: list[Result]) -> list[str]:
    """The results as the lines of a Markdown table."""
    rows = [list(part.columns), ["---"] * len(part.columns)]
    rows += [[text(result) for text in part.columns.values()] for result in results]
    return [f"| {' | '.join(row)} |" for row in rows]


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
