"""Progress bars on standard error: one per stage of a load, one per simulation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from discreet.cli.console import messages

if TYPE_CHECKING:
    from discreet.records.staging import Progress as LoadProgress


@contextmanager
def load_bars() -> Iterator[Callable[[str, int | None], LoadProgress]]:
    """Bars for loads, shown from the first report on.

    Yields a function from a dataset's id and its number of records to the progress callback of a load.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.completed:,.0f}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    bars = Progress(*columns, console=messages)
    try:
        yield lambda name, records: _reporter(bars, name, records)
    finally:
        if bars.tasks:
            bars.stop()


def _reporter(bars: Progress, name: str, records: int | None) -> LoadProgress:
    tasks: dict[str, TaskID] = {}

    def report(what: str, done: int, of: int | None) -> None:
        total = of if of is not None else records
        if total is not None:
            total = max(total, done)  # before a file is read to its end, its records are estimated
        if what not in tasks:
            for task in bars.tasks:
                bars.update(task.id, total=task.completed)
            bars.start()
            tasks[what] = bars.add_task(f"{name}: {what.lower()}", total=total)
        bars.update(tasks[what], completed=done, total=total)

    return report


@contextmanager
def simulation_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for one long computation; yields a callback for the number done and the total."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=messages, transient=True) as bars:
        task = bars.add_task(what, total=None)
        yield lambda done, of: bars.update(task, completed=done, total=of)
