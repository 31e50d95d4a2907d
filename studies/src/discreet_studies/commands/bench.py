"""`discreet bench`: what the README claims about speed, measured here."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.console import emit_json, messages, output
from discreet.errors import BadRequest

if TYPE_CHECKING:
    from discreet_studies.bench.tables import Timing


def bench(
    rows: Annotated[str, typer.Option(help="Numbers of records, comma-separated.")] = "1000000,10000000",
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each; the best counts.")] = 7,
    no_ons: Annotated[bool, typer.Option("--no-ons", help="Leave out the ONS package.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the timings as JSON.")] = False,
) -> None:
    """Time protected tables against DuckDB's bare count(*) and the ONS package, in one run."""
    from discreet_studies.bench.tables import measure

    sizes = _sizes(rows)
    timings: list[Timing] = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            messages.print(f"{size:,} records: generating")
            for timing in measure(size, Path(folder), repeats=repeats, ons=not no_ons):
                messages.print(f"{size:,} records: {timing.work}: {timing.ours_s:.3f} s")
                timings.append(timing)
    if as_json:
        emit_json([timing.as_json() for timing in timings])
    else:
        _show(timings)


def _sizes(rows: str) -> list[int]:
    try:
        sizes = [int(part.replace("_", "")) for part in rows.split(",") if part.strip()]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1000:
        raise BadRequest(
            f"--rows is {rows!r}.", "Give whole numbers of at least 1000, as in 1000000,10000000."
        )
    return sizes


def _show(timings: list[Timing]) -> None:
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD)
    for header in (
        "work",
        "records",
        "ours",
        "DuckDB count(*)",
        "ONS",
        "ours / DuckDB",
        "ONS / ours",
        "peak memory",
    ):
        grid.add_column(header, justify="left" if header == "work" else "right")
    for t in timings:
        seconds = [f"{value:.3f} s" if value is not None else "" for value in (t.ours_s, t.duckdb_s, t.ons_s)]
        ratios = [f"{value:.2f}" if value is not None else "" for value in (t.ratio_duckdb, t.ratio_ons)]
        grid.add_row(t.work, f"{t.rows:,}", *seconds, *ratios, f"{t.peak_mb:.0f} MB")
    output.print(grid)
