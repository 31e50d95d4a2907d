"""Levels of a variable: its own categories, the coarser levels of its hierarchy, and its code lists.

A level is a list of groups of the variable's base categories. A table may show several levels of one
variable at once (regions, and within each its districts); they must nest, so that every group of a finer
level lies within one group of a coarser level or outside all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from discreet.errors import BadRequest
from discreet.model.nearest import nearest
from discreet.model.told import told

if TYPE_CHECKING:
    from discreet.model.dataset import Dataset


#: All levels of a variable's hierarchy down to its own categories.
ALL = "*"


@dataclass(frozen=True, slots=True)
class Group:
    """One category of a level: its code, its label and the base categories in it, ascending."""

    code: str
    label: str
    members: tuple[int, ...]


def level_names(dataset: Dataset, variable: str) -> list[str]:
    """The levels at which a variable can be shown: coarser hierarchy levels, code lists, itself."""
    coarser = [
        level
        for hierarchy in dataset.hierarchies
        if variable in hierarchy.levels
        for level in hierarchy.levels[: hierarchy.levels.index(variable)]
    ]
    lists = [code_list.name for code_list in dataset.code_lists if code_list.variable == variable]
    return [*dict.fromkeys(coarser), *lists, variable]


def level_label(dataset: Dataset, level: str) -> str:
    """How people call a level."""
    lists = {code_list.name: code_list.label for code_list in dataset.code_lists}
    return lists.get(level) or dataset.variable(level).label


def level_groups(dataset: Dataset, variable: str, level: str) -> tuple[Group, ...]:
    """The groups of one level of a variable.

    Raises:
        BadRequest: The variable has no such level; the nearest is named.
    """
    names = level_names(dataset, variable)
    if level not in names:
        raise BadRequest(
            told('"{variable}" has no level "{level}".', variable=variable, level=level),
            nearest(level, names),
        )
    key = ("groups", variable, level)
    if key not in dataset.worked_out:
        dataset.worked_out[key] = _work_out(dataset, variable, level)
    groups: tuple[Group, ...] = dataset.worked_out[key]
    return groups


def coarse_to_fine(dataset: Dataset, variable: str, levels: tuple[str, ...]) -> tuple[str, ...]:
    """Levels in one order, coarsest first, each once; refused where they do not nest. A star is all of its hierarchy."""
    known = level_names(dataset, variable)
    lists = {code_list.name for code_list in dataset.code_lists}
    every = [level for level in known if level not in lists]
    asked = [each for level in levels for each in (every if level == ALL else (level,))]
    sized = {level: level_groups(dataset, variable, level) for level in dict.fromkeys(asked)}
    ordered = sorted(sized, key=lambda level: (level == variable, len(sized[level]), known.index(level)))
    for coarse, fine in pairwise(ordered):
        if not _nest(dataset, variable, coarse, fine):
            raise BadRequest(
                told(
                    'The levels "{coarse}" and "{fine}" of "{variable}" do not nest.',
                    coarse=coarse,
                    fine=fine,
                    variable=variable,
                ),
                told("Ask for them in two tables."),
            )
    return tuple(ordered)


def _nest(dataset: Dataset, variable: str, coarse: str, fine: str) -> bool:
    """Whether every group of the finer level lies within one of the coarser level, or outside all of them."""
    key = ("nest", variable, coarse, fine)
    if key not in dataset.worked_out:
        wide, narrow = (level_groups(dataset, variable, level) for level in (coarse, fine))
        owner = {member: place for place, group in enumerate(wide) for member in group.members}
        dataset.worked_out[key] = all(len({owner.get(m, -1) for m in group.members}) == 1 for group in narrow)
    return bool(dataset.worked_out[key])


def _work_out(dataset: Dataset, variable: str, level: str) -> tuple[Group, ...]:
    own = dataset.variable(variable)
    if level == variable:
        return tuple(Group(c.code, c.label, (place,)) for place, c in enumerate(own.categories))
    for code_list in dataset.code_lists:
        if code_list.name == level:
            return tuple(
                Group(code, label, tuple(sorted(own.position(member) for member in members)))
                for code, label, members in code_list.groups
            )
    return _ancestors(dataset, variable, level)


def _ancestors(dataset: Dataset, variable: str, level: str) -> tuple[Group, ...]:
    """The categories of a coarser level, each with the base categories below it."""
    hierarchy = next(h for h in dataset.hierarchies if {variable, level} <= set(h.levels))
    between = hierarchy.levels[hierarchy.levels.index(level) + 1 : hierarchy.levels.index(variable)]
    members: dict[str, list[int]] = {}
    for place, category in enumerate(dataset.variable(variable).categories):
        above = category.parent or ""
        for step in reversed(between):
            finer = dataset.variable(step)
            above = finer.categories[finer.position(above)].parent or ""
        members.setdefault(above, []).append(place)
    return tuple(
        Group(c.code, c.label, tuple(members[c.code]))
        for c in dataset.variable(level).categories
        if c.code in members
    )
