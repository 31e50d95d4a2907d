r"""The query grammar of filters, groups, levels and `fit_to`, the same in URLs, on the command line and in Python.

    filter   birthplace=2,3      age=25..64      birthplace!=1      district=region:R01      district=R01*
    group    age=15-19+20-24,25-29      age=Young:..14,Old:65..
    levels   district=region,district      district=*
    fit_to   area,sex*age

A comma separates items, a plus joins the items of a group, and a backslash escapes the next character (`a\,b` is the code
"a,b"); writing and parsing are inverse for every code. This module splits a line; `selection.py` interprets an item, so
a backslash before `.`, `:`, `*` or `?` stays in it. A filter by `!=` has a `!` after its variable: `("age!", ("65",))`.

Python also accepts mappings by variable, `{"age": "25..64"}` or `{"birthplace": ["2", "3"]}`; items of a list are literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from discreet.errors import BadRequest
from discreet.model.limits import MOST_TABLES_FITTED_TO
from discreet.model.messages.text import message

if TYPE_CHECKING:
    from discreet.model.dataset import Dataset
    from discreet.model.request import Filters, Groups, Levels, Names
    from discreet.model.selection import NamedGroups


_SPECIAL = "\\,+="
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_PROTECTED = re.compile(r"\\([\\,+=])")


def escape(code: str) -> str:
    """Escape a code so that `split` returns it whole."""
    return "".join("\\" + c if c in _SPECIAL else c for c in code)


def split(text: str, separator: str, *, limit: int = -1) -> list[str]:
    r"""Split at unescaped separators; escapes stay for the next split.

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
    """Remove the escapes and the blanks at both ends."""
    return _ESCAPED.sub(r"\1", _strip(text))


def _strip(text: str) -> str:
    """Remove the blanks at both ends; a text that ends within an escape is refused."""
    text = text.strip()
    if (len(text) - len(text.rstrip("\\"))) % 2:
        raise BadRequest(
            message("{text!r} ends in a lone backslash.", text=text),
            message("Write two backslashes for one."),
        )
    return text


def parse_names(texts: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    """Parse comma-separated names, given once or repeatedly."""
    return tuple(name for text in texts for name in map(unescape, split(text, ",")) if name)


def parse_filter(text: str) -> tuple[str, tuple[str, ...]]:
    """Parse a filter.

    >>> parse_filter("birthplace=2,3")
    ('birthplace', ('2', '3'))
    >>> parse_filter("age != 65..")
    ('age!', ('65..',))
    """
    name, items = _assignment(text, message("filter"), "birthplace=2,3")
    return name, tuple(_item(item) for item in split(items, ","))


def parse_choice(name: str, text: str) -> tuple[str, tuple[str, ...]]:
    """Parse the part of a filter after its variable."""
    return parse_filter(name + text if text.lstrip().startswith("!=") else f"{name}={text}")


def parse_levels(text: str) -> tuple[str, tuple[str, ...]]:
    """Parse the levels of a variable."""
    name, levels = _assignment(text, message("level"), "district=region,district")
    return name, tuple(unescape(level) for level in split(levels, ","))


def parse_group(text: str) -> tuple[str, tuple[tuple[str, ...], ...]]:
    """Parse the groups of a variable; a name stays in the first item of its group.

    >>> parse_group("age=15-19+20-24,Old:65..")
    ('age', (('15-19', '20-24'), ('Old:65..',)))
    """
    name, groups = _assignment(text, message("group"), "age=15-19+20-24,25-29")
    return name, tuple(parse_members(group) for group in split(groups, ","))


def parse_members(text: str) -> tuple[str, ...]:
    """Parse the items of one group."""
    return tuple(_item(item) for item in split(text, "+"))


def write_filter(name: str, items: tuple[str, ...]) -> str:
    """Write a filter as `parse_filter` reads it."""
    return f"{name}=" + ",".join(map(escape, items))


def write_group(name: str, groups: tuple[tuple[str, ...], ...]) -> str:
    """Write groups as `parse_group` reads them."""
    return f"{name}=" + ",".join("+".join(map(escape, group)) for group in groups)


def protect(text: str, special: str) -> str:
    """Escape characters that have a meaning inside an item."""
    return "".join("\\" + c if c in special or c == "\\" else c for c in text)


def _item(text: str) -> str:
    """An item whose commas, pluses, equals signs and backslashes are unescaped."""
    return _PROTECTED.sub(r"\1", _strip(text))


def _assignment(text: str, what: str, example: str) -> tuple[str, str]:
    parts = split(text, "=", limit=1)
    name = unescape(parts[0])
    if len(parts) != 2 or not name.rstrip("!") or not parts[1].strip():
        raise BadRequest(
            message("The {what} {text!r} cannot be read.", what=what, text=text),
            message("Write it like {example}.", example=example),
        )
    return (f"{name[:-1].rstrip()}!" if name.endswith("!") else name), parts[1]


def read_filters(filters: object) -> Filters:
    """Filters from a mapping or from lines."""
    return tuple(
        parse_choice(name, codes) if isinstance(codes, str) else (name, _codes(name, codes))
        for name, codes in _pairs("filters", filters, parse_filter)
    )


def read_levels(levels: object) -> Levels:
    """Levels from a mapping or from lines."""
    return tuple(
        parse_levels(f"{name}={names}") if isinstance(names, str) else (name, _codes(name, names))
        for name, names in _pairs("levels", levels, parse_levels)
    )


def read_groups(groups: object) -> tuple[Groups, Names]:
    """Groups from a mapping or from lines, and the names that a mapping gives them."""
    found = [(name, _groups(name, parts)) for name, parts in _pairs("groups", groups, parse_group)]
    plain = tuple((name, tuple(codes for codes, _ in parts)) for name, parts in found)
    return plain, tuple((name, parts) for name, parts in found if any(label for _, label in parts))


def _groups(name: str, groups: object) -> NamedGroups:
    if isinstance(groups, str):
        groups = parse_group(f"{name}={groups}")[1]
    if isinstance(groups, Mapping):
        return tuple(
            (parse_members(group) if isinstance(group, str) else _codes(name, group), str(label))
            for label, group in groups.items()
        )
    if not isinstance(groups, Iterable):
        raise BadRequest(
            f'The groups of "{name}" are no list: {groups!r}.', 'Give a list of lists: [["15-19", "20-24"]].'
        )
    return tuple((_codes(name, group), "") for group in groups)


def _codes(name: str, codes: object) -> tuple[str, ...]:
    if isinstance(codes, str) or not isinstance(codes, Iterable):
        raise BadRequest(f'The codes of "{name}" are no list: {codes!r}.', f'Give a list: ["{codes}"].')
    return tuple(str(code) for code in codes)


def _pairs(
    argument: str, given: object, parse: Callable[[str], tuple[str, Any]]
) -> Iterable[tuple[str, Any]]:
    if given is None:
        return ()
    if isinstance(given, Mapping):
        return tuple((str(name), entry) for name, entry in given.items())
    lines = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(line, str) for line in lines):
        raise BadRequest(
            f"{argument} is {given!r}.",
            f'Give a mapping by variable, {argument}={{"sex": ["1"]}}, or lines, {argument}=["sex=1"].',
        )
    return tuple(parse(line) for line in lines if line.strip())


#: Requests no published tables where the dataset declares some.
NO_TABLES = "none"


def variables_of(word: str) -> tuple[str, ...]:
    """The variables of a published table."""
    return tuple(name.strip() for name in word.split("*") if name.strip())


def canonical_fit_to(words: Iterable[str], dataset: Dataset) -> tuple[str, ...]:
    """The published tables in canonical order: fewer variables first, then in the dataset's order.

    Each is fitted to those before it.

    Raises:
        UnknownVariable: With the nearest match.
        BadRequest: A table without variables, or too many tables.
    """
    given = [word.strip() for word in words if word.strip()]
    if given == [NO_TABLES]:
        return (NO_TABLES,)
    order = {variable.name: place for place, variable in enumerate(dataset.variables)}
    tables = set()
    for word in given:
        names = variables_of(word)
        for name in names:
            dataset.variable(name)
        if not names or len(set(names)) != len(names):
            raise BadRequest(
                message("fit_to has the table {word!r}.", word=word),
                message("Name each of its variables once, as in sex*age."),
            )
        tables.add(tuple(sorted(names, key=order.__getitem__)))
    if len(tables) > MOST_TABLES_FITTED_TO:
        raise BadRequest(
            message("fit_to has {tables} tables.", tables=len(tables)),
            message("Give at most {most_tables}.", most_tables=MOST_TABLES_FITTED_TO),
        )
    ordered = sorted(tables, key=lambda names: (len(names), [order[name] for name in names]))
    return tuple("*".join(names) for names in ordered)
