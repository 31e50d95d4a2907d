"""What a part of `discreet bench` is: a way to measure, and the columns in which its results are shown.

A result is one line: a dictionary that is also the JSON. Comes from: the modules of this folder, each with a `PART`.
Goes to: `discreet bench`.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants measured; a part takes its own numbers where none is given.

    Args:
        repeats: Runs of each; the best counts.
        peers: Whether other programs are timed too.
        points: Names of points of a grid; all where there is none.
        quick: Whether a part of the grid, with few samples, is enough.
    """

    rows: tuple[int, ...] = ()
    repeats: int | None = None
    peers: bool = True
    points: tuple[str, ...] = ()
    quick: bool = False
    say: Callable[[str], None] = print


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the benchmark.

    Args:
        measure: Gives the results of a wish, one after the other.
        columns: From the header of a column to the text of a result in it; the first is the label.
        document: With `--out`, from the lines of the table and the results to a page; None where there is none.
        pictures: With `--out`, from the results to charts by the name that is added to the page's.
        takes_rows: Whether the number of records is the reader's choice.
    """

    measure: Callable[[Wish], Iterable[Result]]
    columns: Mapping[str, Callable[[Result], str]]
    document: Callable[[list[str], list[Result]], str] | None = None
    pictures: Callable[[list[Result]], Mapping[str, Any]] = lambda _results: {}
    takes_rows: bool = False


def figure(key: str, form: str) -> Callable[[Result], str]:
    """The text of a number in a column; nothing where there is none.

    >>> figure("seconds", "{:.2f} s")({"seconds": 0.5}), figure("seconds", "{:.2f} s")({"seconds": None})
    ('0.50 s', '')
    """
    return lambda result: "" if result[key] is None else form.format(result[key])


def in_turns(
    works: Sequence[Callable[[], object]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> list[list[float]]:
    """The seconds of each of some works, taken in turns after one warm-up: a busy machine slows all of them alike."""
    times: list[list[float]] = [[] for _ in works]
    for turn in range(repeats + 1):
        for own, work in zip(times, works, strict=True):
            begin = clock()
            work()
            if turn:
                own.append(clock() - begin)
    return times


def best(work: Callable[[], object], repeats: int) -> float:
    """The shortest of some runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
