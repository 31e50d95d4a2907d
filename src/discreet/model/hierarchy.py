"""Levels of a variable: its own categories, coarser levels of its hierarchy, and its code lists.

A level is a list of groups of the variable's categories. Levels shown together must nest: every group of a finer level lies
within one group of the coarser level, or outside all of them. A set of categories can always be expressed at a finer level,
and at a coarser one only if it takes whole categories. A request is at or below a level if it uses that level or a finer
one, in a filter as much as in the table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.model.dataset import Dataset, per_dataset
from discreet.model.messages.text import message, nearest
from discreet.model.variable import Variable

if TYPE_CHECKING:
    from discreet.model.request import TableRequest


#: All levels of a variable's hierarchy down to its own categories.
ALL_LEVELS = "*"


@dataclass(frozen=True, slots=True)
class Group:
    """One category of a level, and the positions of the base categories in it, ascending."""

    code: str
    label: str
    members: tuple[int, ...]


def level_names(dataset: Dataset, variable: str) -> list[str]:
    """The levels at which a variable can be shown: coarser hierarchy levels, code lists, itself."""
    lists = [code_list.name for code_list in dataset.code_lists if code_list.variable == variable]
    return [*dict.fromkeys(chain.from_iterable(_levels_above(dataset, variable))), *lists, variable]


def _levels_above(dataset: Dataset, name: str) -> list[tuple[str, ...]]:
    """The levels above a variable in each of its hierarchies, coarse to fine."""
    return [h.levels[: h.levels.index(name)] for h in dataset.hierarchies if name in h.levels]


def level_label(dataset: Dataset, level: str) -> str:
    """The label of a level."""
    lists = {code_list.name: code_list.label for code_list in dataset.code_lists}
    return lists.get(level) or dataset.variable(level).label


def level_groups(dataset: Dataset, variable: str, level: str) -> tuple[Group, ...]:
    """The groups of one level of a variable; the error for an unknown level suggests the nearest."""
    names = level_names(dataset, variable)
    if level not in names:
        raise BadRequest(
            message('"{variable}" has no level "{level}".', variable=variable, level=level),
            nearest(level, names),
        )
    return _groups(dataset, variable, level)


def coarse_to_fine(dataset: Dataset, variable: str, levels: tuple[str, ...]) -> tuple[str, ...]:
    """The levels, coarsest first, each once; `*` is all of the hierarchy. Levels that do not nest are refused."""
    known = level_names(dataset, variable)
    lists = {code_list.name for code_list in dataset.code_lists}
    every = [level for level in known if level not in lists]
    asked = [each for level in levels for each in (every if level == ALL_LEVELS else (level,))]
    sized = {level: level_groups(dataset, variable, level) for level in dict.fromkeys(asked)}
    ordered = sorted(sized, key=lambda level: (level == variable, len(sized[level]), known.index(level)))
    for coarse, fine in pairwise(ordered):
        if not _nest(dataset, variable, coarse, fine):
            raise BadRequest(
                message(
                    'The levels "{coarse}" and "{fine}" of "{variable}" do not nest.',
                    coarse=coarse,
                    fine=fine,
                    variable=variable,
                ),
                message("Ask for them in two tables."),
            )
    return tuple(ordered)


@per_dataset
def _nest(dataset: Dataset, variable: str, coarse: str, fine: str) -> bool:
    wide, narrow = (level_groups(dataset, variable, level) for level in (coarse, fine))
    owner = {member: place for place, group in enumerate(wide) for member in group.members}
    return all(len({owner.get(member, -1) for member in group.members}) == 1 for group in narrow)


@per_dataset
def _groups(dataset: Dataset, variable: str, level: str) -> tuple[Group, ...]:
    own = dataset.variable(variable)
    if level == variable:
        return tuple(Group(c.code, c.label, (place,)) for place, c in enumerate(own.categories))
    for code_list in dataset.code_lists:
        if code_list.name == level:
            return tuple(
                Group(code, label, tuple(sorted(own.position(member) for member in members)))
                for code, label, members in code_list.groups
            )
    members: dict[int, list[int]] = {}
    for place, above in enumerate(ancestors_or_self(dataset, variable, level).tolist()):
        members.setdefault(above, []).append(place)
    coarse = enumerate(dataset.variable(level).categories)
    return tuple(Group(c.code, c.label, tuple(members[place])) for place, c in coarse if place in members)


def ancestors(dataset: Dataset, fine: str, coarse: str) -> NDArray[np.int64] | None:
    """For each category of the finer level the position of its ancestor; None if it is not a finer level."""
    for hierarchy in dataset.hierarchies:
        levels = hierarchy.levels
        if fine in levels and coarse in levels and levels.index(coarse) < levels.index(fine):
            positions = np.arange(len(dataset.variable(fine)), dtype=np.int64)
            for place in range(levels.index(fine), levels.index(coarse), -1):
                child, parent = dataset.variable(levels[place]), dataset.variable(levels[place - 1])
                positions = _parents(parent, child)[positions]
            return positions
    return None


@lru_cache(maxsize=64)
def _parents(parent: Variable, child: Variable) -> NDArray[np.int64]:
    up = np.array([parent.position(category.parent or "") for category in child.categories], dtype=np.int64)
    up.flags.writeable = False
    return up


def is_level_of(dataset: Dataset, name: str, other: str) -> bool:
    """Whether two variables are the same, or levels of one hierarchy."""
    return name == other or any({name, other} <= set(h.levels) for h in dataset.hierarchies)


def is_at_least_as_fine(dataset: Dataset, fine: str, coarse: str) -> bool:
    """Whether the categories of one variable are sums of categories of the other."""
    return fine == coarse or ancestors(dataset, fine, coarse) is not None


def _spread_down(dataset: Dataset, name: str, values: NDArray[Any], onto: str) -> NDArray[Any] | None:
    """Values of the categories of `name` for those of the same or a finer level; None for another variable."""
    up = ancestors(dataset, onto, name)
    return values if onto == name else None if up is None else values[up]


def map_labels(dataset: Dataset, name: str, labels: NDArray[np.int64], onto: str) -> NDArray[np.int64] | None:
    """Labels of the categories of `name` as labels of the categories of `onto`, for the same people.

    A label is -1 for people who are left out. None where `onto` is neither a finer level nor a coarser one that can express
    the labels.
    """
    narrow, down = _spread_down(dataset, name, labels, onto), ancestors(dataset, name, onto)
    if narrow is not None or down is None:
        return narrow
    wide = np.full(len(dataset.variable(onto)), -1, dtype=np.int64)
    wide[down] = labels
    return wide if np.array_equal(wide[down], labels) else None


def inside(dataset: Dataset, name: str, kept: NDArray[np.bool_], onto: str) -> NDArray[np.bool_] | None:
    """The categories of `onto` that lie wholly within kept categories of `name`; None if the variables are unrelated."""
    narrow, down = _spread_down(dataset, name, kept, onto), ancestors(dataset, name, onto)
    if narrow is not None or down is None:
        return narrow
    whole = np.zeros(len(dataset.variable(onto)), dtype=np.bool_)
    whole[down] = True
    whole[down[~kept]] = False
    return whole


@per_dataset
def finer(dataset: Dataset, name: str) -> frozenset[str]:
    """The levels below a variable in its hierarchies; each of them determines it."""
    found = (h.levels[h.levels.index(name) + 1 :] for h in dataset.hierarchies if name in h.levels)
    return frozenset(chain.from_iterable(found))


def coarser(dataset: Dataset, name: str) -> tuple[str, ...]:
    """The levels above a variable in its hierarchies, the nearest first."""
    return tuple(dict.fromkeys(level for above in _levels_above(dataset, name) for level in reversed(above)))


def finest(dataset: Dataset, names: frozenset[str]) -> tuple[str, ...]:
    """The variables without a finer level among the names, in the dataset's order.

    The coarser ones are functions of them: crossing both would only add empty cells.
    """
    return tuple(v.name for v in dataset.variables if v.name in names and not finer(dataset, v.name) & names)


def visible_levels(request: TableRequest, dataset: Dataset, name: str) -> frozenset[str]:
    """The levels at which a request shows a variable; its own if it is filtered, grouped or shown by a code list."""
    if name in dict((*request.filters, *request.groups)):
        return frozenset({name})
    above = coarser(dataset, name)
    return frozenset(level if level in above else name for level in dict(request.levels).get(name, (name,)))


def variables_showing(request: TableRequest, dataset: Dataset, name: str) -> frozenset[str]:
    """The variables of a request that show a variable: itself, or a finer level of its hierarchy."""
    telling = {name} | finer(dataset, name)
    return frozenset(used for used in request.used if visible_levels(request, dataset, used) & telling)


def at_or_below(request: TableRequest, dataset: Dataset, level: str | None) -> bool:
    """Whether a request uses this level of a geography, or a finer one; always true for None."""
    return level is None or bool(variables_showing(request, dataset, level))


def ancestors_or_self(dataset: Dataset, fine: str, coarse: str) -> NDArray[np.int64]:
    """For each category of a level, the position of the category of the same or a coarser level that holds it."""
    up = ancestors(dataset, fine, coarse)
    return np.arange(len(dataset.variable(fine)), dtype=np.int64) if up is None else up


def units_of(
    dataset: Dataset, name: str, unions: list[tuple[int, ...]], level: str
) -> list[NDArray[np.int64]]:
    """For unions of a variable's categories, the areas of a finer or coarser level in which their people live."""
    if name == level or name in finer(dataset, level):
        owner = ancestors_or_self(dataset, name, level)
        return [np.unique(owner[list(members)]) for members in unions]
    owner = ancestors_or_self(dataset, level, name)
    return [np.flatnonzero(np.isin(owner, members)) for members in unions]


def has_single_area(dataset: Dataset, names: Iterable[str], level: str) -> bool:
    """Whether a variable above the level has an area that consists of a single area of the level."""
    return any(
        (np.bincount(ancestors_or_self(dataset, level, name)) == 1).any()
        for name in names
        if name in coarser(dataset, level)
    )


def levels_down_to(dataset: Dataset, name: str) -> tuple[str, ...]:
    """The levels of the first hierarchy with a variable, from the coarsest down to it."""
    return (*next(iter(_levels_above(dataset, name)), ()), name)


def groupings(dataset: Dataset, name: str) -> dict[str, tuple[Group, ...]]:
    """The declared unions of a variable's categories, by coarser level or code list."""
    return {
        level: level_groups(dataset, name, level) for level in level_names(dataset, name) if level != name
    }
