"""The table builder: shelves of variables, edits of a request, and the GET form whose URL is the state.

Every control is a link to an edited request. Without scripts, a chip on a shelf is a select that the form sends;
`static/js/shelves.js` adds drag and drop. Filters, groups and levels are hidden fields. A browser sends empty
parameters, which `is_browser_form` detects; the page then redirects to the canonical URL. The route is `table_page` in
`web/pages/table_page.py`: it reads the form here, and `release/pipeline.py` makes the numbers.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from starlette.datastructures import QueryParams

from discreet.errors import BadRequest, DiscreetError
from discreet.model.dataset import Dataset
from discreet.model.grammar import escape, parse_choice, parse_filter, parse_names
from discreet.model.hierarchy import level_label, level_names
from discreet.model.release import filter_in_words
from discreet.model.request import DEFAULT_MEASURE, TableRequest, canonical
from discreet.model.selection import NamedGroups
from discreet.model.variable import Variable
from discreet.model.view import BASES, READING_PARAMETERS, VIEW_PARAMETERS
from discreet.release.dataset_registry import DatasetService
from discreet.release.measures import default_measure, measures_of
from discreet.web.i18n.translation import gettext, ngettext
from discreet.web.urls import TABLE_PARAMETERS, Link, QueryItems, page_path, pick_path, read_table

#: The allowed table that a choice leads to (`DatasetService.offer`); None if there is none.
Offer = Callable[[TableRequest], TableRequest | None]
#: The URL that a choice leads to; empty if there is none.
Lead = Callable[[TableRequest], str]

AXES = ("rows", "columns", "layers")
#: Parameters of the picker, which no permalink has.
PICKER_PARAMETERS = ("search", "within", "do", "add", "group_name", "list")
#: Prefix of a text field of one variable: a filter without its name.
CODES_PREFIX = "filter."
#: Parameters that are hidden fields of the form.
_HIDDEN = ("filter", "group", "levels", "fit_to")
#: View parameters with a visible field.
_FIELDS = ("percent", "rank", "top", "hide_empty")
_MOST_NAMED = 2


# Edits of a request.


def place_variable(request: TableRequest, name: str, axis: str, place: int | None = None) -> TableRequest:
    """Move a variable to an axis, at a position or at the end.

    >>> place_variable(TableRequest("census", ("sex", "age")), "age", "rows", 0).rows
    ('age', 'sex')
    """
    left = {each: [n for n in getattr(request, each) if n != name] for each in AXES}
    left[axis].insert(len(left[axis]) if place is None else place, name)
    axes: dict[str, Any] = {each: tuple(names) for each, names in left.items()}
    return replace(request, **axes)


def remove_variable(request: TableRequest, name: str) -> TableRequest:
    """Remove a variable with its groups and levels; filters stay."""
    left: dict[str, Any] = {each: tuple(n for n in getattr(request, each) if n != name) for each in AXES}
    return replace(set_groups(set_levels(request, name, ()), name, ()), **left)


def swap_axes(request: TableRequest) -> TableRequest:
    """Exchange rows and columns."""
    return replace(request, rows=request.columns, columns=request.rows)


def set_filter(request: TableRequest, name: str, items: Iterable[str]) -> TableRequest:
    """Count only these categories of a variable; all without an item."""
    others = tuple(entry for entry in request.filters if entry[0].removesuffix("!") != name)
    chosen = tuple(items)
    return replace(request, filters=(*others, (name, chosen)) if chosen else others)


def set_levels(request: TableRequest, name: str, levels: tuple[str, ...]) -> TableRequest:
    """Show a variable at these levels; by its own categories without one."""
    others = tuple(entry for entry in request.levels if entry[0] != name)
    return replace(request, levels=(*others, (name, levels)) if levels else others)


def set_groups(request: TableRequest, name: str, groups: NamedGroups) -> TableRequest:
    """Show a variable by named groups instead of levels; without groups by its categories."""
    others = tuple(entry for entry in request.groups if entry[0] != name)
    names = tuple(entry for entry in request.names if entry[0] != name)
    if not groups:
        return replace(request, groups=others, names=names)
    return replace(
        set_levels(request, name, ()),
        groups=(*others, (name, tuple(codes for codes, _ in groups))),
        names=(*names, (name, groups)),
    )


# Shelves: the variables of a table and those that can be added.


@dataclass(frozen=True, slots=True)
class Chip:
    """One place on a shelf: the select `id` with the label `field`, and the variable `chosen`; empty where it is free.

    `note` has the level shown or the number of groups, `moves` links to other places and levels, `pick` the URL of its
    picker; `remove` is empty for the only variable.
    """

    id: str
    field: str
    chosen: str = ""
    label: str = ""
    note: str = ""
    moves: tuple[Link, ...] = ()
    pick: str = ""
    remove: str = ""


@dataclass(frozen=True, slots=True)
class Shelf:
    """An axis of the table and its variables; the last chip is free."""

    name: str
    label: str
    chips: tuple[Chip, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A variable in the list, its axis, and links that place it."""

    variable: Variable
    where: str
    add: Link | None
    places: tuple[Link, ...]
    pick: str


@dataclass(frozen=True, slots=True)
class Shelves:
    """The axes, the filters and the variables by topic; `filters` says whether filters are possible."""

    axes: tuple[Shelf, ...]
    only: tuple[dict[str, str], ...]
    topics: tuple[tuple[str, tuple[Entry, ...]], ...]
    swap: str
    filters: bool = True


def shelves(
    dataset: Dataset, request: TableRequest, items: QueryItems = (), offer: Offer = lambda request: request
) -> Shelves:
    """The shelves of a request; links keep `items`, and choices that `offer` leads to no table are not shown."""

    def lead(wanted: TableRequest) -> str:
        found = offer(wanted)
        stays = found == request != wanted
        return "" if found is None or stays else page_path(found, items)

    first = dataset.variables[0]
    filters = offer(set_filter(request, first.name, first.codes[:1])) is not None
    names = dict.fromkeys(name.removesuffix("!") for name, _ in request.filters)
    return Shelves(
        axes=tuple(_shelf(dataset, request, axis, lead, items if filters else None) for axis in AXES),
        only=tuple(_only(dataset, request, name, items) for name in names),
        topics=_topics(dataset, request, items, lead),
        swap=lead(swap_axes(request)) if request.rows or request.columns else "",
        filters=filters,
    )


def _axis_label(axis: str) -> str:
    return {"rows": gettext("Rows"), "columns": gettext("Columns"), "layers": gettext("Layers")}[axis]


def _shelf(dataset: Dataset, request: TableRequest, axis: str, lead: Lead, pick: QueryItems | None) -> Shelf:
    names, label = getattr(request, axis), _axis_label(axis)
    ordinals = (
        gettext("first variable"),
        gettext("second variable"),
        gettext("third variable"),
        gettext("further variable"),
    )
    fields = [f"{label}: {ordinals[min(place, 3)]}" for place in range(len(names) + 1)]
    chips = [
        Chip(
            id=f"{axis}-{place + 1}",
            field=fields[place],
            chosen=name,
            label=dataset.variable(name).label,
            note=_note(dataset, request, name),
            moves=tuple(move for move in _moves(dataset, request, axis, place, lead) if move.href),
            pick="" if pick is None else pick_path(request, name, pick),
            remove="" if len(request.variables) == 1 else lead(remove_variable(request, name)),
        )
        for place, name in enumerate(names)
    ]
    return Shelf(axis, label, (*chips, Chip(f"{axis}-{len(names) + 1}", fields[-1])))


def _note(dataset: Dataset, request: TableRequest, name: str) -> str:
    if groups := dict(request.groups).get(name):
        several = sum(len(codes) > 1 for codes in groups)
        return ngettext("{count} group", "{count} groups", several) if several else ""
    levels, known = dict(request.levels).get(name, ()), level_names(dataset, name)
    return ", ".join(level_label(dataset, level) for level in levels if level in known)


def _moves(dataset: Dataset, request: TableRequest, axis: str, place: int, lead: Lead) -> Iterator[Link]:
    """Where a variable can go, and at which levels it can be shown."""
    names = getattr(request, axis)
    name = names[place]
    for other in AXES:
        if other != axis:
            label = gettext("Move to {shelf:lower}", shelf=_axis_label(other))
            yield Link(label, lead(place_variable(request, name, other)))
    if place:
        yield Link(gettext("Move before"), lead(place_variable(request, name, axis, place - 1)))
    if place < len(names) - 1:
        yield Link(gettext("Move after"), lead(place_variable(request, name, axis, place + 1)))
    if name in dict(request.groups):
        yield Link(gettext("Ungroup"), lead(set_groups(request, name, ())))
        return
    shown = dict(request.levels).get(name, ())
    coarser = [(level, level_label(dataset, level)) for level in level_names(dataset, name)[:-1]]
    offered: list[tuple[tuple[str, ...], str]] = [((), level_label(dataset, name))] if coarser else []
    offered += [((level,), label) for level, label in coarser]
    offered += [((level, name), gettext("{level}, with parts", level=label)) for level, label in coarser]
    for levels, label in offered:
        href = lead(set_levels(request, name, levels))
        yield Link(gettext("Show by: {level}", level=label), href, current=levels == shown)


def _only(dataset: Dataset, request: TableRequest, name: str, items: QueryItems) -> dict[str, str]:
    """The chip of a filter: the labels that it keeps, or the filter as written where it cannot be resolved."""
    variable = dataset.variable(name)
    written = [(key, item) for key, some in request.filters for item in some if key.removesuffix("!") == name]
    if all(key == name and item in variable for key, item in written):
        codes = tuple(item for _, item in written)
        text = gettext(filter_in_words(dataset, name, codes, _MOST_NAMED))
    else:
        parts = (("!=" if key.endswith("!") else "") + escape(item) for key, item in written)
        text = f"{variable.label}: " + ", ".join(parts)
    return {
        "name": name,
        "label": variable.label,
        "text": text,
        "pick": pick_path(request, name, items),
        "remove": page_path(set_filter(request, name, ()), items),
    }


def _topics(
    dataset: Dataset, request: TableRequest, items: QueryItems, lead: Lead
) -> tuple[tuple[str, tuple[Entry, ...]], ...]:
    """The variables by topic, geography first; those that no table can show are left out."""
    found: dict[str, list[Entry]] = {}
    for variable in sorted(dataset.variables, key=lambda v: v.name not in dataset.geography):
        name = variable.name
        where = next((axis for axis in AXES if name in getattr(request, axis)), "")
        others = [axis for axis in AXES if axis != where]
        places = {axis: Link(_axis_label(axis), lead(place_variable(request, name, axis))) for axis in others}
        add = None if where else _add(request, name, places, lead)
        if where or add:
            topic = gettext("Geography") if name in dataset.geography else gettext("Other")
            shown = tuple(place for place in places.values() if place.href)
            entry = Entry(
                variable, _axis_label(where) if where else "", add, shown, pick_path(request, name, items)
            )
            found.setdefault(variable.topic or topic, []).append(entry)
    return tuple((topic, tuple(entries)) for topic, entries in found.items())


def _add(request: TableRequest, name: str, places: dict[str, Link], lead: Lead) -> Link | None:
    """The link that adds a variable to the table, or that shows a table with it alone."""
    free = "rows" if not request.rows or request.columns else "columns"
    if places[free].href:
        return Link(gettext("Add to {shelf:lower}", shelf=_axis_label(free)), places[free].href)
    alone = replace(request, rows=(name,), columns=(), layers=(), filters=(), groups=(), levels=(), names=())
    href = lead(alone)
    return Link(gettext("Show a table with it"), href) if href else None


# The form.


@dataclass(frozen=True, slots=True)
class Choice:
    """A select with a few options: the measure, additivity or percentages."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...]
    chosen: str


def form_parameters(dataset: Dataset) -> list[str]:
    """Every parameter of the page."""
    typed = (CODES_PREFIX + variable.name for variable in dataset.variables)
    return [*TABLE_PARAMETERS, *VIEW_PARAMETERS, *READING_PARAMETERS, *PICKER_PARAMETERS, *typed]


def is_browser_form(query: QueryParams) -> bool:
    """Whether a browser sent the form: empty fields, typed codes, picker parameters, or a repeated axis."""
    return any(
        not text.strip() or name.startswith(CODES_PREFIX) or name in PICKER_PARAMETERS
        for name, text in query.multi_items()
    ) or any(len(query.getlist(axis)) > 1 for axis in AXES)


def read_form(
    dataset: Dataset, query: QueryParams, start: Callable[[TableRequest], TableRequest] = lambda first: first
) -> TableRequest:
    """Parse the request of the page; `start` is what a table without variables becomes (`DatasetService.start`).

    Groups and levels of a variable that is not in the table are dropped: its select was changed.
    """
    request = read_table(dataset, query)
    typed = tuple(
        parse_choice(name.removeprefix(CODES_PREFIX), text)
        for name, text in query.multi_items()
        if name.startswith(CODES_PREFIX) and text.strip()
    )
    levels = tuple(item for item in request.levels if item[0] in request.variables)
    groups = tuple(item for item in request.groups if item[0] in request.variables)
    request = replace(request, filters=request.filters + typed, levels=levels, groups=groups)
    if request.variables:
        return request
    rows, columns = default_axes(dataset)
    return start(replace(request, rows=rows, columns=columns))


def lenient_request(dataset: Dataset, query: QueryParams) -> TableRequest:
    """Parse as much of a wrong URL as possible: the form is filled in even when its request is refused."""

    def attempt(parse: Callable[[Any], Any], given: Any) -> tuple[Any, ...]:
        try:
            return (parse(given),)
        except BadRequest:
            return ()

    try:
        request = read_form(dataset, query)
    except BadRequest:
        rows, columns, layers = (sum(attempt(parse_names, query.getlist(axis)), ()) for axis in AXES)
        filters = (parsed for text in query.getlist("filter") for parsed in attempt(parse_filter, text))
        request = TableRequest(dataset.id, rows, columns, layers, tuple(filters))
    known = {variable.name for variable in dataset.variables}
    readable: dict[str, Any] = {
        axis: tuple(name for name in getattr(request, axis) if name in known) for axis in AXES
    }
    for what in ("filters", "groups", "levels"):
        entries = getattr(request, what)
        readable[what] = tuple(entry for entry in entries if entry[0].removesuffix("!") in known)
    request = replace(request, **readable)
    try:
        return canonical(request, dataset)
    except BadRequest:
        return request


def default_axes(dataset: Dataset) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The rows and columns of a dataset's first table: its first two variables except geography, the longer as rows."""
    others = [v for v in dataset.variables if v.name not in dataset.geography] or list(dataset.variables)
    first = sorted(others[:2], key=len, reverse=True)
    return (first[0].name,), tuple(v.name for v in first[1:])


def first_table(service: DatasetService) -> TableRequest | None:
    """The first table of a dataset's page in canonical form; None where it is refused."""
    dataset = service.dataset
    table = TableRequest(dataset.id, *default_axes(dataset), measure=default_measure(dataset))
    try:
        return service.check(service.start(table)).request
    except DiscreetError:
        return None


def fill_form(
    dataset: Dataset, query: QueryParams, request: TableRequest, items: QueryItems, offer: Offer
) -> dict[str, Any]:
    """The form with the values of a URL for its template; the arguments are those of `shelves`."""
    choices = tuple(_choices(dataset, query, request, offer))
    rank, empty = ("yes" in query.getlist(name) for name in ("rank", "hide_empty"))
    totals, top = "no" not in query.getlist("totals"), query.get("top", "")
    return {
        "shelves": shelves(dataset, request, items, offer),
        "hidden": [
            *(item for item in request.to_query() if item[0] in _HIDDEN),
            *(item for item in items if item[0] not in _FIELDS),
        ],
        "choices": choices,
        "totals": totals,
        "choose_totals": offer(replace(request, totals=not request.totals)) is not None,
        "rank": rank,
        "top": top,
        "hide_empty": empty,
        "changed": any(choice.chosen for choice in choices) or not totals or rank or bool(top) or empty,
        "version": query.get("version", ""),
    }


def _choices(dataset: Dataset, query: QueryParams, request: TableRequest, offer: Offer) -> Iterator[Choice]:
    """The selects with several options: measure and additivity, as far as they lead to a table, and percentages."""
    additivity, percent = (query.get(name, "") for name in ("additivity", "percent"))
    measure = query.get("measure", "")
    if query.get("statistic"):
        measure = f"{measure}.{query['statistic']}"
    measures = [
        (value, gettext(each.label(dataset)))
        for each in measures_of(dataset)
        for value in ["" if each.name == DEFAULT_MEASURE else each.name]
        if value == measure or offer(replace(request, measure=each.name)) is not None
    ]
    if len(measures) > 1:
        yield Choice("measure", gettext("Measure"), tuple(measures), measure)
    words = {
        "independent": gettext("Adjusted on their own"),
        "interior": gettext("Sums of adjusted cells"),
        "fitted": gettext("Changed to add up"),
    }
    own = dataset.protection.additivity
    ways = [
        (value, words[way])
        for way in sorted(words, key=lambda way: way != own)
        for value in ["" if way == own else way]
        if value == additivity or offer(replace(request, additivity=value)) is not None
    ]
    if len(ways) > 1:
        yield Choice("additivity", gettext("Totals"), tuple(ways), additivity)
    labels = gettext("Of the row"), gettext("Of the column"), gettext("Of the table")
    options = {"": gettext("None"), **dict(zip(BASES, labels, strict=True))}
    options.setdefault(percent, gettext("Of {cell}", cell=percent))
    yield Choice("percent", gettext("Percentages"), tuple(options.items()), percent)
