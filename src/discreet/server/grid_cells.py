"""The cells of a table for the eye: a number or why there is none, what stands below it, what is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.model.release import STATUS_MEANING, STATUSES, UNRELIABLE
from discreet.server.words import number, say, written

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.model.release import Derived

    #: A cell: its text, its look's class, what stands below it, what is told of it.
    Cell = tuple[str, str, tuple[str, ...], str]


def derived_texts(
    column: Derived, here: tuple[NDArray[np.int64], ...], lengths: tuple[int, int, int]
) -> list[list[str]]:
    """Percentages or ranks for the eye; a dash where a percentage has no base."""
    none = "\N{EN DASH} %" if column.name == "percent" else ""
    pattern = "{} %" if column.name == "percent" else say("rank {number}", number="{}")
    values, missing = (array.reshape(lengths)[here].tolist() for array in (column.values, column.missing))
    return [
        [none if gone else pattern.format(number(value)) for value, gone in zip(*line, strict=True)]
        for line in zip(values, missing, strict=True)
    ]


def cell_of(
    value: int,
    signed: int,
    status: int,
    error: int,
    noise: int,
    low: int,
    high: int,
    least: float,
    most: float,
    *rest: str,
) -> Cell:
    """A number with separators for the eye, or the letter of why there is none; what stands below it; what is told of it.

    The rest is what was derived from it, and its look.
    """
    *beside, look = rest
    errors = (_error(error), say("noise {percent} %", percent=_whole(noise))) if error >= 0 else ()
    notes = tuple(filter(None, (*beside, *errors)))
    letter = STATUSES[status]
    if status and status != UNRELIABLE:
        return f"[{letter}]", f"{look} s".strip(), (), say(STATUS_MEANING[letter])
    told = [say("95 %: {low} to {high}", low=number(low), high=number(high))] if low >= 0 else []
    if least >= 0:  # neither below zero, which says that there is none, nor NaN
        told.append(say("share: {low} to {high} %", low=number(round(least, 1)), high=number(round(most, 1))))
    if status:
        return f"{number(value)} [{letter}]", look, notes, "; ".join([*told, say(STATUS_MEANING[letter])])
    if signed < value == 0:
        told.append(say("before it was raised to zero: {number}", number=number(signed)))
    return number(value), look, notes, "; ".join(told)


def _error(tenths: int) -> str:
    return say("RSE {error} %", error=written(tenths / 10, ".1f"))


def _whole(share: int) -> str:
    """Tenths of a percent as whole percent; what is there at all is never called nothing.

    >>> _whole(0), _whole(4), _whole(125)
    ('0', '<1', '13')
    """
    return "<1" if 0 < share < 10 else str((share + 5) // 10)
