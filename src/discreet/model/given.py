"""What Python gives for filters, groups and levels: mappings by variable, or lines of the one grammar.

    filters   {"birthplace": ["2", "3"]}   {"age": "25..64", "birthplace": "!=1"}   ["age=25..64", "birthplace!=1"]
    groups    {"age": [["15-19", "20-24"]]}   {"age": {"Young": "..14", "Old": ["65+"]}}   ["age=Young:..14,Old:65.."]
    levels    {"district": ["region", "district"]}   {"district": "*"}   ["district=*"]

Text is read as on the command line. In a list each item stands for itself: no comma or plus in it separates anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from discreet.errors import BadRequest
from discreet.model.grammar import parse_choice, parse_filter, parse_group, parse_levels, parse_members

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.model.group_names import NamedGroups
    from discreet.model.request import Filters, Groups, Levels, Names


def given_filters(filters: object) -> Filters:
    """The filters of a request.

    >>> given_filters({"age": "25..64", "sex": ["1"]})
    (('age', ('25..64',)), ('sex', ('1',)))
    """
    return tuple(
        parse_choice(name, codes) if isinstance(codes, str) else (name, _codes(name, codes))
        for name, codes in _pairs("filters", filters, parse_filter)
    )


def given_levels(levels: object) -> Levels:
    """The levels of a request."""
    return tuple(
        parse_levels(f"{name}={names}") if isinstance(names, str) else (name, _codes(name, names))
        for name, names in _pairs("levels", levels, parse_levels)
    )


def given_groups(groups: object) -> tuple[Groups, Names]:
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
