"""Parts of the sentences with which rules refuse a request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from discreet.model.hierarchy import coarser
from discreet.model.messages.text import Message, message

if TYPE_CHECKING:
    from discreet.model.dataset import Dataset


def quote_names(names: Iterable[str]) -> Message:
    """Names in quotes, in a sentence.

    >>> quote_names(["age", "job", "sex"])
    '"age", "job" and "sex"'
    """
    return Message("{names}", {"names": tuple(f'"{name}"' for name in names)})


def or_coarser(dataset: Dataset, level: str | None) -> str:
    """The end of an advice: a coarser level than the one with the limit."""
    if level is None:
        return ""
    above = coarser(dataset, level)
    if not above:
        return message(", or leave the geography out")
    return message(', or use "{coarser}" in place of "{level}"', coarser=above[0], level=level)


def at_level(level: str | None) -> str:
    """The level at which a limit applies.

    >>> at_level("area")
    ' at "area" or below'
    """
    return "" if level is None else message(' at "{level}" or below', level=level)


def cell_count(cells: int) -> str:
    """The number of cells of a table, rounded to a power of ten where it is huge.

    >>> cell_count(1200), cell_count(7 * 10**20)
    ('1,200', 'about 10^20')
    """
    if cells < 10**15:
        return Message("{cells:,}", {"cells": cells})
    return message("about 10^{power}", power=len(str(cells)) - 1)
