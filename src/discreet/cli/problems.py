"""What is wrong with records, for the custodian's terminal: the first ten with their lines, and counts a variable."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.text import Text

from discreet.cli.console import emit_json, messages
from discreet.errors import BadData, BadRecords
from discreet.model.one_line import printable

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def problems_told(*, as_json: bool) -> Iterator[None]:
    """Tell all problems of a load that is refused, on standard error and, if asked, as JSON on standard output."""
    try:
        yield
    except BadData as error:
        if isinstance(error, BadRecords) and sum(error.counts.values()) > 1:
            _tell(error)
        if as_json:
            emit_json(_document(error))
        raise


def _document(error: BadData) -> dict[str, object]:
    document: dict[str, object] = {"error": error.code, "message": error.message, "advice": error.advice}
    if isinstance(error, BadRecords):
        document |= {"problems": list(error.problems), "counts": error.counts}
    return document


def _tell(error: BadRecords) -> None:
    total = sum(error.counts.values())
    messages.print(f"{total:,} problems, for your eyes only:", style="bold")
    for problem in error.problems:
        unit = next(key for key in ("line", "row", "record") if key in problem)
        told = f"  {unit} {problem[unit]:,}: {problem['message']} {problem['advice']}"
        messages.print(Text(printable(told)), soft_wrap=True)
    if total > len(error.problems):
        messages.print(f"  and {total - len(error.problems):,} more")
    listed = ", ".join(f"{name} {count:,}" for name, count in error.counts.items())
    messages.print(Text(printable(f"Problems by variable: {listed}")), soft_wrap=True)
