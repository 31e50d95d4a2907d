"""The picker of a variable's categories: search by name, code, range or level, choose, and group.

The state is the URL: the table's parameters, `search` and `within` (a category of a coarser level). The list is
bounded; "all", "none" and "invert" apply to every match. The choice is the variable's filter, written in the grammar
of `model/grammar.py`. The picker is a page and a dialog. Groups are made one after the other, from ticks or a range, as
bands of numbers or from a ready-made level or code list; their numbers are those of the table by the variable alone.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from typing import Any

from fastapi import Request
from starlette.datastructures import QueryParams
from starlette.responses import RedirectResponse, Response

from discreet.errors import BadRequest, DiscreetError, NotFound
from discreet.model.dataset import Dataset
from discreet.model.grammar import escape, split, write_filter
from discreet.model.hierarchy import level_groups, level_label, level_names
from discreet.model.messages.text import join_sentences, message, nearest
from discreet.model.request import TableRequest
from discreet.model.selection import NamedGroups, group_label, number_classes, select, shortest
from discreet.model.variable import Category, Variable
from discreet.release.dataset_registry import DatasetRegistry, DatasetService
from discreet.web.i18n.translation import display_number, gettext, in_labels, translate_dataset
from discreet.web.pages.builder import AXES, form_parameters, lenient_request, set_filter, set_groups
from discreet.web.pages.page_request import link_parameters
from discreet.web.responses import conditional, no_store, open_service, strong_etag
from discreet.web.templating import FINGERPRINT, render_page
from discreet.web.urls import Link, QueryItems, link, page_path, pick_path, refuse_unknown

#: The most categories that are listed, unless all are asked for.
MOST_LISTED = 200
#: Bands of numbers need more classes than this.
LEAST_NUMBERS = 3
#: The most categories of coarser levels that are listed.
MOST_ABOVE = 50
#: Buttons that change the groups, and one that shows the table by them.
_EDITS = ("group", "bands", "rename", "show")
_RANGE_MARKS = ("..", ":", "*", "?")


@dataclass(frozen=True, slots=True)
class CoarserGroup:
    """A category of a coarser level: all categories below it can be chosen at once."""

    item: str
    label: str
    level: str
    size: int


def picker_page(registry: DatasetRegistry, request: Request, dataset_id: str, name: str) -> Response:
    """The categories of one variable: to look up, to choose for a table, to group."""
    service, query = open_service(registry, request, dataset_id), request.query_params
    names = [variable.name for variable in service.dataset.variables]
    if name not in names:
        raise NotFound(
            message('The dataset "{dataset}" has no variable "{name}".', dataset=dataset_id, name=name),
            nearest(name, names),
        )
    refuse_unknown(query, form_parameters(service.dataset))
    if query.get("do") in _EDITS:  # back to the picker with other groups, or to the table
        try:
            wanted = edit_groups(service.dataset, name, lenient_request(service.dataset, query), query)
            wanted = service.read(wanted).request
        except BadRequest as error:
            return _render(service, name, query, join_sentences([error.message, error.advice]))
        items = link_parameters(query)
        shown = query["do"] == "show"
        href = page_path(wanted, items) if shown else pick_path(wanted, name, items)
        return no_store(RedirectResponse(link(href), 303))
    tag = strong_etag("categories", FINGERPRINT, service.edition, name, str(query))
    return conditional(request, tag, lambda: _render(service, name, query), lasting=True)


def _render(service: DatasetService, name: str, query: QueryParams, problem: str = "") -> Response:
    dataset = translate_dataset(service.dataset)
    request, items = lenient_request(service.dataset, query), link_parameters(query)
    kept = [
        (key, text)
        for key, text in [*request.to_query(), *items]
        if not (key == "filter" and text.partition("=")[0].rstrip("!") == name)
    ]
    found = picker(dataset, name, request, query, items, in_labels(dataset, problem))
    numbers = group_numbers(service, name, request) if found["groups"] else {}
    for group in found["groups"]:
        group["number"] = numbers.get(group["codes"], "")
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
) -> dict[str, Any]:
    """The picker of a variable, after the button of the query was applied; `problem` says why the last action failed."""
    variable = dataset.variable(name)
    search, within = query.get("search", "").strip(), query.get("within", "")
    found, unfound = find_categories(dataset, name, search, within)
    chosen, unread = _chosen(dataset, name, request)
    match query.get("do", ""):
        case "all":
            chosen |= set(found)
        case "none":
            chosen -= set(found)
        case "invert":
            chosen ^= set(found)
        case _:
            chosen |= set(places_of(dataset, name, query["add"]) if query.get("add") else ())
    most = len(variable) if "all" in query.getlist("list") else MOST_LISTED
    lines = [(variable.categories[place], place in chosen) for place in found[:most]]
    unlisted = tuple(variable.codes[place] for place in sorted(chosen - set(found[:most])))
    shown = _groups_of(variable, request)
    groups = []
    for place, (codes, label) in enumerate(shown):
        parted = (*shown[:place], *(((code,), "") for code in codes), *shown[place + 1 :])
        href = pick_path(set_groups(request, name, parted), name, items) if len(codes) > 1 or label else ""
        names = gettext(group_label(variable, codes))
        groups.append({"label": label or names, "members": names, "codes": codes, "ungroup": href})
    may_group = dataset.protection.is_dp or name not in dataset.geography
    return {
        "variable": variable,
        "search": search,
        "within": (within, label_of(dataset, name, within)),  # the category of a coarser level to search in
        "lines": [
            {
                "value": write_filter(name, (each.code,)),
                "code": each.code,
                "label": each.label,
                "above": _parent(dataset, variable, each),
                "ticked": ticked,
            }
            for each, ticked in lines
        ],
        "matches": len(found),
        "above": coarser_groups(dataset, name, search, within),
        "chosen": len(chosen),
        "unlisted": ",".join(map(escape, shortest(variable, unlisted))),
        "problem": gettext(problem or unfound or unread),
        "can_group": may_group and any(name in getattr(request, axis) for axis in AXES),
        "groups": groups,
        "ready": ready_groups(dataset, name, request, items) if may_group else [],
        "bands": len(_numbers(variable)) > LEAST_NUMBERS,
        "group_line": next((line for line in request.group_lines() if line.startswith(f"{name}=")), ""),
        "ungroup": pick_path(set_groups(request, name, ()), name, items) if shown else "",
        "whole": pick_path(request, name, [*items, ("list", "all")]) if len(found) > most else "",
    }


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


def edit_groups(dataset: Dataset, name: str, request: TableRequest, query: QueryParams) -> TableRequest:
    """The table after a button of the picker was pressed; names that were typed are kept in any case."""
    labels = query.getlist("label")
    shown = _groups_of(dataset.variable(name), request)
    if len(labels) == len(shown):
        plain = [gettext(group_label(dataset.variable(name), codes)) for codes, _ in shown]
        named = zip(shown, labels, plain, strict=True)
        groups = tuple(
            (codes, "" if label.strip() in {"", own} else label.strip()) for (codes, _), label, own in named
        )
        request = set_groups(request, name, groups)
    match query["do"]:
        case "group":
            return add_group(dataset, name, request, query)
        case "bands":
            return set_groups(
                set_filter(request, name, ()), name, bands(dataset.variable(name), query.get("bands", ""))
            )
    return set_filter(request, name, ())


def bands(variable: Variable, text: str) -> NamedGroups:
    """Groups of classes of numbers by bands of a width; a category that is no class stays by itself.

    Raises:
        BadRequest: The width is no whole number from 2 to 1000.
    """
    if not (text.isascii() and text.isdigit() and 2 <= int(text[:5]) <= 1000):
        raise BadRequest(
            message('The width of the bands is "{text}".', text=text[:20]),
            message("Give a whole number from 2 up, as in 10."),
        )
    numbers, width = _numbers(variable), int(text)
    found: dict[object, list[int]] = {}
    for place in range(len(variable)):
        low = numbers.get(place, (None, None))[0]
        found.setdefault(("alone", place) if low is None else low // width, []).append(place)
    made = []
    for places in found.values():
        codes = tuple(variable.codes[place] for place in places)
        high = numbers[places[-1]][1] if places[0] in numbers else inf
        label = (
            f"{numbers[places[0]][0]:g}\N{EN DASH}{high:g}"
            if high < inf
            else f"{numbers[places[0]][0]:g}+"
            if places[0] in numbers
            else ""
        )
        made.append((codes, label if len(codes) > 1 else ""))
    return tuple(made)


def _numbers(variable: Variable) -> dict[int, tuple[float, float]]:
    """The lowest and highest number of each category that is a class of numbers."""
    labels = [category.label for category in variable.categories]
    return {place: each for place, each in number_classes(variable.codes, labels).items() if each[0] > -inf}


def ready_groups(
    dataset: Dataset, name: str, request: TableRequest, items: QueryItems
) -> list[tuple[Link, int]]:
    """The coarser levels and code lists of a variable as groups, with their numbers of groups."""
    variable, found = dataset.variable(name), []
    for level in level_names(dataset, name)[:-1]:
        groups = tuple(
            (tuple(variable.codes[place] for place in group.members), str(group.label))
            for group in level_groups(dataset, name, level)
        )
        if len(groups) <= MOST_LISTED:
            href = pick_path(set_groups(set_filter(request, name, ()), name, groups), name, items)
            found.append((Link(level_label(dataset, level), href), len(groups)))
    return found


def group_numbers(service: DatasetService, name: str, request: TableRequest) -> dict[tuple[str, ...], str]:
    """The number of each group in the table by the variable alone, by its codes; none where it would cost or is refused."""
    alone = replace(request, rows=(name,), columns=(), layers=(), levels=(), additivity="", fit_to=())
    alone = replace(
        alone,
        groups=tuple(entry for entry in request.groups if entry[0] == name),
        names=tuple(entry for entry in request.names if entry[0] == name),
    )
    if service.dataset.protection.is_dp:
        return {}
    try:
        release = service.answer(service.check(set_filter(alone, name, ())))
    except DiscreetError:
        return {}
    variable, (dimension,) = service.dataset.variable(name), release.dimensions
    return {
        tuple(variable.codes[place] for place in output.members): display_number(release.values[place].item())
        for place, output in enumerate(dimension.outputs)
        if not release.missing[place]
    }


def add_group(dataset: Dataset, name: str, request: TableRequest, query: QueryParams) -> TableRequest:
    """The table with the chosen categories as one more group, and without the filter."""
    variable = dataset.variable(name)
    chosen, _ = _chosen(dataset, name, request)
    for item in split(query.get("members", ""), ","):
        chosen |= set(select(dataset, name, item.strip()) if item.strip() else ())
    if not chosen:
        raise BadRequest(
            message("A group needs categories."),
            message("Tick those that belong together, or write a range."),
        )
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


def _parent(dataset: Dataset, variable: Variable, category: Category) -> str:
    for hierarchy in dataset.hierarchies if category.parent else ():
        if variable.name in hierarchy.levels[1:]:
            upper = dataset.variable(hierarchy.levels[hierarchy.levels.index(variable.name) - 1])
            return upper.categories[upper.position(category.parent or "")].label
    return category.parent or ""


def _groups_of(variable: Variable, request: TableRequest) -> NamedGroups:
    """The groups of a request with their names, as far as they can be parsed."""
    named = dict(dict(request.names).get(variable.name, ()))
    groups = dict(request.groups).get(variable.name, tuple(named))
    return tuple((codes, named.get(codes, "")) for codes in groups if all(code in variable for code in codes))
