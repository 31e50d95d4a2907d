"""A picture in words: how many numbers it has, the largest and the smallest, the total, and what is missing.

It stands beside every picture and in its file, for readers who do not see it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.model.one_line import printable
from discreet.model.told import Text, told, told_number

if TYPE_CHECKING:
    from discreet.pictures.shown import Shown


def words_of(kind: str, shown: Shown) -> str:
    """The sentences of a picture, in the language of the reader.

    Args:
        kind: What the chart is called.
        shown: What it shows.
    """
    values = shown.values
    known = np.flatnonzero(~np.isnan(values))
    sentences: list[Text] = [
        told("{kind}: {title:bare}.", kind=kind, title=shown.release.title),
        told_number("{count} number is drawn.", "{count} numbers are drawn.", known.size),
    ]
    if known.size:
        most, least = known[np.argmax(values[known])], known[np.argmin(values[known])]
        sentences.append(told("The largest is {cell}.", cell=shown.records[most]["_said"]))
        sentences.append(told("The smallest is {cell}.", cell=shown.records[least]["_said"]))
    total = _total(shown)
    if total is not None:
        sentences.append(told("The total is {total:,}.", total=total))
    if known.size < values.size:
        without = int(values.size - known.size)
        sentences.append(told_number("{count} has no number.", "{count} have no number.", without))
    return printable(" ".join(map(shown.say, sentences)))


def _total(shown: Shown) -> float | None:
    """The released total of the whole table; None where the table has none, or shows percentages."""
    release = shown.release
    if shown.percent is not None or not all(dimension.total for dimension in release.dimensions):
        return None
    last = tuple(dimension.length - 1 for dimension in release.dimensions)
    return None if release.missing[last] else release.values[last].item()
