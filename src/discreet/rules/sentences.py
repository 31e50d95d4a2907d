"""Parts of the sentences in which rules refuse.

Comes from: names of variables and levels. Goes to: the messages and advice of `kinds/`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.rules.places import coarser

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.model.dataset import Dataset


def listed(names: Iterable[str]) -> str:
    """Names in quotes, in a sentence.

    >>> listed(["age", "job", "sex"])
    '"age", "job" and "sex"'
    """
    quoted = [f'"{name}"' for name in names]
    return quoted[0] if len(quoted) == 1 else ", ".join(quoted[:-1]) + " and " + quoted[-1]


def or_coarser(dataset: Dataset, level: str | None) -> str:
    """The end of an advice: where a level sets the limit, a coarser one lifts it."""
    if level is None:
        return ""
    above = coarser(dataset, level)
    return f', or use "{above[0]}" in place of "{level}"' if above else ", or leave the geography out"


def at_level(level: str | None) -> str:
    """Where a limit holds.

    >>> at_level("area")
    ' at "area" or below'
    """
    return "" if level is None else f' at "{level}" or below'


def size(cells: int) -> str:
    """How many cells a table has, in words that fit a line.

    >>> size(1200), size(7 * 10**20)
    ('1,200', 'about 10^20')
    """
    return f"{cells:,}" if cells < 10**15 else f"about 10^{len(str(cells)) - 1}"
