"""How a selection is written: codes, wildcards and the expressions of PxWebApi 2.

    1,2   *   1?   TOP(3)   TOP(3,1)   BOTTOM(2)   RANGE(a,b)   FROM(a)   TO(b)   [a code, with a comma]

All of them look at the codes in the order of the metadata, in which the total `_T` is the last. A code that is there
is always meant itself, even if it looks like an expression. Equal ones are read once; those that are no code look at all
codes of their variable, so there may be as many of them as of a request's patterns (`model/selection.py`).

Source: PxTools, PxApiSpecs, PxAPI-2.yml.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from discreet.errors import BadRequest, UnknownCategory
from discreet.model.nearest import nearest
from discreet.model.selection import match_form, most_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_EXPRESSION = re.compile(r"(top|bottom|range|from|to)\((.*)\)\Z", re.IGNORECASE | re.DOTALL)
_CLOSES = {"(": ")", "[": "]"}


def split_list(text: str) -> list[str]:
    """Split at commas outside brackets; brackets around a whole item are taken off.

    >>> split_list("1, RANGE(a,b),[x,y]")
    ['1', 'RANGE(a,b)', 'x,y']
    """
    items, current, waiting = [], "", ""
    for character in text:
        if character == "," and not waiting:
            items.append(current)
            current = ""
            continue
        if not waiting:
            waiting = _CLOSES.get(character, "")
        elif character == waiting:
            waiting = ""
        current += character
    return [_bare(item) for item in (*items, current) if item.strip()]


def expand(name: str, expressions: Iterable[str], codes: Sequence[str]) -> tuple[str, ...]:
    """The codes that expressions select, in the order of the codes, each once.

    >>> expand("age", ["TOP(1)", "ol*"], ["child", "adult", "old", "_T"])
    ('child', 'old')

    Raises:
        UnknownCategory: A code is not there; the nearest is named.
        BadRequest: An expression cannot be read, or selects nothing; or there are too many that are no code.
    """
    known = _Codes(name, codes)
    once = dict.fromkeys(expressions)
    looked = sum(text not in known.places and text.casefold() not in known.alike for text in once)
    if looked > most_read([len(codes)]):
        raise BadRequest(
            f'The selection of "{name}" has {looked} expressions and words that are no code.',
            f"Write at most {most_read([len(codes)])}; codes are not counted.",
        )
    places: set[int] = set()
    for expression in once:
        found = [known.places[expression]] if expression in known.places else _places(expression, known)
        if not found:
            raise BadRequest(
                f'"{expression}" selects nothing of "{name}".', "Look at the codes in the table's metadata."
            )
        places.update(found)
    return tuple(codes[place] for place in sorted(places))


class _Codes:
    """The codes of a variable, with the place of each."""

    def __init__(self, name: str, codes: Sequence[str]) -> None:
        self.name = name
        self.places = {code: place for place, code in enumerate(codes)}
        self.alike: dict[str, list[int]] = {}
        for place, code in enumerate(codes):
            self.alike.setdefault(code.casefold(), []).append(place)

    def place(self, code: str) -> int:
        """Where a code stands; one that differs by case alone is taken, if it is the only one."""
        if code in self.places:
            return self.places[code]
        alike = self.alike.get(code.casefold(), [])
        if len(alike) != 1:
            raise UnknownCategory(
                f'The variable "{self.name}" has no value "{code}".', nearest(code, self.places)
            )
        return alike[0]


def _places(expression: str, known: _Codes) -> Sequence[int]:
    call = _EXPRESSION.match(expression.strip())
    if call is not None:
        return _called(expression, (call[1].lower(), split_list(call[2])), known)
    if "*" in expression or "?" in expression:
        return match_form(expression, known.places)
    return [known.place(expression)]


def _called(expression: str, call: tuple[str, list[str]], known: _Codes) -> Sequence[int]:
    """The places of TOP, BOTTOM, RANGE, FROM or TO."""
    word, given = call
    size = len(known.places)
    if (
        word in {"top", "bottom"}
        and 1 <= len(given) <= 2
        and all(text.isascii() and text.isdigit() for text in given)
    ):
        count, offset = int(given[0][:9]), int((given[1] if given[1:] else "0")[:9])
        first = range(offset, min(offset + count, size))
        return first if word == "top" else [size - 1 - place for place in first]
    if word in {"from", "to"} and len(given) == 1:
        place = known.place(given[0])
        return range(place, size) if word == "from" else range(place + 1)
    if word == "range" and len(given) == 2:
        return range(known.place(given[0]), known.place(given[1]) + 1)
    raise BadRequest(
        f'The expression "{expression}" on "{known.name}" cannot be read.',
        "Write TOP(3), TOP(3,1), BOTTOM(3), RANGE(first,last), FROM(first) or TO(last).",
    )


def _bare(item: str) -> str:
    item = item.strip()
    return item[1:-1] if item.startswith("[") and item.endswith("]") else item
