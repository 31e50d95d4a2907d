r"""How filters and groups are written in one line, the same in a URL, on the command line, on the page and in Python.

    filter   birthplace=2,3      age=25..64      birthplace!=1      district=region:R01      district=R01*
    group    age=15-19+20-24,25-29      age=Young:..14,Old:65..
    levels   district=region,district      district=*

A comma separates items, a plus joins the items of one group, and a backslash takes the next character literally
(`a\,b` is the code "a,b"). Writing and reading are inverse for every code. This module takes a line apart; what an item
means, only its variable can tell (`selection.py`): a backslash that protects `.`, `:`, `*` or `?` stays in the item.

A filter by `!=` has a `!` after its variable, `("birthplace!", ("1",))`: no name of a variable ends so.

What Python gives for filters, groups and levels: mappings by variable, or lines of the one grammar.

    filters   {"birthplace": ["2", "3"]}   {"age": "25..64", "birthplace": "!=1"}   ["age=25..64", "birthplace!=1"]
    groups    {"age": [["15-19", "20-24"]]}   {"age": {"Young": "..14", "Old": ["65+"]}}   ["age=Young:..14,Old:65.."]
    levels    {"district": ["region", "district"]}   {"district": "*"}   ["district=*"]

Text is read as on the command line. In a list each item stands for itself: no comma or plus in it separates anything.

Published tables that a fitted table agrees with: `fit_to = ["area", "sex*age"]`.

Each word names a table by its variables. All words together are a set of tables whose common totals are the same in
every one of them, and in every fitted table that names the set. The order is fixed: tables of fewer variables come
first, then in the dataset's order; each is fitted to those before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from discreet.errors import BadRequest
from discreet.model.messages.text import message

if TYPE_CHECKING:
    from discreet.model.dataset import Dataset
    from discreet.model.request import Filters, Groups, Levels, Names
    from discreet.model.selection import NamedGroups


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
            message("{text!r} ends in a lone backslash.", text=text),
            message("Write two backslashes for one."),
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
    name, items = _assignment(text, message("filter"), "birthplace=2,3")
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
    name, levels = _assignment(text, message("level"), "district=region,district")
    return name, tuple(unescape(level) for level in split(levels, ","))


def parse_group(text: str) -> tuple[str, tuple[tuple[str, ...], ...]]:
    """Read the groups of one variable; a name stays in the first item of its group.

    >>> parse_group("age=15-19+20-24,Old:65..")
    ('age', (('15-19', '20-24'), ('Old:65..',)))
    """
    name, groups = _assignment(text, message("group"), "age=15-19+20-24,25-29")
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
            message("{text!r} ends in a lone backslash.", text=text),
            message("Write two backslashes for one."),
        )
    return _PROTECTED.sub(r"\1", text)


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
    """The filters of a request.

    >>> given_filters({"age": "25..64", "sex": ["1"]})
    (('age', ('25..64',)), ('sex', ('1',)))
    """
    return tuple(
        parse_choice(name, codes) if isinstance(codes, str) else (name, _codes(name, codes))
        for name, codes in _pairs("filters", filters, parse_filter)
    )


def read_levels(levels: object) -> Levels:
    """The levels of a request."""
    return tuple(
        parse_levels(f"{name}={names}") if isinstance(names, str) else (name, _codes(name, names))
        for name, names in _pairs("levels", levels, parse_levels)
    )


def read_groups(groups: object) -> tuple[Groups, Names]:
    """The groups of a request, and the names of those that a mapping names.

    >>> given_groups({"age": {"Young": "0-4+5-9"}})
    ((('age', (('0-4', '5-9'),)),), (('age', ((('0-4', '5-9'), 'Young'),)),))
    """
    found = [(name, _groups(name, parts)) for name, parts in _pairs("groups", groups, parse_group)]
    plain = tuple((name, tuple(codes for codes, _ in parts)) for name, parts in found)
    return plain, tuple((name, parts) for name, parts in found if any(label for _, label in parts))


def _groups(name: str, groups: object) -> NamedGroups:
    if isinstance(groups, str):
        groups = parse_group(f"{name}={groups}")[1]
    if isinstance(groups, Mapping):
        return tuple((_members(name, group), str(label)) for label, group in groups.items())
    if not isinstance(groups, Iterable):
        raise BadRequest(
            f'The groups of "{name}" are no list: {groups!r}.', 'Give a list of lists: [["15-19", "20-24"]].'
        )
    return tuple((_codes(name, group), "") for group in groups)


def _members(name: str, group: object) -> tuple[str, ...]:
    return parse_members(group) if isinstance(group, str) else _codes(name, group)


def _codes(name: str, codes: object) -> tuple[str, ...]:
    if isinstance(codes, str) or not isinstance(codes, Iterable):
        raise BadRequest(f'The codes of "{name}" are no list: {codes!r}.', f'Give a list: ["{codes}"].')
    return tuple(str(code) for code in codes)


def _pairs(
    argument: str, given: object, parse: Callable[[str], tuple[str, Any]]
) -> Iterable[tuple[str, Any]]:
    """What is given of each variable: the entries of a mapping, or of lines of the grammar."""
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


#: The word that asks for no published tables where a dataset declares some.
NO_TABLES = "none"
#: Every table of the set is made for every fitted table: more would make a reader wait.
MOST_TABLES = 8


def variables_of(word: str) -> tuple[str, ...]:
    """The variables of a table of the set.

    >>> variables_of("sex * age")
    ('sex', 'age')
    """
    return tuple(name.strip() for name in word.split("*") if name.strip())


def canonical_fit_to(words: Iterable[str], dataset: Dataset) -> tuple[str, ...]:
    """The words in their fixed order, each once.

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
    if len(tables) > MOST_TABLES:
        raise BadRequest(
            message("fit_to has {tables} tables.", tables=len(tables)),
            message("Give at most {most_tables}.", most_tables=MOST_TABLES),
        )
    ordered = sorted(tables, key=lambda names: (len(names), [order[name] for name in names]))
    return tuple("*".join(names) for names in ordered)
