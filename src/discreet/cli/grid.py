"""A table on the screen: as many columns as fit stand beside each other, and the rest below, with the labels repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from discreet.model.one_line import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

WIDEST_HEADER = 14
WIDEST_STUB = 36
NARROWEST_STUB = 12
_GAP = 2
_SEPARATOR = 1


def print_grid(
    console: Console, title: str, headers: list[str], lines: list[list[str]], stubs: int, together: int = 1
) -> None:
    """Print a table of text: the first `stubs` columns are labels, the others are numbers.

    So many columns of numbers as `together` says belong to each other and are never parted.
    """
    console.print(Text(printable(title), style="bold"))
    widths = [_width(place, headers, lines, stubs) for place in range(len(headers))]
    widths = _narrowed(widths, stubs, console.width, together)
    for numbers in _blocks(widths, stubs, console.width, together):
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


def _width(place: int, headers: list[str], lines: list[list[str]], stubs: int) -> int:
    """Numbers are never cut; a header wraps between words."""
    longest = max((len(line[place]) for line in lines), default=0)
    if place < stubs:
        return min(WIDEST_STUB, max(longest, len(headers[place])))
    words = max((len(word) for word in headers[place].split()), default=0)
    return max(longest, min(WIDEST_HEADER, max(words, min(len(headers[place]), 8))))


def _narrowed(widths: list[int], stubs: int, room: int, together: int) -> list[int]:
    """The widest label gives way, and wraps, where labels and the first numbers are wider than the screen."""
    first = widths[: stubs + together]
    excess = sum(first) + (_GAP + _SEPARATOR) * len(first) + 2 - room
    if excess <= 0 or not stubs:
        return widths
    widest = max(range(stubs), key=lambda place: widths[place])
    narrower = max(NARROWEST_STUB, widths[widest] - excess)
    return [min(width, narrower) if place == widest else width for place, width in enumerate(widths)]


def _blocks(widths: list[int], stubs: int, room: int, together: int) -> Iterator[list[int]]:
    """Groups of number columns that fit beside the stub."""
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
