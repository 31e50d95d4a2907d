"""How a selection is written: codes, wildcards and the expressions of PxWebApi 2.

    1,2   *   1?   TOP(3)   TOP(3,1)   BOTTOM(2)   RANGE(a,b)   FROM(a)   TO(b)   [a code, with a comma]

All of them look at the codes in the order of the metadata, in which the total `_T` is the last. A code that is there
is always meant itself, even if it looks like an expression.

Comes from: the query string or a body. Goes to: `selection`.
Source: PxTools, PxApiSpecs, PxAPI-2.yml.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from discreet.errors import BadRequest, UnknownCategory
from discreet.model.nearest import nearest
from discreet.model.selection import match_form

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
        BadRequest: An expression cannot be read, or selects nothing.
    """
    known = {code: place for place, code in enumerate(codes)}
    places: set[int] = set()
    for expression in expressions:
        found = [known[expression]] if expression in known else _places(name, expression, known)
        if not found:
            raise BadRequest(
                f'"{expression}" selects nothing of "{name}".', "Look at the codes in the table's metadata."
            )
        places.update(found)
    return tuple(codes[place] for place in sorted(places))


def _places(name: str, expression: str, known: dict[str, int]) -> Sequence[int]:
    call = _EXPRESSION.match(expression.strip())
    if call is not None:
        return _called(name, expression, (call[1].lower(), split_list(call[2])), known)
    if "*" in expression or "?" in expression:
        return match_form(expression, known)
    return [_place(name, expression, known)]


def _called(name: str, expression: str, call: tuple[str, list[str]], known: dict[str, int]) -> Sequence[int]:
    """The places of TOP, BOTTOM, RANGE, FROM or TO."""
    word, given = call
    size = len(known)
    if (
        word in {"top", "bottom"}
        and 1 <= len(given) <= 2
        and all(text.isascii() and text.isdigit() for text in given)
    ):
        count, offset = int(given[0][:9]), int((given[1] if given[1:] else "0")[:9])
        first = range(offset, min(offset + count, size))
        return first if word == "top" else [size - 1 - place for place in first]
    if word in {"from", "to"} and len(given) == 1:
        place = _place(name, given[0], known)
        return range(place, size) if word == "from" else range(place + 1)
    if word == "range" and len(given) == 2:
        return range(_place(name, given[0], known), _place(name, given[1], known) + 1)
    raise BadRequest(
        f'The expression "{expression}" on "{name}" cannot be read.',
        "Write TOP(3), TOP(3,1), BOTTOM(3), RANGE(first,last), FROM(first) or TO(last).",
    )


def _place(name: str, code: str, known: dict[str, int]) -> int:
    """Where a code stands; one that differs by case alone is taken, if it is the only one."""
    if code in known:
        return known[code]
    alike = [place for other, place in known.items() if other.casefold() == code.casefold()]
    if len(alike) != 1:
        raise UnknownCategory(f'The variable "{name}" has no value "{code}".', nearest(code, known))
    return alike[0]


def _bare(item: str) -> str:
    item = item.strip()
    return item[1:-1] if item.startswith("[") and item.endswith("]") else item
