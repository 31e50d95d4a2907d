"""Edits of a refused request, which a page offers as alternatives.

Each yields a new request or nothing; none leaves a table without variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from discreet.model.dataset import Dataset
from discreet.model.hierarchy import coarser, finest
from discreet.model.request import TableRequest

#: The choices of a request by variable.
_SAYINGS = ("filters", "groups", "levels")


def drop_variables(request: TableRequest, *names: str) -> Iterator[TableRequest]:
    """Remove variables from the table, filters, groups and levels."""
    rows, columns, layers = (
        tuple(name for name in axis if name not in names)
        for axis in (request.rows, request.columns, request.layers)
    )
    if rows or columns or layers:
        yield replace(request, rows=rows, columns=columns, layers=layers, **_unsaid(request, names))


def drop_choices(
    request: TableRequest, *names: str, what: Iterable[str] = ("groups",)
) -> Iterator[TableRequest]:
    """Drop the groups (or filters) of variables and keep the variables."""
    yield replace(request, **_unsaid(request, names, tuple(what)))


def add_variables(request: TableRequest, *names: str) -> Iterator[TableRequest]:
    """Add variables to the columns."""
    yield replace(request, columns=(*request.columns, *(n for n in names if n not in request.variables)))


def drop_one_variable(request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
    """Remove one variable that is no geography: hidden filters first, then the one with most categories."""
    free = sorted(request.used - dataset.geography)
    free.sort(key=lambda name: (name in request.variables, -len(dataset.variable(name))))
    for name in free:
        yield from drop_variables(request, name)


def use_larger_areas(request: TableRequest, dataset: Dataset) -> Iterator[TableRequest]:
    """Drop the finest level, or replace it by the next coarser one, or remove the geography."""
    for name in finest(dataset, request.used & dataset.geography):
        levels = dict(request.levels).get(name, (name,))
        if len(levels) > 1:
            fewer = tuple((each, levels[:-1] if each == name else kept) for each, kept in request.levels)
            yield replace(request, **_unsaid(request, (name,), ("filters",)), levels=fewer)
            continue
        above = coarser(dataset, levels[0]) or (
            () if levels[0] in dataset.geography else coarser(dataset, name)
        )
        upper = above[0] if above else None
        if upper is None or upper in request.variables or name not in request.variables:
            yield from drop_variables(request, name)
            continue
        rows, columns, layers = (
            tuple(upper if each == name else each for each in axis)
            for axis in (request.rows, request.columns, request.layers)
        )
        unsaid = _unsaid(request, (name, upper))
        yield replace(request, rows=rows, columns=columns, layers=layers, **unsaid)


def _unsaid(request: TableRequest, names: Iterable[str], what: tuple[str, ...] = _SAYINGS) -> dict[str, Any]:
    """The choices of a request without those of some variables."""
    gone = set(names)
    return {
        saying: tuple(entry for entry in getattr(request, saying) if entry[0] not in gone) for saying in what
    }
