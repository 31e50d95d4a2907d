"""`discreet reproduce`: the papers' tables and figures, printed numbers beside ours."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import emit_json, messages, output, print_message, print_text
from discreet.cli.registry import EXAMINE, Command
from discreet_studies.compute import Done
from discreet_studies.exhibit import Effort, Exhibit, Reading
from discreet_studies.papers import Paper

_MARK = {True: "[green]yes[/green]", False: "[bold red]no[/bold red]", None: ""}
Numbers = list[str] | None


def reproduce(
    paper: Annotated[
        str, typer.Argument(help="rinott2018, shlomo2019, yang2012, sadeghi2022, bailie2020 or all.")
    ],
    table: Annotated[Numbers, typer.Option(help="Only this table; may be repeated.")] = None,
    figure: Annotated[Numbers, typer.Option(help="Only this figure; may be repeated.")] = None,
    example: Annotated[Numbers, typer.Option(help="Only this example; may be repeated.")] = None,
    section: Annotated[Numbers, typer.Option(help="Only this section; may be repeated.")] = None,
    theorem: Annotated[Numbers, typer.Option(help="Only this theorem; may be repeated.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer repetitions: a look, not a report.")] = False,
    seed: Annotated[int | None, typer.Option(help="Another seed of the simulations.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write pictures, JSON and a Markdown page here.")
    ] = None,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes at a time; as many as there are cores by default.")
    ] = None,
) -> None:
    """Recompute a paper's tables and figures: every printed number beside ours, and whether they agree."""
    # Small factorisations in two processes: threads within each would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from discreet_studies.compute import compute_all
    from discreet_studies.exhibit import Effort
    from discreet_studies.findings_page import document, write
    from discreet_studies.papers import exhibits_of, papers

    chosen = papers(paper)
    wanted = list(_wanted(table=table, figure=figure, example=example, section=section, theorem=theorem))
    jobs = exhibits_of(chosen, wanted)
    effort = Effort(quick) if seed is None else Effort(quick, seed)
    cores = processes or os.cpu_count() or 1
    with _progress(len(jobs)) as report:
        found = compute_all(jobs, effort, draw=out is not None, processes=cores, report=report)
    by_paper = [(each, [done for done in found if done.paper == each.name]) for each in chosen]
    for each, done in by_paper:
        for path in write(each, done, effort, out) if out is not None else ():
            print_message(f"Written: {path}")
    if as_json:
        documents = [document(each, done, effort) for each, done in by_paper]
        emit_json(documents[0] if len(documents) == 1 else documents)
    else:
        for each, done in by_paper:
            _show(each, done, effort)


COMMAND = Command(reproduce, EXAMINE)


def _wanted(**numbers: Numbers) -> Iterator[str]:
    """The exhibits that were asked for, as their paper names them."""
    for kind, given in numbers.items():
        yield from (f"{kind} {number}" for number in given or [])


@contextmanager
def _progress(jobs: int) -> Iterator[Callable[[Done], None]]:
    """A bar while exhibits are computed, and a line for each as it is done."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=messages, transient=True) as bar:
        task = bar.add_task("exhibits", total=jobs)

        def report(done: Done) -> None:
            what = f"{done.paper} {done.exhibit.name}: {_summary(done.exhibit)} ({done.seconds:.1f} s)"
            print_message(what)
            bar.advance(task)

        yield report


def _summary(exhibit: Exhibit) -> str:
    agree, differ, unprinted = exhibit.verdict
    words = [f"{agree} agree"] if agree or differ else []
    if differ:
        words.append(f"{differ} do not")
    if unprinted:
        words.append(f"{unprinted} not printed")
    return ", ".join(words)


def _show(paper: Paper, done: list[Done], effort: Effort) -> None:

    how = "quick" if effort.quick else "full"
    print_text(f"{paper.title}. {paper.reference} ({how}, seed {effort.seed})", "bold")
    for each in done:
        _show_exhibit(each.exhibit)


def _show_exhibit(exhibit: Exhibit) -> None:
    from rich.text import Text

    name = exhibit.name.capitalize()
    _show_findings(exhibit, f"{name}: {exhibit.title}")
    output.print(Text(f"{name}: {_summary(exhibit)}.\n"))
    for reading in exhibit.readings:
        _show_findings(reading, f"{name}, read with {reading.name}")
        output.print(Text(f"{reading.summary}.\n"))


def _show_findings(exhibit: Exhibit | Reading, title: str) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from discreet_studies.findings_page import reasons, shown, shown_print

    grid = Table(title=Text(title), box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    grid.add_column("number", overflow="fold")
    for header in ("printed", "ours", "agrees"):
        grid.add_column(header, justify="right", no_wrap=True)
    for finding in exhibit.findings:
        grid.add_row(Text(finding.what), shown_print(finding), shown(finding.ours), _MARK[finding.agrees])
    output.print(grid)
    for reason in reasons(exhibit):
        print_text(reason.replace("**", ""))
    if exhibit.note:
        print_text(exhibit.note)
