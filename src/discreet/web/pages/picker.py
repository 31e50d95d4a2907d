"""Which categories of a variable a reader looks for: by name, by code, by range, by what they are part of.

The index of a variable is made once, since areas are many: a search among 15,000 is one pass over short strings.

The picker of one variable: find categories by name, code, range or level, choose them, group them.

The state is the address: the table's own parameters, `search` and `within` (a category of a coarser level). The list is
bounded, however many categories match; "all", "none" and "invert" mean every match, listed or not. What is chosen is
the variable's filter, so the question language of `model/grammar.py` is all that is written.

The routes of the builder: the verdict on a choice, and the picker of a variable.

Both draw a part of the page alone while a reader chooses. Neither counts a record.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from fastapi import APIRouter, Request
from starlette.datastructures import QueryParams
from starlette.responses import RedirectResponse, Response

from discreet.errors import BadRequest, DiscreetError, NotFound
from discreet.model.dataset import Dataset
from discreet.model.grammar import escape, write_filter
from discreet.model.hierarchy import Group, level_groups, level_label, level_names
from discreet.model.messages.text import join_sentences, message, nearest
from discreet.model.request import TableRequest
from discreet.model.selection import NamedGroups, group_label, select, shortest
from discreet.model.variable import Category, Variable
from discreet.model.view import BASES, ORDERS
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.dataset_service import DatasetService
from discreet.web.assets import FINGERPRINT
from discreet.web.i18n.dataset_labels import translate_dataset
from discreet.web.i18n.messages import gettext
from discreet.web.pages.builder import (
    AXES,
    extend_groups,
    form_parameters,
    lenient_request,
    pick_path,
    read_form,
    remove_groups,
    set_filter,
    set_groups,
)
from discreet.web.pages.display_options import DisplayOptions, read_display_options
from discreet.web.pages.links import QueryItems, page_path
from discreet.web.pages.preview import Preview, in_labels, preview_table
from discreet.web.query import read_view, refuse_unknown, version_query
from discreet.web.responses import conditional, open_service, strong_etag
from discreet.web.templating import render_page
from discreet.web.urls import link

#: At most so many categories of coarser levels are listed.
MOST_ABOVE = 50
_RANGE_MARKS = ("..", ":", "*", "?")


@dataclass(frozen=True, slots=True)
class CoarserGroup:
    """A category of a coarser level: all below it can be chosen at once."""

    item: str
    label: str
    level: str
    size: int


@lru_cache(maxsize=64)
def _index(variable: Variable) -> tuple[str, ...]:
    """What a search looks at: code and label of each category in small letters; made once, since areas are many."""
    return tuple(f"{category.code}\n{category.label}".casefold() for category in variable.categories)


def find_categories(dataset: Dataset, name: str, search: str, within: str) -> tuple[list[int], str]:
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
        return sorted(set(inside) & set(select(dataset, name, search))), ""
    except BadRequest as error:
        return [], join_sentences([error.message, error.advice])


def places_of(dataset: Dataset, name: str, item: str) -> tuple[int, ...]:
    """The places that an item of the question language means; none where it cannot be read."""
    try:
        return select(dataset, name, item)
    except BadRequest:
        return ()


def coarser_groups(dataset: Dataset, name: str, search: str, within: str) -> tuple[CoarserGroup, ...]:
    """Groups of coarser levels: of the coarsest, of the next one inside another, or those that match a search."""
    *coarser, _ = level_names(dataset, name)
    inside = set(places_of(dataset, name, within)) if within else None
    listed: list[CoarserGroup] = []
    for level in coarser:
        groups = [group for group in level_groups(dataset, name, level) if _is_inside(group, inside)]
        if search:
            text = search.casefold()
            groups = [group for group in groups if text in f"{group.code}\n{group.label}".casefold()]
        elif listed:
            break
        listed += [
            CoarserGroup(
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


#: At most so many categories are listed, unless all are asked for.
MOST_LISTED = 200


@dataclass(frozen=True, slots=True)
class PickerLine:
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
    lines: tuple[PickerLine, ...]
    matches: int
    above: tuple[CoarserGroup, ...]
    chosen: int
    unlisted: str
    problem: str
    can_group: bool
    groups: tuple[ShownGroup, ...]
    group_line: str
    ungroup: str
    whole: str


def picker(
    dataset: Dataset,
    name: str,
    request: TableRequest,
    query: QueryParams,
    also: QueryItems,
    problem: str = "",
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
    found, unfound = find_categories(dataset, name, search, within)
    chosen, unread = _chosen(dataset, name, request)
    chosen = _apply_button(dataset, name, chosen, found, query)
    most = len(variable) if "all" in query.getlist("list") else MOST_LISTED
    listed = found[:most]
    shown = _groups_of(variable, request)
    return Picker(
        variable=variable,
        search=search,
        within=(within, label_of(dataset, name, within)),
        lines=tuple(_line(dataset, variable, place, ticked=place in chosen) for place in listed),
        matches=len(found),
        above=coarser_groups(dataset, name, search, within),
        chosen=len(chosen),
        unlisted=_write_codes(variable, chosen - set(listed)),
        problem=gettext(problem or unfound or unread),
        can_group=_can_group(dataset, name, request),
        groups=tuple(
            _group_entry(variable, request, name, shown, place, also) for place in range(len(shown))
        ),
        group_line=next((line for line in request.group_lines() if line.startswith(f"{name}=")), ""),
        ungroup=page_path(remove_groups(request, name), also) if shown else "",
        whole=pick_path(request, name, [*also, ("list", "all")]) if len(found) > most else "",
    )


def add_group(dataset: Dataset, name: str, request: TableRequest, query: QueryParams) -> TableRequest:
    """The table with the chosen categories as one more group, and everybody counted.

    Raises:
        BadRequest: Nothing is chosen.
    """
    variable = dataset.variable(name)
    chosen, _ = _chosen(dataset, name, request)
    if not chosen:
        raise BadRequest(message("A group needs categories."), message("Tick those that belong together."))
    codes = tuple(variable.codes[place] for place in sorted(chosen))
    shown = _groups_of(variable, request)
    if not shown and len(variable) <= MOST_LISTED:
        shown = tuple(((code,), "") for code in variable.codes)
    groups = extend_groups(shown, codes, query.get("group_name", "").strip())
    return set_groups(set_filter(request, name, ()), name, groups)


def _chosen(dataset: Dataset, name: str, request: TableRequest) -> tuple[set[int], str]:
    """The places that the filter on a variable keeps, none for everybody; and what of it cannot be read."""
    kept: set[int] = set()
    left_out: set[int] = set()
    problem = ""
    for written, items in request.filters:
        if written.removesuffix("!") == name:
            for item in items:
                try:
                    (kept if written == name else left_out).update(select(dataset, name, item))
                except BadRequest as error:
                    problem = join_sentences([error.message, error.advice])
    every = set(range(len(dataset.variable(name))))
    chosen = (kept or (every if left_out else kept)) - left_out
    return (set() if chosen == every else chosen), problem


def _apply_button(
    dataset: Dataset, name: str, chosen: set[int], found: list[int], query: QueryParams
) -> set[int]:
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


def _line(dataset: Dataset, variable: Variable, place: int, *, ticked: bool) -> PickerLine:
    category = variable.categories[place]
    value = write_filter(variable.name, (category.code,))
    return PickerLine(value, category.code, category.label, _parent(dataset, variable, category), ticked)


def _parent(dataset: Dataset, variable: Variable, category: Category) -> str:
    """The label of what a category is part of."""
    if category.parent is None:
        return ""
    for hierarchy in dataset.hierarchies:
        if variable.name in hierarchy.levels[1:]:
            upper = dataset.variable(hierarchy.levels[hierarchy.levels.index(variable.name) - 1])
            return upper.categories[upper.position(category.parent)].label
    return category.parent


def _write_codes(variable: Variable, places: Iterable[int]) -> str:
    codes = tuple(variable.codes[place] for place in sorted(places))
    return ",".join(map(escape, shortest(variable, codes)))


def _can_group(dataset: Dataset, name: str, request: TableRequest) -> bool:
    allowed = dataset.protection.is_dp or name not in dataset.geography
    return allowed and any(name in getattr(request, axis) for axis in AXES)


def _groups_of(variable: Variable, request: TableRequest) -> NamedGroups:
    """The groups of a request with their names, as far as it can be read."""
    named = dict(dict(request.names).get(variable.name, ()))
    groups = dict(request.groups).get(variable.name, tuple(named))
    return tuple((codes, named.get(codes, "")) for codes in groups if all(code in variable for code in codes))


def _group_entry(
    variable: Variable, request: TableRequest, name: str, shown: NamedGroups, place: int, also: QueryItems
) -> ShownGroup:
    codes, label = shown[place]
    singles = tuple(((code,), "") for code in codes)
    parted = (*shown[:place], *singles, *shown[place + 1 :])
    href = page_path(set_groups(request, name, parted), also) if len(codes) > 1 or label else ""
    return ShownGroup(label or gettext(group_label(variable, codes)), href)


def builder_router(doors: DatasetRegistry) -> APIRouter:
    """The routes."""
    router = APIRouter(include_in_schema=False)

    @router.get("/datasets/{dataset_id}/verdict")
    def verdict(request: Request, dataset_id: str) -> Response:
        """What would become of a choice, as a part of the page."""
        door = open_service(doors, request, dataset_id)
        told = _preview_choice(door, request.query_params)
        dataset = translate_dataset(door.dataset)
        response = render_page("_verdict.html", dataset=dataset, outlook=told, left=door.budget_left())
        response.headers["cache-control"] = "no-store"
        return response

    @router.get("/datasets/{dataset_id}/variables/{name}")
    def categories(request: Request, dataset_id: str, name: str) -> Response:
        """The categories of one variable: to look up, to choose for a table, to group."""
        door, query = open_service(doors, request, dataset_id), request.query_params
        variable = _variable(door, name)
        refuse_unknown(query, form_parameters(door.dataset))
        if query.get("do") == "group":
            return _redirect_to_group(door, variable, query)
        tag = strong_etag("categories", FINGERPRINT, door.edition, name, str(query))
        return conditional(request, tag, lambda: _picker_page(door, variable, query), lasting=True)

    return router


def link_parameters(query: QueryParams) -> list[tuple[str, str]]:
    """What another choice keeps of an address: the view, as far as it names no cell of this table, and the version."""
    view, reading = read_view(query), read_display_options(query)
    percent = view.percent if view.percent in BASES else ""
    sort = view.sort if view.sort.removeprefix("-") in ORDERS else ""
    kept = replace(view, percent=percent, sort=sort).to_query()
    read = DisplayOptions(reading.labels, show=reading.show).to_query()
    return [*kept, *read, *version_query(query)]


def _preview_choice(door: DatasetService, query: QueryParams) -> Preview:
    try:
        refuse_unknown(query, form_parameters(door.dataset))
        return preview_table(door, read_form(door.dataset, query, door.start), link_parameters(query))
    except DiscreetError as error:
        return preview_table(door, None, error=error)


def _variable(door: DatasetService, name: str) -> Variable:
    names = [variable.name for variable in door.dataset.variables]
    if name not in names:
        raise NotFound(
            message('The dataset "{dataset}" has no variable "{name}".', dataset=door.dataset.id, name=name),
            nearest(name, names),
        )
    return door.dataset.variable(name)


def _redirect_to_group(door: DatasetService, variable: Variable, query: QueryParams) -> Response:
    """To the table with the chosen categories as a group; back to the picker where that cannot be."""
    try:
        wanted = add_group(door.dataset, variable.name, lenient_request(door.dataset, query), query)
        found = door.read(wanted).request
    except BadRequest as error:
        return _picker_page(door, variable, query, join_sentences([error.message, error.advice]))
    return RedirectResponse(
        link(page_path(found, link_parameters(query))), 303, {"cache-control": "no-store"}
    )


def _picker_page(door: DatasetService, variable: Variable, query: QueryParams, problem: str = "") -> Response:
    dataset = translate_dataset(door.dataset)
    request, also = lenient_request(door.dataset, query), link_parameters(query)
    kept = [
        (key, text)
        for key, text in [*request.to_query(), *also]
        if not (key == "filter" and text.partition("=")[0].rstrip("!") == variable.name)
    ]
    found = picker(dataset, variable.name, request, query, also, in_labels(dataset, problem))
    return render_page("codes.html", dataset=dataset, picker=found, kept=kept, table=page_path(request, also))
