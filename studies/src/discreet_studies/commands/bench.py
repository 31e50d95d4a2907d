"""`discreet bench`: what README and docs claim about speed and error rates, measured here. One module of `bench/` a part."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.console import emit_json, messages, output, print_text
from discreet.cli.registry import OPERATE, Command
from discreet.errors import BadRequest
from discreet.model.messages.text import nearest
from discreet_studies.bench.part import Part, Result, Wish

if TYPE_CHECKING:
    from rich.table import Table


#: The parts, each a module of `discreet_studies.bench`.
PARTS = (
    "tables",
    "scale",
    "engines",
    "dp",
    "margins",
    "joint",
    "startup",
    "loading",
    "wide",
    "page",
    "serve",
    "soak",
    "tests-size",
    "survey-errors",
    "survey-tests",
    "timing",
)


def bench(
    part: Annotated[
        str,
        typer.Argument(
            help="tables (against DuckDB and ONS), scale (as records, cells and dimensions grow, on every engine), "
            "engines (each next to its own count), dp, "
            "margins and joint (against OpenDP), startup (processor time), loading (files beside DuckDB's bare read), "
            "wide (cells that are not 0 of eight variables), "
            "page (in a browser), serve (load and attacks), soak (memory over two hours), "
            "tests-size (how often noise-aware tests reject true hypotheses), "
            "survey-errors (coverage and width of intervals of weighted tables), "
            "survey-tests (how often tests of weighted tables reject true hypotheses), "
            "or timing (whether times tell what answers must not)."
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
            help="Runs of each; the best counts. tables: 7 by default. tests-size: tables a point. serve: seconds a point. "
            "soak: minutes, 120 by default. survey-errors: samples a point. survey-tests: tables a design. "
            "timing: pairs a point, 10000 by default.",
        ),
    ] = None,
    points: Annotated[
        str | None,
        typer.Option(
            help="tests-size, survey-errors, survey-tests, serve, timing: only these points, comma-separated names."
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(
            help="tests-size: a JSON file of results. Its points are not measured again; new ones are added."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="page, scale, soak, survey-errors: write the page of the results, and JSON and pictures beside it."
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="survey-errors: four designs with few samples, in a minute.")
    ] = False,
    no_ons: Annotated[bool, typer.Option("--no-ons", help="Leave out the ONS package.")] = False,
    no_opendp: Annotated[bool, typer.Option("--no-opendp", help="Leave out OpenDP.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the timings as JSON.")] = False,
) -> None:
    """Time protected tables against DuckDB's bare count(*), the ONS package and OpenDP; measure the sizes of tests."""
    from discreet_studies.bench.part import Wish

    sizes = () if rows is None else _sizes(rows)
    chosen = find_part(part)
    alone = no_ons if part in {"tables", "scale"} else no_opendp
    names = tuple(name.strip() for name in (points or "").split(",") if name.strip())
    if (part not in {"tests-size", "survey-errors", "survey-tests", "serve", "timing"} and names) or (
        part != "tests-size" and keep
    ):
        raise BadRequest(
            f"--points and --keep mean nothing to {part}.", "Leave them out, or take tests-size."
        )
    if quick and part != "survey-errors":
        raise BadRequest(f"--quick means nothing to {part}.", "Leave it out, or take survey-errors.")
    if sizes and not chosen.takes_rows:
        raise BadRequest(f"--rows means nothing to {part}.", "Leave it out.")
    if out is not None and chosen.document is None:
        raise BadRequest(f"--out means nothing to {part}.", "Leave it out, or take page or scale.")
    if out is not None:
        _refuse_no_place(out)
    wish = Wish(sizes, repeats, not alone, names, quick, messages.print)
    results = _collect(chosen.measure(wish) if keep is None else _kept(chosen, wish, keep), out)
    if out is not None:
        _write(chosen, results, out)
    if as_json:
        emit_json(results)
    elif markdown:
        print_text("\n".join(markdown_lines(chosen, results)))
    else:
        _show(chosen, results)


COMMAND = Command(bench, OPERATE)


def find_part(name: str) -> Part:
    """The part of a name, from the module of that name.

    Raises:
        BadRequest: The benchmark has no such part.
    """
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


def _refuse_no_place(out: Path) -> None:
    """Nothing is measured for minutes that cannot be written in the end."""
    if out.is_dir() or out.suffix in {".json", ""}:
        raise BadRequest(
            f"--out is {out}.", "Name the file of the page, as in results.md; JSON and pictures go beside it."
        )
    out.parent.mkdir(parents=True, exist_ok=True)


def _collect(measured: Iterable[Result], out: Path | None) -> list[Result]:
    """All results; with `--out` an interrupted run leaves those it has as JSON."""
    results = []
    for result in measured:
        results.append(result)
        if out is not None:
            _write_json(results, out)
    return results


def _write_json(results: list[Result], out: Path) -> None:
    out.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")


def _write(part: Part, results: list[Result], out: Path) -> None:
    """The page, the results as JSON, and the pictures beside it."""
    _write_json(results, out)
    if part.document is not None:
        out.write_text(part.document(markdown_lines(part, results), results), "utf-8")
    for name, chart in part.pictures(results).items():
        from discreet.pictures.drawing import save

        save(chart, out.with_name(f"{out.stem}-{name}.svg"))


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
    """The results for people. Where several lines have one label, they are a table of their own."""
    label = next(iter(part.columns.values()))
    parts = [list(lines) for _, lines in groupby(results, label)]
    for lines in [results] if len(parts) == len(results) else parts:
        output.print(_grid({header: [text(each) for each in lines] for header, text in part.columns.items()}))


def _grid(columns: dict[str, list[str]]) -> Table:
    """A table whose title has what is the same in all its lines, and which has no empty columns.

    Where it is too wide, texts go over several lines; no number is cut.
    """
    from rich import box
    from rich.table import Table

    same = {header: texts[0] for header, texts in columns.items() if len(set(texts)) == 1 < len(texts)}
    title = ", ".join(
        f"{text} {header}" if text[:1].isdecimal() else text for header, text in same.items() if text
    )
    found = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown = {header: texts for header, texts in columns.items() if header not in same and any(texts)}
    for header, texts in shown.items():
        numbers = any(each[:1].isdecimal() for each in texts)
        found.add_column(
            header.replace(" ", "\n"),
            justify="right" if numbers else "left",
            no_wrap=numbers,
            overflow="fold",
            vertical="bottom",
        )
    for line in zip(*shown.values(), strict=True):
        found.add_row(*line)
    return found
