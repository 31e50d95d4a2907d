"""Output of the command line: documents on standard output; messages, errors and progress bars on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from discreet.errors import BadData, BadRecords, DiscreetError
from discreet.model.file_io import save
from discreet.model.messages.text import printable

if TYPE_CHECKING:
    from discreet.records.staging import Progress as LoadProgress

#: Progress, logs and errors. Standard output is kept for documents.
messages = Console(stderr=True, highlight=False)
#: Human-readable results.
output = Console(highlight=False)


def print_message(text: str, style: str = "") -> None:
    """Print a line to standard error as it is, without markup or line breaks."""
    messages.print(Text(text, style), soft_wrap=True)


def print_text(text: str, style: str = "") -> None:
    """Print a line to standard output as it is, without markup or line breaks."""
    output.print(Text(text, style), soft_wrap=True)


def report_error(error: DiscreetError) -> int:
    """Print an error with its advice to standard error and return its exit code."""
    message = "" if error.message == f"{error.title}." else printable(error.message)
    messages.print(
        Text.assemble((f"{error.title}{': ' if message else '.'}", "bold red"), message), soft_wrap=True
    )
    if error.advice:
        print_message(printable(error.advice))
    return error.exit_code


def emit(document: str | Iterable[bytes], out: Path | None) -> None:
    """Write a document to a file, atomically, or alone to standard output."""
    pieces = [document.encode("utf-8")] if isinstance(document, str) else document
    if out is not None:
        save(pieces, out)
        print_message(f"Written: {out}")
        return
    sys.stdout.buffer.writelines(pieces)
    sys.stdout.buffer.flush()


def emit_picture(chart: Any, out: Path) -> None:
    """Write a chart as FILE.svg or FILE.png."""
    from discreet.pictures.drawing import save as save_picture

    save_picture(chart, out)
    print_message(f"Written: {out}")


def emit_json(value: Any, out: Path | None = None) -> None:
    """Write a value as JSON, alone on standard output or to a file."""
    emit(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", out)


def unframed_table(labels: Iterable[str], numbers: Iterable[str]) -> Table:
    """A table without lines: columns of labels to the left, columns of numbers to the right."""
    columns = [*map(Column, labels), *(Column(name, justify="right") for name in numbers)]
    return Table(*columns, box=None, pad_edge=False, header_style="bold")


WIDEST_HEADER, WIDEST_STUB, NARROWEST_STUB = 14, 36, 12
#: Blanks and lines after a column.
_GAP, _SEPARATOR = 2, 1


def print_grid(
    console: Console, title: str, headers: list[str], lines: list[list[str]], stubs: int, together: int = 1
) -> None:
    """Print a table of text: the first `stubs` columns are labels, the others are numbers.

    Columns that do not fit are printed below, with the labels repeated; `together` adjacent columns stay together.
    """
    console.print(Text(printable(title), style="bold"))
    widths = [_column_width(place, headers, lines, stubs) for place in range(len(headers))]
    widths = _fit_labels(widths, stubs, console.width, together)
    for numbers in _column_blocks(widths, stubs, console.width, together):
        shown = [*range(stubs), *numbers]
        grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, _GAP, 0, 0))
        for place in shown:
            grid.add_column(
                Text(printable(headers[place])),
                justify="left" if place < stubs else "right",
                min_width=widths[place],
                max_width=widths[place],
            )
        for line in lines:
            grid.add_row(*(Text(printable(line[place])) for place in shown))
        console.print(grid)


def _column_width(place: int, headers: list[str], lines: list[list[str]], stubs: int) -> int:
    """Numbers are never truncated; a header wraps between words."""
    longest = max((len(line[place]) for line in lines), default=0)
    if place < stubs:
        return min(WIDEST_STUB, max(longest, len(headers[place])))
    words = max((len(word) for word in headers[place].split()), default=0)
    return max(longest, min(WIDEST_HEADER, max(words, min(len(headers[place]), 8))))


def _fit_labels(widths: list[int], stubs: int, room: int, together: int) -> list[int]:
    """Narrow the widest label column where labels and the first numbers are wider than the screen."""
    first = widths[: stubs + together]
    excess = sum(first) + (_GAP + _SEPARATOR) * len(first) + 2 - room
    if excess <= 0 or not stubs:
        return widths
    widest = max(range(stubs), key=lambda place: widths[place])
    narrower = max(NARROWEST_STUB, widths[widest] - excess)
    return [min(width, narrower) if place == widest else width for place, width in enumerate(widths)]


def _column_blocks(widths: list[int], stubs: int, room: int, together: int) -> Iterator[list[int]]:
    stub_width = sum(widths[:stubs]) + (_GAP + _SEPARATOR) * stubs + 2
    block: list[int] = []
    used = stub_width
    for place in range(stubs, len(widths), together):
        needed = sum(widths[place : place + together]) + (_GAP + _SEPARATOR) * together
        if block and used + needed > room:
            yield block
            block, used = [], stub_width
        block += range(place, place + together)
        used += needed
    yield block


@contextmanager
def report_problems(*, as_json: bool) -> Iterator[None]:
    """Print all validation problems of a refused load to standard error and, with `as_json`, as JSON."""
    try:
        yield
    except BadData as error:
        document: dict[str, object] = {"error": error.code, "message": error.message, "advice": error.advice}
        if isinstance(error, BadRecords):
            document |= {"problems": list(error.problems), "counts": error.counts}
            if sum(error.counts.values()) > 1:
                _print_problems(error)
        if as_json:
            emit_json(document)
        raise


def _print_problems(error: BadRecords) -> None:
    total = sum(error.counts.values())
    messages.print(f"{total:,} problems (confidential):", style="bold")
    for problem in error.problems:
        unit = next(key for key in ("line", "row", "record") if key in problem)
        print_message(printable(f"  {unit} {problem[unit]:,}: {problem['message']} {problem['advice']}"))
    if total > len(error.problems):
        messages.print(f"  and {total - len(error.problems):,} more")
    listed = ", ".join(f"{name} {count:,}" for name, count in error.counts.items())
    print_message(printable(f"Problems by variable: {listed}"))


@contextmanager
def load_bars() -> Iterator[Callable[[str, int | None], LoadProgress]]:
    """Bars for loads, shown from the first report on.

    Yields a function from a dataset's id and its number of records to the progress callback of a load.
    """
    from rich import progress as bar

    text, done = bar.TextColumn("{task.description}"), bar.TextColumn("{task.completed:,.0f}")
    times = bar.TimeElapsedColumn(), bar.TimeRemainingColumn()
    bars = bar.Progress(text, bar.BarColumn(), bar.TaskProgressColumn(), done, *times, console=messages)

    def progress_for(name: str, records: int | None) -> LoadProgress:
        tasks: dict[str, bar.TaskID] = {}

        def report(what: str, done: int, of: int | None) -> None:
            total = of if of is not None else records
            if total is not None:
                total = max(total, done)  # before a file is parsed to its end, its records are estimated
            if what not in tasks:
                for task in bars.tasks:
                    bars.update(task.id, total=task.completed)
                bars.start()
                tasks[what] = bars.add_task(f"{name}: {what.lower()}", total=total)
            bars.update(tasks[what], completed=done, total=total)

        return report

    try:
        yield progress_for
    finally:
        if bars.tasks:
            bars.stop()


@contextmanager
def simulation_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for one long computation; yields a callback for the number done and the total."""
    from rich import progress as bar

    columns = (bar.TextColumn("{task.description}"), bar.BarColumn(), bar.MofNCompleteColumn())
    with bar.Progress(*columns, bar.TimeElapsedColumn(), console=messages, transient=True) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done, of: bars.update(task, completed=done, total=of)
