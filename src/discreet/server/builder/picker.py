"""The picker of one variable: find categories by name, code, range or level, choose them, group them.

The state is the address: the table's own parameters, `search` and `within` (a category of a coarser level). The list is
bounded, however many categories match; "all", "none" and "invert" mean every match, listed or not. What is chosen is
the variable's filter, so the question language of `model/grammar.py` is all that is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import BadRequest
from discreet.model.grammar import escape, write_filter
from discreet.model.group_names import group_label
from discreet.model.selection import selected, shortest
from discreet.model.told import joined, told
from discreet.server.builder.edits import AXES, counted_only, grouped_as, regrouped, ungrouped
from discreet.server.builder.search import above, label_of, places_of
from discreet.server.builder.search import found as found_places
from discreet.server.builder.shelves import pick_path
from discreet.server.snippets import page_path
from discreet.server.words import say

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.datastructures import QueryParams

    from discreet.model.dataset import Dataset
    from discreet.model.group_names import NamedGroups
    from discreet.model.request import TableRequest
    from discreet.model.variable import Category, Variable
    from discreet.server.builder.search import Above
    from discreet.server.snippets import Also

#: At most so many categories are listed, unless all are asked for.
MOST_LISTED = 200


@dataclass(frozen=True, slots=True)
class Line:
    """One category in the list."""

    value: str
    code: str
    label: str
    above: str
    ticked: bool


@dataclass(frozen=True, slots=True)
class ShownGroup:
    """A group that the table shows, and the table without it."""

    label: str
    ungroup: str


@dataclass(frozen=True, slots=True)
class Picker:
    """The picker, filled in.

    Args:
        variable: Whose categories are chosen.
        search: What was looked for.
        within: The category of a coarser level inside which is looked, and its label.
        lines: The categories that are listed.
        matches: How many match in all.
        above: Categories of coarser levels that match.
        chosen: How many are chosen; none means that everybody is counted.
        unlisted: What is chosen and not listed, as a line of codes and ranges.
        problem: What cannot be read of the search or the filter.
        can_group: Whether its categories can be put into groups.
        groups: The groups that the table shows.
        group_line: These as the address writes them.
        ungroup: The table without groups; empty if there are none.
        whole: The picker with every category listed; empty if it is.
    """

    variable: Variable
    search: str
    within: tuple[str, str]
    lines: tuple[Line, ...]
    matches: int
    above: tuple[Above, ...]
    chosen: int
    unlisted: str
    problem: str
    can_group: bool
    groups: tuple[ShownGroup, ...]
    group_line: str
    ungroup: str
    whole: str


def picker(
    dataset: Dataset, name: str, request: TableRequest, query: QueryParams, also: Also, problem: str = ""
) -> Picker:
    """The picker of a variable beside a table, after what was done in it.

    Args:
        dataset: The description.
        name: The variable.
        request: The table, as far as it can be read.
        query: The address.
        also: The view and the version, which links keep.
        problem: Why what was done could not be done.
    """
    variable = dataset.variable(name)
    search, within = query.get("search", "").strip(), query.get("within", "")
    found, unfound = found_places(dataset, name, search, within)
    chosen, unread = _chosen(dataset, name, request)
    chosen = _done(dataset, name, chosen, found, query)
    most = len(variable) if "all" in query.getlist("list") else MOST_LISTED
    listed = found[:most]
    shown = _shown_groups(variable, request)
    return Picker(
        variable=variable,
        search=search,
        within=(within, label_of(dataset, name, within)),
        lines=tuple(_line(dataset, variable, place, ticked=place in chosen) for place in listed),
        matches=len(found),
        above=above(dataset, name, search, within),
        chosen=len(chosen),
        unlisted=_written(variable, chosen - set(listed)),
        problem=say(problem or unfound or unread),
        can_group=_can_group(dataset, name, request),
        groups=tuple(_shown(variable, request, name, shown, place, also) for place in range(len(shown))),
        group_line=next((line for line in request.group_lines() if line.startswith(f"{name}=")), ""),
        ungroup=page_path(ungrouped(request, name), also) if shown else "",
        whole=pick_path(request, name, [*also, ("list", "all")]) if len(found) > most else "",
    )


def grouped(dataset: Dataset, name: str, request: TableRequest, query: QueryParams) -> TableRequest:
    """The table with the chosen categories as one more group, and everybody counted.

    Raises:
        BadRequest: Nothing is chosen.
    """
    variable = dataset.variable(name)
    chosen, _ = _chosen(dataset, name, request)
    if not chosen:
        raise BadRequest(told("A group needs categories."), told("Tick those that belong together."))
    codes = tuple(variable.codes[place] for place in sorted(chosen))
    shown = _shown_groups(variable, request)
    if not shown and len(variable) <= MOST_LISTED:
        shown = tuple(((code,), "") for code in variable.codes)
    groups = grouped_as(shown, codes, query.get("group_name", "").strip())
    return regrouped(counted_only(request, name, ()), name, groups)


def _chosen(dataset: Dataset, name: str, request: TableRequest) -> tuple[set[int], str]:
    """The places that the filter on a variable keeps, none for everybody; and what of it cannot be read."""
    kept: set[int] = set()
    left_out: set[int] = set()
    problem = ""
    for written, items in request.filters:
        if written.removesuffix("!") == name:
            for item in items:
                try:
                    (kept if written == name else left_out).update(selected(dataset, name, item))
                except BadRequest as error:
                    problem = joined([error.message, error.advice])
    every = set(range(len(dataset.variable(name))))
    chosen = (kept or (every if left_out else kept)) - left_out
    return (set() if chosen == every else chosen), problem


def _done(dataset: Dataset, name: str, chosen: set[int], found: list[int], query: QueryParams) -> set[int]:
    """What is chosen after a button was pressed."""
    added = set(places_of(dataset, name, query["add"])) if query.get("add") else set()
    match query.get("do", ""):
        case "all":
            return chosen | set(found)
        case "none":
            return chosen - set(found)
        case "invert":
            return chosen ^ set(found)
        case _:
            return chosen | added


def _line(dataset: Dataset, variable: Variable, place: int, *, ticked: bool) -> Line:
    category = variable.categories[place]
    value = write_filter(variable.name, (category.code,))
    return Line(value, category.code, category.label, _parent(dataset, variable, category), ticked)


def _parent(dataset: Dataset, variable: Variable, category: Category) -> str:
    """The label of what a category is part of."""
    if category.parent is None:
        return ""
    for hierarchy in dataset.hierarchies:
        if variable.name in hierarchy.levels[1:]:
            upper = dataset.variable(hierarchy.levels[hierarchy.levels.index(variable.name) - 1])
            return upper.categories[upper.position(category.parent)].label
    return category.parent


def _written(variable: Variable, places: Iterable[int]) -> str:
    codes = tuple(variable.codes[place] for place in sorted(places))
    return ",".join(map(escape, shortest(variable, codes)))


def _can_group(dataset: Dataset, name: str, request: TableRequest) -> bool:
    allowed = dataset.protection.is_dp or name not in dataset.geography
    return allowed and any(name in getattr(request, axis) for axis in AXES)


def _shown_groups(variable: Variable, request: TableRequest) -> NamedGroups:
    """The groups of a request with their names, as far as it can be read."""
    named = dict(dict(request.names).get(variable.name, ()))
    groups = dict(request.groups).get(variable.name, tuple(named))
    return tuple((codes, named.get(codes, "")) for codes in groups if all(code in variable for code in codes))


def _shown(
    variable: Variable, request: TableRequest, name: str, shown: NamedGroups, place: int, also: Also
) -> ShownGroup:
    codes, label = shown[place]
    singles = tuple(((code,), "") for code in codes)
    parted = (*shown[:place], *singles, *shown[place + 1 :])
    href = page_path(regrouped(request, name, parted), also) if len(codes) > 1 or label else ""
    return ShownGroup(label or say(group_label(variable, codes)), href)
