"""Where a request looks: which levels of a geography, and which areas make up a coarser one.

A level is *at or below* another when every one of its areas lies within one area of the other. A request
is at or below a level when it uses that level or a finer one, in a filter as much as in the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.model import level_maps
from discreet.model.levels import level_groups, level_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from discreet.model.dataset import Dataset
    from discreet.model.levels import Group
    from discreet.model.request import TableRequest


def finer(dataset: Dataset, name: str) -> frozenset[str]:
    """The levels below a variable in its hierarchies: whoever sees one of them sees the variable."""
    key = (finer, name)
    if key not in dataset.worked_out:
        dataset.worked_out[key] = frozenset(
            level
            for hierarchy in dataset.hierarchies
            if name in hierarchy.levels
            for level in hierarchy.levels[hierarchy.levels.index(name) + 1 :]
        )
    found: frozenset[str] = dataset.worked_out[key]
    return found


def coarser(dataset: Dataset, name: str) -> tuple[str, ...]:
    """The levels above a variable in its hierarchies, the nearest first."""
    return tuple(
        dict.fromkeys(
            level
            for hierarchy in dataset.hierarchies
            if name in hierarchy.levels
            for level in reversed(hierarchy.levels[: hierarchy.levels.index(name)])
        )
    )


def finest(dataset: Dataset, names: frozenset[str]) -> tuple[str, ...]:
    """The variables of which no finer level is among the names, in the dataset's order.

    The coarser ones are functions of them: crossing both would only add empty cells.
    """
    return tuple(v.name for v in dataset.variables if v.name in names and not finer(dataset, v.name) & names)


def looked_at(request: TableRequest, dataset: Dataset, name: str) -> frozenset[str]:
    """The levels at which a request sees a variable: its own where it is filtered, grouped or by a code list."""
    chosen = {name for name, _ in (*request.filters, *request.groups)}
    levels = dict(request.levels).get(name, (name,))
    if name in chosen:
        return frozenset({name})
    above = coarser(dataset, name)
    return frozenset(level if level in above else name for level in levels)


def shows(request: TableRequest, dataset: Dataset, name: str) -> frozenset[str]:
    """The variables of a request by which it sees a variable: itself, or a finer level of its hierarchy."""
    telling = {name} | finer(dataset, name)
    return frozenset(used for used in request.used if looked_at(request, dataset, used) & telling)


def at_or_below(request: TableRequest, dataset: Dataset, level: str | None) -> bool:
    """Whether a request uses this level of a geography, or a finer one; no level means always."""
    return level is None or bool(shows(request, dataset, level))


def ancestors(dataset: Dataset, fine: str, coarse: str) -> NDArray[np.int64]:
    """For each category of a level, the position of the same or a coarser level's category that holds it."""
    up = level_maps.ancestors(dataset, fine, coarse)
    return np.arange(len(dataset.variable(fine)), dtype=np.int64) if up is None else up


def units_of(
    dataset: Dataset, name: str, unions: list[tuple[int, ...]], level: str
) -> list[NDArray[np.int64]]:
    """For unions of a variable's categories, the areas of a level, finer or coarser, that their people live in."""
    if name == level or name in finer(dataset, level):
        owner = ancestors(dataset, name, level)
        return [np.unique(owner[list(members)]) for members in unions]
    owner = ancestors(dataset, level, name)
    return [np.flatnonzero(np.isin(owner, members)) for members in unions]


def holds_one(dataset: Dataset, names: Iterable[str], level: str) -> bool:
    """Whether one of the variables has, above a level, an area with a single area of that level in it."""
    return any(
        (np.bincount(ancestors(dataset, level, name)) == 1).any()
        for name in names
        if name in coarser(dataset, level)
    )


def chain(dataset: Dataset, name: str) -> tuple[str, ...]:
    """The levels of the first hierarchy that has a variable, from the coarsest down to it."""
    for hierarchy in dataset.hierarchies:
        if name in hierarchy.levels:
            return hierarchy.levels[: hierarchy.levels.index(name) + 1]
    return (name,)


def groupings(dataset: Dataset, name: str) -> dict[str, tuple[Group, ...]]:
    """The declared unions of a variable's categories, by coarser level or code list."""
    return {
        level: level_groups(dataset, name, level) for level in level_names(dataset, name) if level != name
    }
