"""Which categories of a variable a reader looks for: by name, by code, by range, by what they are part of.

The index of a variable is made once, since areas are many: a search among 15,000 is one pass over short strings.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import BadRequest
from discreet.model.grammar import escape
from discreet.model.levels import Group, level_groups, level_label, level_names
from discreet.model.selection import selected
from discreet.model.told import joined

if TYPE_CHECKING:
    from discreet.model.dataset import Dataset
    from discreet.model.variable import Variable

#: At most so many categories of coarser levels are listed.
MOST_ABOVE = 50
_RANGE_MARKS = ("..", ":", "*", "?")


@dataclass(frozen=True, slots=True)
class Above:
    """A category of a coarser level: all below it can be chosen at once."""

    item: str
    label: str
    level: str
    size: int


@lru_cache(maxsize=64)
def _index(variable: Variable) -> tuple[str, ...]:
    """What a search looks at: code and label of each category in small letters; made once, since areas are many."""
    return tuple(f"{category.code}\n{category.label}".casefold() for category in variable.categories)


def found(dataset: Dataset, name: str, search: str, within: str) -> tuple[list[int], str]:
    """The places of the categories that match, and what cannot be read."""
    variable = dataset.variable(name)
    inside = range(len(variable)) if not within else places_of(dataset, name, within)
    if not search:
        return list(inside), ""
    words = search.casefold().split()
    index = _index(variable)
    matching = [place for place in inside if all(word in index[place] for word in words)]
    if matching or not any(mark in search for mark in _RANGE_MARKS):
        return matching, ""
    try:
        return sorted(set(inside) & set(selected(dataset, name, search))), ""
    except BadRequest as error:
        return [], joined([error.message, error.advice])


def places_of(dataset: Dataset, name: str, item: str) -> tuple[int, ...]:
    """The places that an item of the question language means; none where it cannot be read."""
    try:
        return selected(dataset, name, item)
    except BadRequest:
        return ()


def above(dataset: Dataset, name: str, search: str, within: str) -> tuple[Above, ...]:
    """Groups of coarser levels: of the coarsest, of the next one inside another, or those that match a search."""
    *coarser, _ = level_names(dataset, name)
    inside = set(places_of(dataset, name, within)) if within else None
    listed: list[Above] = []
    for level in coarser:
        groups = [group for group in level_groups(dataset, name, level) if _is_inside(group, inside)]
        if search:
            text = search.casefold()
            groups = [group for group in groups if text in f"{group.code}\n{group.label}".casefold()]
        elif listed:
            break
        listed += [
            Above(
                f"{level}:{escape(group.code)}", group.label, level_label(dataset, level), len(group.members)
            )
            for group in groups
        ]
    return tuple(listed[:MOST_ABOVE])


def _is_inside(group: Group, inside: set[int] | None) -> bool:
    return inside is None or (len(group.members) < len(inside) and inside.issuperset(group.members))


def label_of(dataset: Dataset, name: str, within: str) -> str:
    """The label of the category of a coarser level inside which is looked."""
    level, _, code = within.partition(":")
    if not within or level not in level_names(dataset, name):
        return ""
    return next((g.label for g in level_groups(dataset, name, level) if escape(g.code) == code), "")
