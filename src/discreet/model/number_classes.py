"""Categories that are classes of whole numbers, "25-29" or "85+": where each begins and ends.

A range of ages may then be asked for by numbers, as long as its ends are where classes end: 25..64 is 25-29 to 60-64.
A number inside a class is refused with the name of the class: half a class cannot be counted.

Comes from: the codes and labels of a variable. Goes to: `selection`.
"""

from __future__ import annotations

import math
import re

#: The lowest and the highest number of a class.
Bounds = tuple[float, float]

_WORDS = r"(?:\s+[^0-9]*)?"
_CLASS = re.compile(rf"([0-9]{{1,18}})\s*(?:[-\u2013\u2014]|to)\s*([0-9]{{1,18}}){_WORDS}\Z")
_OPEN = re.compile(
    rf"([0-9]{{1,18}})(?:\s*\+{_WORDS}|(?:\s+[^0-9\s]+)?\s+(?:and|or)\s+(?:over|above|more|older))\Z",
    re.IGNORECASE,
)
_BELOW = re.compile(rf"(?:<|(?:under|below|less than)\s)\s*([0-9]{{1,18}}){_WORDS}\Z", re.IGNORECASE)
_SINGLE = re.compile(rf"([0-9]{{1,18}}){_WORDS}\Z")


def class_bounds(code: str, label: str) -> Bounds | None:
    """The lowest and the highest number of a category, by its code, else by its label; None if it is no class.

    >>> class_bounds("25-29", "25 to 29 years"), class_bounds("17", "85 years and over"), class_bounds("9", "Unknown")
    ((25, 29), (85, inf), (9, 9))
    """
    return _several(code) or _several(label) or _single(code) or _single(label)


def _several(text: str) -> Bounds | None:
    if found := _CLASS.match(text):
        low, high = int(found[1]), int(found[2])
        return (low, high) if low <= high else None
    if found := _OPEN.match(text):
        return int(found[1]), math.inf
    if found := _BELOW.match(text):
        return -math.inf, int(found[1]) - 1
    return None


def _single(text: str) -> Bounds | None:
    found = _SINGLE.match(text)
    return (int(found[1]), int(found[1])) if found else None
