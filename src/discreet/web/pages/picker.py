"""The picker of a variable's categories: search by name, code, range or level, choose, and group.

The state is the URL: the table's parameters, `search` and `within` (a category of a coarser level). The list is
bounded; "all", "none" and "invert" apply to every match. The choice is the variable's filter, written in the grammar
of `model/grammar.py`. The picker is a page and a dialog; it never counts a record.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from fastapi import APIRouter, Request
from starlette.datastructures import QueryParams
from starlette.responses import RedirectResponse, Response

from discreet.errors import BadRequest, DiscreetError, NotFound
from discreet.model.dataset import Dataset
from discreet.model.grammar import escape, write_filter
from discreet.model.hierarchy import level_groups, level_label, level_names
from discreet.model.messages.text import join_sentences, message, nearest
from discreet.model.request import TableRequest
from discreet.model.selection import NamedGroups, group_label, select, shortest
from discreet.model.variable import Category, Variable
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.dataset_service import DatasetService
from discreet.web.i18n.messages import gettext
from discreet.web.i18n.translation import translate_dataset
from discreet.web.pages.builder import (
    AXES,
    form_parameters,
    lenient_request,
    read_form,
    set_filter,
    set_groups,
)
from discreet.web.pages.links import QueryItems, page_path, pick_path
from discreet.web.pages.page_request import link_parameters
from discreet.web.pages.preview import in_labels, preview_table
from discreet.web.responses import conditional, open_service, strong_etag
from discreet.web.templating import FINGERPRINT, render_page
from discreet.web.urls import link, refuse_unknown

#: The most categories that are listed, unless all are asked for.
MOST_LISTED = 200
#: The most categories of coarser levels that are listed.
MOST_ABOVE = 50
_RANGE_MARKS = ("..", ":", "*", "?")


@dataclass(frozen=True, slots=True)
class CoarserGroup:
    """A category of a coarser level: all categories below it can be chosen at once."""

    item: str
    label: str
    level: str
    size: int


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
    """A group of the table, and the URL of the table without it."""

    label: str
    ungroup: str


@dataclass(frozen=True, slots=True)
class Picker:
    """The picker, filled in.

    Args:
        variable: The variable.
        search: The search text.
        within: The category of a coarser level to search in, and its label.
        lines: The categories that are listed.
        matches: The number of matches.
        above: Categories of coarser levels that match.
        chosen: The number of chosen categories; 0 counts everyone.
        unlisted: The chosen categories that are not listed, as codes and ranges.
        problem: Why the search or the filter cannot be parsed.
        can_group: Whether its categories can be grouped.
        groups: The groups of the table.
        group_line: The groups as the URL has them.
        ungroup: The table without groups; empty if there are none.
        whole: The picker with every category; empty if all are listed.
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


def add_picker(router: APIRouter, registry: DatasetRegistry) -> None:
    """Add the routes of the picker and of the preview."""

    @router.get("/datasets/{dataset_id}/verdict")
    def verdict(request: Request, dataset_id: str) -> Response:
        """The preview of a request, as a part of the page."""
        service, query = open_service(registry, request, dataset_id), request.query_params
        try:
            refuse_unknown(query, form_parameters(service.dataset))
            table = read_form(service.dataset, query, service.start)
            preview = preview_table(service, table, link_parameters(query))
        except DiscreetError as error:
            preview = preview_table(service, None, error=error)
        dataset = translate_dataset(service.dataset)
        response = render_page("_verdict.html", dataset=dataset, outlook=preview, left=service.budget_left())
        response.headers["cache-control"] = "no-store"
        return response

    @router.get("/datasets/{dataset_id}/variables/{name}")
    def categories(request: Request, dataset_id: str, name: str) -> Response:
        """The categories of one variable: to look up, to choose for a table, to group."""
        service, query = open_service(registry, request, dataset_id), request.query_params
        names = [variable.name for variable in service.dataset.variables]
        if name not in names:
            raise NotFound(
                message('The dataset "{dataset}" has no variable "{name}".', dataset=dataset_id, name=name),
                nearest(name, names),
            )
        refuse_unknown(query, form_parameters(service.dataset))
        if query.get("do") == "group":
            return _redirect_to_group(service, name, query)
        tag = strong_etag("categories", FINGERPRINT, service.edition, name, str(query))
        return conditional(request, tag, lambda: _render(service, name, query), lasting=True)


def _redirect_to_group(service: DatasetService, name: str, query: QueryParams) -> Response:
    """To the table with the chosen categories as a group; back to the picker where that is impossible."""
    dataset = service.dataset
    try:
        wanted = add_group(dataset, name, lenient_request(dataset, query), query)
        table = service.read(wanted).request
    except BadRequest as error:
        return _render(service, name, query, join_sentences([error.message, error.advice]))
    return RedirectResponse(
        link(page_path(table, link_parameters(query))), 303, {"cache-control": "no-store"}
    )


def _render(service: DatasetService, name: str, query: QueryParams, problem: str = "") -> Response:
    dataset = translate_dataset(service.dataset)
    request, items = lenient_request(service.dataset, query), link_parameters(query)
    kept = [
        (key, text)
        for key, text in [*request.to_query(), *items]
        if not (key == "filter" and text.partition("=")[0].rstrip("!") == name)
    ]
    found = picker(dataset, name, request, query, items, in_labels(dataset, problem))
    return render_page(
        "codes.html", dataset=dataset, picker=found, kept=kept, table=page_path(request, items)
    )


def picker(
    dataset: Dataset,
    name: str,
    request: TableRequest,
    query: QueryParams,
    items: QueryItems,
    problem: str = "",
) -> Picker:
    """The picker of a variable, after the button of the query was applied.

    Args:
        dataset: The description.
        name: The variable.
        request: The table, as far as it can be parsed.
        query: The query string.
        items: The parameters that links keep.
        problem: Why the last action failed.
    """
    variable = dataset.variable(name)
    search, within = query.get("search", "").strip(), query.get("within", "")
    found, unfound = find_categories(dataset, name, search, within)
    chosen, unread = _chosen(dataset, name, request)
    chosen = _apply_button(dataset, name, chosen, found, query)
    most = len(variable) if "all" in query.getlist("list") else MOST_LISTED
    listed = found[:most]
    shown = _groups_of(variable, request)
    unlisted = tuple(variable.codes[place] for place in sorted(chosen - set(listed)))
    may_group = dataset.protection.is_dp or name not in dataset.geography
    return Picker(
        variable=variable,
        search=search,
        within=(within, label_of(dataset, name, within)),
        lines=tuple(_line(dataset, variable, place, ticked=place in chosen) for place in listed),
        matches=len(found),
        above=coarser_groups(dataset, name, search, within),
        chosen=len(chosen),
        unlisted=",".join(map(escape, shortest(variable, unlisted))),
        problem=gettext(problem or unfound or unread),
        can_group=may_group and any(name in getattr(request, axis) for axis in AXES),
        groups=tuple(_group_entry(variable, request, shown, place, items) for place in range(len(shown))),
        group_line=next((line for line in request.group_lines() if line.startswith(f"{name}=")), ""),
        ungroup=page_path(set_groups(request, name, ()), items) if shown else "",
        whole=pick_path(request, name, [*items, ("list", "all")]) if len(found) > most else "",
    )


def find_categories(dataset: Dataset, name: str, search: str, within: str) -> tuple[list[int], str]:
    """The places of the categories that match, and why the search cannot be parsed."""
    variable = dataset.variable(name)
    inside = range(len(variable)) if not within else places_of(dataset, name, within)
    if not search:
        return list(inside), ""
    words, index = search.casefold().split(), _index(variable)
    matching = [place for place in inside if all(word in index[place] for word in words)]
    if matching or not any(mark in search for mark in _RANGE_MARKS):
        return matching, ""
    try:
        return sorted(set(inside) & set(select(dataset, name, search))), ""
    except BadRequest as error:
        return [], join_sentences([error.message, error.advice])


@lru_cache(maxsize=64)
def _index(variable: Variable) -> tuple[str, ...]:
    """Code and label of each category in lower case; cached, since there may be thousands of areas."""
    return tuple(f"{category.code}\n{category.label}".casefold() for category in variable.categories)


def places_of(dataset: Dataset, name: str, item: str) -> tuple[int, ...]:
    """The places of the categories that an item selects; none where it cannot be parsed."""
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
        groups = [
            group
            for group in level_groups(dataset, name, level)
            if inside is None or (len(group.members) < len(inside) and inside.issuperset(group.members))
        ]
        if search:
            text = search.casefold()
            groups = [group for group in groups if text in f"{group.code}\n{group.label}".casefold()]
        elif listed:
            break
        label = level_label(dataset, level)
        listed += [
            CoarserGroup(f"{level}:{escape(group.code)}", group.label, label, len(group.members))
            for group in groups
        ]
    return tuple(listed[:MOST_ABOVE])


def label_of(dataset: Dataset, name: str, within: str) -> str:
    """The label of the category of a coarser level to search in."""
    level, _, code = within.partition(":")
    if not within or level not in level_names(dataset, name):
        return ""
    return next((g.label for g in level_groups(dataset, name, level) if escape(g.code) == code), "")


def add_group(dataset: Dataset, name: str, request: TableRequest, query: QueryParams) -> TableRequest:
    """The table with the chosen categories as one more group, and without the filter.

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


def extend_groups(shown: NamedGroups, codes: Iterable[str], name: str) -> NamedGroups:
    """One more group; its categories leave their former groups.

    >>> extend_groups(((("1",), ""), (("2",), ""), (("3",), "")), ["1", "2"], "Both")
    ((('1', '2'), 'Both'), (('3',), ''))
    """
    members = tuple(codes)
    rest = [(tuple(code for code in group if code not in members), label) for group, label in shown]
    return ((members, name), *((group, label) for group, label in rest if group))


def _chosen(dataset: Dataset, name: str, request: TableRequest) -> tuple[set[int], str]:
    """The places that the filter on a variable keeps, none for all; and why it cannot be parsed."""
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
    match query.get("do", ""):
        case "all":
            return chosen | set(found)
        case "none":
            return chosen - set(found)
        case "invert":
            return chosen ^ set(found)
        case _:
            return chosen | set(places_of(dataset, name, query["add"]) if query.get("add") else ())


def _line(dataset: Dataset, variable: Variable, place: int, *, ticked: bool) -> PickerLine:
    category = variable.categories[place]
    value = write_filter(variable.name, (category.code,))
    return PickerLine(value, category.code, category.label, _parent(dataset, variable, category), ticked)


def _parent(dataset: Dataset, variable: Variable, category: Category) -> str:
    """The label of the category's parent."""
    if category.parent is None:
        return ""
    for hierarchy in dataset.hierarchies:
        if variable.name in hierarchy.levels[1:]:
            upper = dataset.variable(hierarchy.levels[hierarchy.levels.index(variable.name) - 1])
            return upper.categories[upper.position(category.parent)].label
    return category.parent


def _groups_of(variable: Variable, request: TableRequest) -> NamedGroups:
    """The groups of a request with their names, as far as they can be parsed."""
    named = dict(dict(request.names).get(variable.name, ()))
    groups = dict(request.groups).get(variable.name, tuple(named))
    return tuple((codes, named.get(codes, "")) for codes in groups if all(code in variable for code in codes))


def _group_entry(
    variable: Variable, request: TableRequest, shown: NamedGroups, place: int, items: QueryItems
) -> ShownGroup:
    codes, label = shown[place]
    singles = tuple(((code,), "") for code in codes)
    parted = (*shown[:place], *singles, *shown[place + 1 :])
    href = page_path(set_groups(request, variable.name, parted), items) if len(codes) > 1 or label else ""
    return ShownGroup(label or gettext(group_label(variable, codes)), href)
