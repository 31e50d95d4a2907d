r"""How filters and groups are written in one line, the same in a URL, on the command line, on the page and in Python.

    filter   birthplace=2,3      age=25..64      birthplace!=1      district=region:R01      district=R01*
    group    age=15-19+20-24,25-29      age=Young:..14,Old:65..
    levels   district=region,district      district=*

A comma separates items, a plus joins the items of one group, and a backslash takes the next character literally
(`a\,b` is the code "a,b"). Writing and reading are inverse for every code. This module takes a line apart; what an item
means, only its variable can tell (`selection.py`): a backslash that protects `.`, `:`, `*` or `?` stays in the item.

A filter by `!=` has a `!` after its variable, `("birthplace!", ("1",))`: no name of a variable ends so.
"""

from __future__ import annotations

import re

from discreet.errors import BadRequest
from discreet.model.told import told

_SPECIAL = "\\,+="
_PROTECTED = re.compile(r"\\([\\,+=])")


def escape(code: str) -> str:
    r"""Write a code so that `split` reads it back whole.

    >>> escape("a,b")
    'a\\,b'
    """
    return "".join("\\" + c if c in _SPECIAL else c for c in code)


def split(text: str, separator: str, *, limit: int = -1) -> list[str]:
    r"""Split at a separator that no backslash protects; escapes stay for the next split.

    >>> split(r"a\,b,c", ",")
    ['a\\,b', 'c']
    """
    parts: list[str] = []
    start = place = 0
    while place < len(text):
        if text[place] == "\\":
            place += 2
        elif len(parts) != limit and text.startswith(separator, place):
            parts.append(text[start:place])
            start = place = place + len(separator)
        else:
            place += 1
    return [*parts, text[start:]]


def unescape(text: str) -> str:
    """Take the backslashes out again, and the blanks around."""
    result, skip = "", False
    for character in text.strip():
        if character == "\\" and not skip:
            skip = True
            continue
        result += character
        skip = False
    if skip:
        raise BadRequest(
            told("{text!r} ends in a lone backslash.", text=text), told("Write two backslashes for one.")
        )
    return result


def parse_names(texts: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Read comma-separated names, given once or repeatedly.

    >>> parse_names(["sex, age", "region"])
    ('sex', 'age', 'region')
    """
    return tuple(name for text in texts for name in map(unescape, split(text, ",")) if name)


def parse_filter(text: str) -> tuple[str, tuple[str, ...]]:
    """Read one filter.

    >>> parse_filter("birthplace=2,3")
    ('birthplace', ('2', '3'))
    >>> parse_filter("age != 65..")
    ('age!', ('65..',))
    """
    name, items = _assignment(text, told("filter"), "birthplace=2,3")
    return name, tuple(_item(item) for item in split(items, ","))


def parse_choice(name: str, text: str) -> tuple[str, tuple[str, ...]]:
    """Read what is written of one variable: as in a filter, without its name.

    >>> parse_choice("birthplace", "2,3"), parse_choice("birthplace", "!=1")
    (('birthplace', ('2', '3')), ('birthplace!', ('1',)))
    """
    return parse_filter(name + text if text.lstrip().startswith("!=") else f"{name}={text}")


def parse_levels(text: str) -> tuple[str, tuple[str, ...]]:
    """Read the levels of one variable.

    >>> parse_levels("district=region,district")
    ('district', ('region', 'district'))
    """
    name, levels = _assignment(text, told("level"), "district=region,district")
    return name, tuple(unescape(level) for level in split(levels, ","))


def parse_group(text: str) -> tuple[str, tuple[tuple[str, ...], ...]]:
    """Read the groups of one variable; a name stays in the first item of its group.

    >>> parse_group("age=15-19+20-24,Old:65..")
    ('age', (('15-19', '20-24'), ('Old:65..',)))
    """
    name, groups = _assignment(text, told("group"), "age=15-19+20-24,25-29")
    return name, tuple(parse_members(group) for group in split(groups, ","))


def parse_members(text: str) -> tuple[str, ...]:
    """Read the items of one group."""
    return tuple(_item(item) for item in split(text, "+"))


def write_filter(name: str, items: tuple[str, ...]) -> str:
    """Write a filter as `parse_filter` reads it."""
    return f"{name}=" + ",".join(map(escape, items))


def write_group(name: str, groups: tuple[tuple[str, ...], ...]) -> str:
    """Write groups as `parse_group` reads them."""
    return f"{name}=" + ",".join("+".join(map(escape, group)) for group in groups)


def protect(text: str, special: str) -> str:
    r"""Put a backslash before characters that would mean something inside an item.

    >>> protect("a:b", ":")
    'a\\:b'
    """
    return "".join("\\" + c if c in special or c == "\\" else c for c in text)


def _item(text: str) -> str:
    """One item, in which commas, pluses, equals signs and backslashes are plain characters again."""
    text = text.strip()
    if (len(text) - len(text.rstrip("\\"))) % 2:
        raise BadRequest(
            told("{text!r} ends in a lone backslash.", text=text), told("Write two backslashes for one.")
        )
    return _PROTECTED.sub(r"\1", text)


def _assignment(text: str, what: str, example: str) -> tuple[str, str]:
    parts = split(text, "=", limit=1)
    name = unescape(parts[0])
    if len(parts) != 2 or not name.rstrip("!") or not parts[1].strip():
        raise BadRequest(
            told("The {what} {text!r} cannot be read.", what=what, text=text),
            told("Write it like {example}.", example=example),
        )
    return (f"{name[:-1].rstrip()}!" if name.endswith("!") else name), parts[1]
