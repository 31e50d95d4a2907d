"""What a reader who builds does to a table: put a variable on a shelf, take it off, swap, choose categories, group them.

Each is a function from a request to a request, so that every control of the page is a link to another address.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from discreet.model.group_names import NamedGroups
    from discreet.model.request import TableRequest

#: The shelves that are axes of the table.
AXES = ("rows", "columns", "layers")


def placed(request: TableRequest, name: str, axis: str, place: int | None = None) -> TableRequest:
    """Put a variable on an axis: last, or at a place; it leaves the one where it was.

    >>> from discreet.model.request import TableRequest
    >>> placed(TableRequest("census", ("sex", "age")), "age", "rows", 0).rows
    ('age', 'sex')
    """
    left = {each: [n for n in getattr(request, each) if n != name] for each in AXES}
    left[axis].insert(len(left[axis]) if place is None else place, name)
    rows, columns, layers = (tuple(left[each]) for each in AXES)
    return replace(request, rows=rows, columns=columns, layers=layers)


def taken_out(request: TableRequest, name: str) -> TableRequest:
    """Take a variable out of the table, with its groups and levels; what is counted stays as it is."""
    rows, columns, layers = (tuple(n for n in getattr(request, each) if n != name) for each in AXES)
    plain = ungrouped(levelled(request, name, ()), name)
    return replace(plain, rows=rows, columns=columns, layers=layers)


def swapped(request: TableRequest) -> TableRequest:
    """Rows become columns, and columns rows."""
    return replace(request, rows=request.columns, columns=request.rows)


def counted_only(request: TableRequest, name: str, items: Iterable[str]) -> TableRequest:
    """Count only people in these categories of a variable; without one, everybody."""
    kept = tuple(entry for entry in request.filters if entry[0].removesuffix("!") != name)
    chosen = tuple(items)
    return replace(request, filters=(*kept, (name, chosen)) if chosen else kept)


def levelled(request: TableRequest, name: str, levels: tuple[str, ...]) -> TableRequest:
    """Show a variable at these levels; without one, by its own categories."""
    kept = tuple(entry for entry in request.levels if entry[0] != name)
    return replace(request, levels=(*kept, (name, levels)) if levels else kept)


def ungrouped(request: TableRequest, name: str) -> TableRequest:
    """Show a variable without groups."""
    return regrouped(request, name, ())


def regrouped(request: TableRequest, name: str, groups: NamedGroups) -> TableRequest:
    """Show a variable by groups, each with its name; it then has no levels."""
    kept = tuple(entry for entry in request.groups if entry[0] != name)
    named = tuple(entry for entry in request.names if entry[0] != name)
    if not groups:
        return replace(request, groups=kept, names=named)
    return replace(
        levelled(request, name, ()),
        groups=(*kept, (name, tuple(codes for codes, _ in groups))),
        names=(*named, (name, groups)),
    )


def grouped_as(shown: NamedGroups, codes: Iterable[str], name: str) -> NamedGroups:
    """One more group: its categories leave the groups in which they were.

    >>> grouped_as(((("1",), ""), (("2",), ""), (("3",), "")), ["1", "2"], "Both")
    ((('1', '2'), 'Both'), (('3',), ''))
    """
    taken = tuple(codes)
    rest = [(tuple(c for c in members if c not in taken), label) for members, label in shown]
    return ((taken, name), *((members, label) for members, label in rest if members))
