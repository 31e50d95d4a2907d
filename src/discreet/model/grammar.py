r"""How filters and groups are written in one line, the same in a URL, on the command line and in Python.

    filter   birthplace=2,3
    group    age=15-19+20-24,25-29
    levels   district=region,district

A comma separates items, a plus joins the codes of one group, and a backslash takes the next character
literally (`a\,b` is the code "a,b"). Writing and reading are inverse for every code.
"""

from __future__ import annotations

from discreet.errors import BadRequest

_SPECIAL = "\\,+="


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
    current, skip = "", False
    for character in text:
        if skip or character != separator or len(parts) == limit:
            current += character
            skip = not skip and character == "\\"
            continue
        parts.append(current)
        current = ""
    return [*parts, current]


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
        raise BadRequest(f"{text!r} ends in a lone backslash.", "Write two backslashes for one.")
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
    """
    name, codes = _assignment(text, "filter", "birthplace=2,3")
    return name, tuple(unescape(code) for code in split(codes, ","))


def parse_levels(text: str) -> tuple[str, tuple[str, ...]]:
    """Read the levels of one variable.

    >>> parse_levels("district=region,district")
    ('district', ('region', 'district'))
    """
    name, levels = _assignment(text, "level", "district=region,district")
    return name, tuple(unescape(level) for level in split(levels, ","))


def parse_group(text: str) -> tuple[str, tuple[tuple[str, ...], ...]]:
    """Read the groups of one variable.

    >>> parse_group("age=15-19+20-24,25-29")
    ('age', (('15-19', '20-24'), ('25-29',)))
    """
    name, groups = _assignment(text, "group", "age=15-19+20-24,25-29")
    return name, tuple(tuple(unescape(code) for code in split(group, "+")) for group in split(groups, ","))


def write_filter(name: str, codes: tuple[str, ...]) -> str:
    """Write a filter as `parse_filter` reads it."""
    return f"{name}=" + ",".join(map(escape, codes))


def write_group(name: str, groups: tuple[tuple[str, ...], ...]) -> str:
    """Write groups as `parse_group` reads them."""
    return f"{name}=" + ",".join("+".join(map(escape, group)) for group in groups)


def _assignment(text: str, what: str, example: str) -> tuple[str, str]:
    parts = split(text, "=", limit=1)
    if len(parts) != 2 or not parts[0].strip() or not parts[1].strip():
        raise BadRequest(f"The {what} {text!r} cannot be read.", f"Write it like {example}.")
    return unescape(parts[0]), parts[1]
