"""Categories that are classes of whole numbers, "25-29" or "85+": where each begins and ends.

A range of ages may then be asked for by numbers, as long as its ends are where classes end: 25..64 is 25-29 to 60-64.
A number inside a class is refused with the name of the class: half a class cannot be counted.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The lowest and the highest number of a class.
Bounds = tuple[float, float]

_WORDS = r"(?:\s+[^0-9]*)?"
_CLASS = re.compile(rf"([0-9]{{1,18}})\s*(?:[-\u2013\u2014]|to)\s*([0-9]{{1,18}}){_WORDS}\Z")
_OPEN = re.compile(
    rf"([0-9]{{1,18}})(?:\s*\+{_WORDS}|(?:\s+[^0-9\s]+)?\s+(?:and|or)\s+(?:over|above|more|older))\Z",
    re.IGNORECASE,
)
_BELOW = re.compile(rf"(?:<|(?:under|below|less than)\s)\s*([0-9]{{1,18}}){_WORDS}\Z", re.IGNORECASE)
_BEGINNINGS = frozenset("0123456789<ubl")
_SINGLE = re.compile(rf"([0-9]{{1,18}}){_WORDS}\Z")


def number_classes(codes: Sequence[str], labels: Sequence[str]) -> dict[int, Bounds]:
    """The categories that are classes of numbers, by their places, each with its lowest and highest number.

    The codes tell it if one of them is a class of several numbers, else the labels; if all are single numbers, the
    codes again. A category that its own text does not make a class has no place here: "U", "Not stated".

    >>> number_classes(["1", "2", "9"], ["25 to 29 years", "30 and over", "Not stated"])
    {0: (25, 29), 1: (30, inf)}
    """
    telling = next((texts for texts in (codes, labels) if any(map(_several, texts))), None)
    telling = telling or (codes if any(map(_single, codes)) else labels)
    bounds = ((place, _several(text) or _single(text)) for place, text in enumerate(telling))
    return {place: each for place, each in bounds if each is not None}


def _several(text: str) -> Bounds | None:
    if text[:1].lower() not in _BEGINNINGS:
        return None  # at once: areas are many
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
