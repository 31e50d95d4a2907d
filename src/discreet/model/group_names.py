"""Names that whoever asks gives to groups: words beside the question, which never change its cells.

A name is a label of somebody's own. It is data like every label, and it must not pass for something that the custodian
declared: it is refused where it is the code or label of other categories, of a level or of a total. The table says in a
note which groups have such names. A name is no part of a question's identity.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

from discreet.errors import BadRequest
from discreet.model.grammar import protect, split, unescape
from discreet.model.levels import Group, level_groups, level_names
from discreet.model.selection import Scale, scale_of, shortest
from discreet.model.told import Text, told
from discreet.model.variable import TOTAL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.model.dataset import Dataset
    from discreet.model.variable import Variable

#: For each group that a variable shows, by its codes, its name; empty where it has none.
NamedGroups = tuple[tuple[tuple[str, ...], str], ...]

LONGEST_NAME = 100
#: Controls, halves of characters and line ends; what turns the direction of writing.
_FORBIDDEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
_TURNS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def take_name(dataset: Dataset, variable: str, group: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The name before the first item of a group, and the group without it; a code with a colon is no name.

    Raises:
        BadRequest: A name that cannot be used.
    """
    own = dataset.variable(variable)
    if not group or group[0] in own or scale_of(own).place(group[0]) is not None:
        return "", group
    name, *first = split(group[0], ":", limit=1)
    if not first or unescape(name) in level_names(dataset, variable):
        return "", group
    _refuse_characters(unescape(name))
    return unescape(name), (first[0].strip(), *group[1:])


def write_named(items: tuple[str, ...], name: str) -> tuple[str, ...]:
    """The items of a group with its name, as `take_name` reads them."""
    return (f"{protect(name, ':')}:{items[0]}", *items[1:]) if name else items


def group_label(variable: Variable, codes: tuple[str, ...]) -> str:
    """What a group is called without a name: its labels."""
    labels = tuple(variable.categories[variable.position(code)].label for code in codes)
    return Text("{labels:plus}", {"labels": labels})


def canonical_names(
    dataset: Dataset, variable: Variable, given: Mapping[tuple[str, ...], str]
) -> NamedGroups:
    """The names of all groups that are shown, by their codes; none at all where each has its own label.

    Raises:
        BadRequest: A name that cannot be used, or that means something else in this dataset.
    """
    if not any(given.values()):
        return ()
    declared = _declared(dataset, variable)
    own = {codes: group_label(variable, codes) for codes in given}
    names = {codes: "" if name == own[codes] else name for codes, name in given.items()}
    labels = Counter((name or own[codes]).casefold() for codes, name in names.items())
    for codes, name in ((codes, name) for codes, name in names.items() if name):
        _refuse_characters(name)
        _refuse_taken(variable, codes, name, declared, dataset.unit)
        if labels[name.casefold()] > 1:
            raise BadRequest(
                told(
                    'Two groups of "{variable}" would be called {name!r}.', variable=variable.name, name=name
                ),
                told("Give each its own name."),
            )
    return tuple(names.items()) if any(names.values()) else ()


def _refuse_characters(name: str) -> None:
    bad = [c for c in name if unicodedata.category(c) in _FORBIDDEN or unicodedata.bidirectional(c) in _TURNS]
    if bad or not 0 < len(name) <= LONGEST_NAME or name != name.strip():
        raise BadRequest(
            told("A group cannot be called {name!a}.", name=name[:LONGEST_NAME]),
            told(
                "Use 1 to {longest_name} characters, without control characters and without blanks at the "
                "ends.",
                longest_name=LONGEST_NAME,
            ),
        )


def _refuse_taken(
    variable: Variable, codes: tuple[str, ...], name: str, declared: list[Scale], unit: str
) -> None:
    """Refuse the words of something else: another category, a group of a level, a level, a total, a code with a colon."""
    members = tuple(variable.position(code) for code in codes)
    others = any(
        _members(scale, place) != members
        for scale in declared
        for place in (
            *scale.labels.get(name.casefold(), ()),
            *((scale.codes[name],) if name in scale.codes else ()),
        )
    )
    totals = {"total", TOTAL.casefold(), f"total (all {unit})".casefold()}
    if others or name.casefold() in totals or name in {scale.name for scale in declared}:
        raise BadRequest(
            told(
                'A group of "{variable}" cannot be called {name!r}: the dataset calls something else so.',
                variable=variable.name,
                name=name,
            ),
            told("Choose another name."),
        )
    first = write_named(shortest(variable, codes), name)[0]
    if declared[-1].place(first) is not None:
        raise BadRequest(
            told(
                'A group of "{variable}" cannot be called {name!r}: before its first code that reads as '
                "another code.",
                variable=variable.name,
                name=name,
            ),
            told("Choose another name."),
        )


def _declared(dataset: Dataset, variable: Variable) -> list[Scale]:
    """The levels of a variable as scales, its own categories last."""
    *coarser, _ = level_names(dataset, variable.name)
    return [
        *(Scale(each, level_groups(dataset, variable.name, each)) for each in coarser),
        scale_of(variable),
    ]


def _members(scale: Scale, place: int) -> tuple[int, ...]:
    """The base categories of one category of a level; a category of the variable itself is its own."""
    category = scale.categories[place]
    return category.members if isinstance(category, Group) else (place,)
