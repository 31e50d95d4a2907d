"""`discreet table`: one protected table, on the screen or as a document."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text
from typer import Option

from discreet.cli import shared_options as shared
from discreet.cli.console import emit, emit_json, output, print_grid, print_message
from discreet.cli.registry import MAKE_TABLES, Command
from discreet.errors import BadRequest, DiscreetError, Refused
from discreet.formats import Format, format_by_name, format_of_file, formats, listing_format
from discreet.model.messages.text import printable

if TYPE_CHECKING:
    from discreet.cli.target import Target
    from discreet.model.release import Release
    from discreet.model.request import TableRequest


@shared.takes_table_query
def table(
    dataset: shared.TargetArgument,
    asked: shared.TableQuery,
    measure: str = Option(
        "count",
        help="count; weighted for datasets with survey weights; or a numeric variable, with --statistic.",
    ),
    statistic: str = Option("", help="sum or mean, of a numeric variable."),
    additivity: str = Option("", help="independent, interior or fitted; by default as the dataset declares."),
    fit_to: list[str] | None = Option(
        None,
        "--fit-to",
        help="Published tables whose totals a fitted table must reproduce, as in area,sex*age.",
    ),
    no_totals: bool = Option(False, "--no-totals", help="Leave out all totals."),
    errors: bool = Option(
        False,
        "--errors",
        help="Show the relative standard error of each weighted number, and how much of it is noise.",
    ),
    form: str | None = Option(
        None,
        "--format",
        help=", ".join(f"{form.name} ({form.summary})" for form in formats()) + ".",
        autocompletion=lambda: [form.name for form in formats()],
    ),
    as_json: bool = Option(False, "--json", help="The same as --format json."),
    dry_run: bool = Option(
        False, "--dry-run", help="Only show the size and the verdict of the rules, as JSON."
    ),
    percent: str = Option("", help="Percent of the row, column or table total, or of a cell: sex=1,age=_T."),
    rank: bool = Option(False, "--rank", help="Rank the rows of each column."),
    top: int = Option(0, help="Show only this many categories of the first row variable, largest first."),
    hide_empty: bool = Option(False, "--hide-empty", help="Leave out rows whose numbers are all 0."),
    sort: str = Option("", help="Sort rows by label, value or a column such as sex=1; -sex=1 descends."),
    ratio: str = Option("", help="Each number over that of a category: sex=1."),
    difference: str = Option("", help="Each number less that of a category: sex=1."),
    alone: bool = Option(
        False, "--alone", help="Show percentages, ratios and differences in place of the numbers."
    ),
    nonzero: bool = Option(
        False,
        "--nonzero",
        help="List only non-zero cells, of a table with any number of variables, as csv, parquet or arrow.",
    ),
    chart: str = Option(
        "",
        help=(
            "Chart for --format svg or png: bars, grouped, stacked, lines, pyramid, heat_map, multiples, dots or "
            "map; by default the best fit."
        ),
    ),
    theme: str = Option("", help="Colours of the chart: light or dark."),
    version: shared.VersionOption = "",
    out: Path | None = Option(None, "--out", "-o", help="Write to this file."),
    workspace: shared.WorkspaceOption = None,
    threads: shared.ThreadsOption = None,
) -> None:
    """Print a protected table, or write it in another format."""
    from discreet.cli.target import open_target
    from discreet.model.view import THEMES, Picture, View
    from discreet.release.measures import measure_kind

    if errors and (statistic or not measure_kind(measure).measure.has_errors):
        raise BadRequest(
            "--errors is for weighted tables: a table of counts, sums or means has no sampling errors.",
            "Add --measure weighted, or leave --errors out.",
        )
    chosen = _choose_format(
        form, out, as_json=as_json, dry_run=dry_run, drawn="chart" if chart else "theme" if theme else ""
    )
    target = open_target(dataset, workspace, threads, version)
    request = target.request(
        **asked,
        totals=not no_totals,
        measure=measure,
        statistic=statistic,
        additivity=additivity,
        fit_to=fit_to,
    )
    view = View(percent, rank, top, hide_empty, sort, ratio, difference, alone) or target.view
    if nonzero:
        _list(target, request, chosen, alone=not (view or dry_run or errors), out=out)
        return
    if dry_run:
        emit_json(target.service.dry_run(request), out)
        return
    if view:
        target.check_view(request, view)
    try:
        release = target.service.release(request)
    except Refused as refusal:
        refusal.advice = _try_this(target, request, dataset, workspace) or refusal.advice
        raise
    if release.charged is not None:
        print_message(printable(release.charged["sentence"]))
    release = target.answers.apply_view(release, view)
    if chosen is None:
        _show(release, errors=errors)
    else:
        drawn = replace(release, picture=Picture(chart, theme or THEMES[0])) if chosen.is_picture else release
        emit(target.answers.stream(drawn, chosen), out)


COMMAND = Command(table, MAKE_TABLES)


def _try_this(target: Target, request: TableRequest, dataset: str, workspace: Path | None) -> str:
    """The command for the nearest allowed table; empty if none was found."""
    from discreet.api.server_url import parse_table_query
    from discreet.web.pages.downloads import table_options

    try:
        suggestion = target.service.dry_run(request)["suggestion"]
    except DiscreetError:
        return ""
    if not suggestion:
        return ""
    options = table_options(parse_table_query(request.dataset, suggestion))
    place = [] if workspace is None else ["--workspace", str(workspace)]
    return f"Try this: {shlex.join(['discreet', 'table', dataset.partition('?')[0], *options, *place])}"


def _choose_format(
    form: str | None, out: Path | None, *, as_json: bool, dry_run: bool, drawn: str
) -> Format | None:
    """The format of the document; None for a table on the screen, or a dry run."""
    if as_json and form not in {None, "json"}:
        raise BadRequest(
            f"--json cannot be combined with --format {form}.", f"Leave out --json, or --format {form}."
        )
    chosen = format_by_name(form or "json") if form or as_json else None
    if chosen is None and out is not None and not dry_run:
        chosen = format_of_file(out)
    if drawn and (chosen is None or not chosen.is_picture):
        raise BadRequest(
            f"--{drawn} applies to charts only.", "Add --format svg or --format png, or leave it out."
        )
    if dry_run and form not in {None, "json"}:
        raise BadRequest(f"--dry-run prints JSON, not {form}.", f"Leave out --format {form}.")
    return chosen


def _list(
    target: Target, request: TableRequest, form: Format | None, *, alone: bool, out: Path | None
) -> None:
    from discreet.release.dataset_registry import DatasetService

    if form is None:
        raise BadRequest(
            "--nonzero needs a format.", "Add --format csv, or -o with a file that ends in .csv."
        )
    if not alone:
        raise BadRequest(
            "--nonzero cannot be combined with options that change the table.",
            "Leave out --percent, --rank, --top, --hide-empty, --sort, --ratio, --difference, --alone, --errors, --dry-run.",
        )
    listing_format(form)
    if isinstance(target.service, DatasetService):
        emit(form.stream(target.service.nonzero(target.service.check_nonzero(request))), out)
    else:
        emit(target.service.nonzero(request, form), out)


def _show(release: Release, *, errors: bool) -> None:
    from discreet.api.table import Table

    shown = Table(release)
    headers, lines = shown.text_grid(errors=errors)
    stubs = len(release.request.layers + release.request.rows)
    together = (3 if errors else 1) + len(release.derived)
    print_grid(output, release.title, headers, lines, stubs, together=together)
    note = shown.error_note()
    if note:
        note += " The columns give both for each cell." if errors else " See each with --errors."
    for text in (*shown.legend(), *([note] if note else ()), *release.notes):
        output.print(Text(printable(text)), style="dim")
