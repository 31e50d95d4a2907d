"""The table builder: shelves of variables and edits of a request; the URL is the state.

Every control is a link to an edited request; `static/js/shelves.js` adds drag and drop. The forms of the picker and of
older links send empty parameters, which `is_browser_form` detects; the page then redirects to the canonical URL. The
route is `table_page` in `web/pages/table_page.py`: it reads the query here, and `release/pipeline.py` makes the numbers.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from discreet.errors import BadRequest, DiscreetError
from discreet.model.dataset import Dataset
from discreet.model.grammar import escape, parse_choice, parse_filter, parse_names
from discreet.model.hierarchy import level_label, level_names
from discreet.model.messages.text import message
from discreet.model.release import filter_in_words
from discreet.model.request import TableRequest, canonical
from discreet.model.selection import NamedGroups
from discreet.model.variable import Variable
from discreet.model.view import READING_PARAMETERS, VIEW_PARAMETERS
from discreet.release.dataset_registry import DatasetService
from discreet.release.measures import measures_of
from discreet.web.i18n.translation import gettext, ngettext
from discreet.web.urls import TABLE_PARAMETERS, Link, QueryItems, page_path, pick_path, read_table

#: The allowed table that a choice leads to (`DatasetService.offer`); None if there is none.
Offer = Callable[[TableRequest], TableRequest | None]
#: The URL that a choice leads to; empty if there is none.
Lead = Callable[[TableRequest], str]
#: Why a table would be refused, in a word or two and in a sentence; None if it would not be.
Foresee = Callable[[TableRequest], tuple[str, str] | None]

AXES = ("rows", "columns", "layers")
#: Parameters of the picker, which no permalink has.
PICKER_PARAMETERS = ("search", "within", "do", "add", "members", "group_name", "label", "bands", "list")
#: Prefix of a text field of one variable: a filter without its name.
CODES_PREFIX = "filter."
_MOST_NAMED = 2
_TOTALS = {
    "independent": message("Independent (may not add up)"),
    "interior": message("Sums of the cells"),
    "fitted": message("Adjusted to add up"),
}


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


def swap_items(request: TableRequest, items: QueryItems) -> list[tuple[str, str]]:
    """The view after rows and columns are exchanged: of the row becomes of the column; without rows nothing ranks.

    >>> swap_items(TableRequest("census", ("age",), ("sex",)), [("percent", "row"), ("sort", "label")])
    [('percent', 'column')]
    """
    bases = {"row": "column", "column": "row"}
    gone = {"sort"} if request.columns else {"sort", "top", "rank", "hide_empty"}
    return [
        (name, bases.get(text, text) if name == "percent" else text)
        for name, text in items
        if name not in gone
    ]


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
    """The variable `chosen` on a shelf.

    `note` has the level shown or the number of groups, `moves` links to other places and levels, `pick` the URL of its
    picker; `remove` is empty for the only variable.
    """

    chosen: str
    label: str
    note: str = ""
    moves: tuple[Link, ...] = ()
    pick: str = ""
    remove: str = ""


@dataclass(frozen=True, slots=True)
class Shelf:
    """An axis of the table and its variables."""

    name: str
    label: str
    chips: tuple[Chip, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A variable in the list, its axis, and links that place it.

    If no link adds it, `reason` is a word or two about why, and `why` a sentence.
    """

    variable: Variable
    where: str
    add: Link | None
    places: dict[str, Link]
    pick: str
    reason: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Shelves:
    """The axes, the filters and the variables by topic; `filters` says whether filters are possible."""

    axes: tuple[Shelf, ...]
    only: tuple[dict[str, str], ...]
    topics: tuple[tuple[str, tuple[Entry, ...]], ...]
    swap: str
    filters: bool = True

    @property
    def open(self) -> bool:
        """Whether a variable can be added."""
        return any(not entry.where and not entry.reason for _, entries in self.topics for entry in entries)


def shelves(
    dataset: Dataset,
    request: TableRequest,
    items: QueryItems = (),
    offer: Offer = lambda request: request,
    foresee: Foresee = lambda _: None,
) -> Shelves:
    """The shelves of a request; links keep `items`, and choices that `offer` leads to no table are not shown.

    A variable that `foresee` refuses stays in the list, with the reason in place of the link that adds it.
    """

    def lead(wanted: TableRequest, items: QueryItems = items) -> str:
        found = offer(wanted)
        stays = found == request != wanted
        return "" if found is None or stays else page_path(found, items)

    first = dataset.variables[0]
    filters = offer(set_filter(request, first.name, first.codes[:1])) is not None
    names = dict.fromkeys(name.removesuffix("!") for name, _ in request.filters)
    return Shelves(
        axes=tuple(_shelf(dataset, request, axis, lead, items if filters else None) for axis in AXES),
        only=tuple(_only(dataset, request, name, items) for name in names),
        topics=_topics(dataset, request, items, lead, foresee),
        swap=lead(swap_axes(request), swap_items(request, items)) if request.rows or request.columns else "",
        filters=filters,
    )


def _axis_label(axis: str) -> str:
    return {"rows": gettext("Rows"), "columns": gettext("Columns"), "layers": gettext("Layers")}[axis]


def _shelf(dataset: Dataset, request: TableRequest, axis: str, lead: Lead, pick: QueryItems | None) -> Shelf:
    names = getattr(request, axis)
    chips = [
        Chip(
            chosen=name,
            label=dataset.variable(name).label,
            note=_note(dataset, request, name),
            moves=tuple(move for move in _moves(dataset, request, axis, place, lead) if move.href),
            pick="" if pick is None else pick_path(request, name, pick),
            remove="" if len(request.variables) == 1 else lead(remove_variable(request, name)),
        )
        for place, name in enumerate(names)
    ]
    return Shelf(axis, _axis_label(axis), tuple(chips))


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
    dataset: Dataset, request: TableRequest, items: QueryItems, lead: Lead, foresee: Foresee
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
            refused = None if where else foresee(place_variable(request, name, _free_axis(request)))
            shown = {axis: place for axis, place in places.items() if place.href and not refused}
            axis = _axis_label(where) if where else ""
            entry = Entry(variable, axis, add, shown, pick_path(request, name, items), *(refused or ()))
            found.setdefault(variable.topic or topic, []).append(entry)
    return tuple((topic, tuple(entries)) for topic, entries in found.items())


def _free_axis(request: TableRequest) -> str:
    """The axis that the next variable goes to."""
    return "rows" if not request.rows or request.columns else "columns"


def _add(request: TableRequest, name: str, places: dict[str, Link], lead: Lead) -> Link | None:
    """The link that adds a variable to the table, or that shows a table with it alone."""
    free = _free_axis(request)
    if places[free].href:
        return Link(gettext("Add to {shelf:lower}", shelf=_axis_label(free)), places[free].href)
    alone = replace(request, rows=(name,), columns=(), layers=(), filters=(), groups=(), levels=(), names=())
    href = lead(alone)
    return Link(gettext("Show a table of it alone"), href) if href else None


# The form.


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
    measure = query.get("measure") or first_measure(dataset)
    return start(replace(request, rows=rows, columns=columns, measure=measure))


def first_measure(dataset: Dataset) -> str:
    """The measure that a page opens with: estimates of the population, if the dataset releases them."""
    return max(measures_of(dataset), key=lambda measure: measure.has_errors).name


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
    table = TableRequest(dataset.id, *default_axes(dataset), measure=first_measure(dataset))
    try:
        return service.check(service.start(table)).request
    except DiscreetError:
        return None


def fill_form(
    dataset: Dataset,
    query: QueryParams,
    request: TableRequest,
    items: QueryItems,
    offer: Offer,
    foresee: Foresee = lambda _: None,
) -> dict[str, Any]:
    """The controls of a URL for its template; the arguments are those of `shelves`."""

    def links(field: str, words: Iterable[tuple[Any, str]]) -> tuple[Link, ...]:
        """One link per value of a field of the request, as far as it leads to a table; none for a single one."""
        now = getattr(request, field)
        found = [(value, label, replace(request, **{field: value})) for value, label in words]
        links = [
            Link(label, page_path(wanted, items), value == now)
            for value, label, wanted in found
            if value == now or offer(wanted) is not None
        ]
        return tuple(links) if len(links) > 1 else ()

    own = dataset.protection.additivity
    additivity = replace(request, additivity=request.additivity or own)
    ways = sorted(_TOTALS, key=lambda way: way != own)
    totals = [
        Link(gettext(_TOTALS[way]), page_path(wanted, items), request.totals and additivity.additivity == way)
        for way in ways
        for wanted in [replace(request, additivity="" if way == own else way, totals=True)]
        if additivity.additivity == way or offer(wanted) is not None
    ]
    without = replace(request, totals=False)
    if offer(without) is not None:
        totals.append(Link(gettext("None"), page_path(without, items), not request.totals))
    return {
        "shelves": shelves(dataset, request, items, offer, foresee),
        "query": urlencode([*request.to_query(), *items]),
        "measures": links(
            "measure", ((each.name, gettext(each.label(dataset))) for each in measures_of(dataset))
        ),
        "totals": totals if len(totals) > 1 else [],
        "version": query.get("version", ""),
    }
