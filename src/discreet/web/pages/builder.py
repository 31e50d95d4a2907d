"""What a reader who builds does to a table: put a variable on a shelf, take it off, swap, choose categories, group them.

Each is a function from a request to a request, so that every control of the page is a link to another address.

The shelves of the builder and the variables beside them, each control with the address that it leads to.

A chip is a select: without scripts it says which variable stands there, and the form sends it. Its menu and the
variables beside are links to other choices. `static/js/shelves.js` lets chips be dragged and moved by keys.

The form of the table page: a plain GET form whose URL is the state, filled in from that URL.

Shelves of selects say which variables stand where; filters, groups and levels are hidden fields, which links and the
picker change. What a browser sends is full of empty parameters; `is_raw` recognises it, and the page then redirects to
the clean permalink.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from starlette.datastructures import QueryParams

from discreet.errors import BadRequest
from discreet.model.dataset import Dataset
from discreet.model.grammar import escape, parse_choice, parse_filter, parse_names
from discreet.model.hierarchy import level_label, level_names
from discreet.model.measure import DEFAULT_MEASURE
from discreet.model.release import filter_in_words
from discreet.model.request import Filters, TableRequest, canonical
from discreet.model.selection import NamedGroups
from discreet.model.variable import Variable
from discreet.model.view import BASES, READING_PARAMETERS, VIEW_PARAMETERS
from discreet.release.measures import measures_of
from discreet.web.i18n.messages import gettext, ngettext
from discreet.web.pages.links import Link, QueryItems, page_path
from discreet.web.query import TABLE_PARAMETERS, read_table

#: The shelves that are axes of the table.
AXES = ("rows", "columns", "layers")


def place_variable(request: TableRequest, name: str, axis: str, place: int | None = None) -> TableRequest:
    """Put a variable on an axis: last, or at a place; it leaves the one where it was.

    >>> from discreet.model.request import TableRequest
    >>> place_variable(TableRequest("census", ("sex", "age")), "age", "rows", 0).rows
    ('age', 'sex')
    """
    left = {each: [n for n in getattr(request, each) if n != name] for each in AXES}
    left[axis].insert(len(left[axis]) if place is None else place, name)
    rows, columns, layers = (tuple(left[each]) for each in AXES)
    return replace(request, rows=rows, columns=columns, layers=layers)


def remove_variable(request: TableRequest, name: str) -> TableRequest:
    """Take a variable out of the table, with its groups and levels; what is counted stays as it is."""
    rows, columns, layers = (tuple(n for n in getattr(request, each) if n != name) for each in AXES)
    plain = remove_groups(set_levels(request, name, ()), name)
    return replace(plain, rows=rows, columns=columns, layers=layers)


def swap_axes(request: TableRequest) -> TableRequest:
    """Rows become columns, and columns rows."""
    return replace(request, rows=request.columns, columns=request.rows)


def set_filter(request: TableRequest, name: str, items: Iterable[str]) -> TableRequest:
    """Count only people in these categories of a variable; without one, everybody."""
    kept = tuple(entry for entry in request.filters if entry[0].removesuffix("!") != name)
    chosen = tuple(items)
    return replace(request, filters=(*kept, (name, chosen)) if chosen else kept)


def set_levels(request: TableRequest, name: str, levels: tuple[str, ...]) -> TableRequest:
    """Show a variable at these levels; without one, by its own categories."""
    kept = tuple(entry for entry in request.levels if entry[0] != name)
    return replace(request, levels=(*kept, (name, levels)) if levels else kept)


def remove_groups(request: TableRequest, name: str) -> TableRequest:
    """Show a variable without groups."""
    return set_groups(request, name, ())


def set_groups(request: TableRequest, name: str, groups: NamedGroups) -> TableRequest:
    """Show a variable by groups, each with its name; it then has no levels."""
    kept = tuple(entry for entry in request.groups if entry[0] != name)
    named = tuple(entry for entry in request.names if entry[0] != name)
    if not groups:
        return replace(request, groups=kept, names=named)
    return replace(
        set_levels(request, name, ()),
        groups=(*kept, (name, tuple(codes for codes, _ in groups))),
        names=(*named, (name, groups)),
    )


def extend_groups(shown: NamedGroups, codes: Iterable[str], name: str) -> NamedGroups:
    """One more group: its categories leave the groups in which they were.

    >>> extend_groups(((("1",), ""), (("2",), ""), (("3",), "")), ["1", "2"], "Both")
    ((('1', '2'), 'Both'), (('3',), ''))
    """
    taken = tuple(codes)
    rest = [(tuple(c for c in members if c not in taken), label) for members, label in shown]
    return ((taken, name), *((members, label) for members, label in rest if members))


#: Where a choice leads (`Door.offer`); None: nowhere.
Offer = Callable[[TableRequest], TableRequest | None]
#: The address that a choice leads to; empty where it leads nowhere.
Lead = Callable[[TableRequest], str]

_MOST_NAMED = 2


def offer_all(request: TableRequest) -> TableRequest:
    """Every choice leads to its own table."""
    return request


@dataclass(frozen=True, slots=True)
class Chip:
    """One place on a shelf: the variable that stands there, or none.

    Args:
        id: Of its select.
        field: What its select is called.
        chosen: The name of the variable; empty where a variable can be added.
        label: The label of the variable.
        note: At which level it is shown, or how many groups of several categories it has.
        moves: Where else it can stand, and how it can be shown.
        pick: Where its categories are chosen.
        remove: The table without it; empty if it is the only variable.
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
    """An axis of the table and what stands on it; its last chip is free."""

    name: str
    label: str
    chips: tuple[Chip, ...]


@dataclass(frozen=True, slots=True)
class OnlyChip:
    """A filter: which categories of a variable are counted."""

    name: str
    label: str
    text: str
    pick: str
    remove: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A variable in the list: where it stands now, and what can be done with it."""

    variable: Variable
    where: str
    add: Link | None
    places: tuple[Link, ...]
    pick: str


@dataclass(frozen=True, slots=True)
class Shelves:
    """All that the builder shows of a request; `filters` says whether some categories can be counted alone."""

    axes: tuple[Shelf, ...]
    only: tuple[OnlyChip, ...]
    topics: tuple[tuple[str, tuple[Entry, ...]], ...]
    swap: str
    filters: bool = True


def shelves(
    dataset: Dataset, request: TableRequest, also: QueryItems = (), offer: Offer = offer_all
) -> Shelves:
    """The shelves of a request.

    Args:
        dataset: The description.
        request: What is asked; its variables are those of the dataset.
        also: The view and the version, which links keep.
        offer: Where a choice leads: what leads nowhere is not shown.
    """

    def lead(wanted: TableRequest) -> str:
        found = offer(wanted)
        stays = found == request != wanted
        return "" if found is None or stays else page_path(found, also)

    first = dataset.variables[0]
    filters = offer(set_filter(request, first.name, first.codes[:1])) is not None
    pick = also if filters else None
    return Shelves(
        axes=tuple(_shelf(dataset, request, axis, lead, pick) for axis in AXES),
        only=tuple(_only(dataset, request, name, also) for name in _filter_names(request)),
        topics=_topics(dataset, request, also, lead),
        swap=lead(swap_axes(request)) if request.rows or request.columns else "",
        filters=filters,
    )


def axis_label(axis: str) -> str:
    """What an axis is called."""
    return {"rows": gettext("Rows"), "columns": gettext("Columns"), "layers": gettext("Layers")}[axis]


def pick_path(request: TableRequest, name: str, also: QueryItems = ()) -> str:
    """Where the categories of a variable are chosen for a table."""
    query = urlencode([*request.to_query(), *also], safe=",=")
    return f"/datasets/{request.dataset}/variables/{name}" + (f"?{query}" if query else "")


def topic_of(dataset: Dataset, variable: Variable) -> str:
    """The heading under which a variable stands."""
    return variable.topic or (
        gettext("Geography") if variable.name in dataset.geography else gettext("Other")
    )


def _shelf(dataset: Dataset, request: TableRequest, axis: str, lead: Lead, pick: QueryItems | None) -> Shelf:
    names = getattr(request, axis)
    label = axis_label(axis)
    chips = [_chip(dataset, request, axis, place, lead, pick) for place in range(len(names))]
    free = Chip(f"{axis}-{len(names) + 1}", _select_label(label, len(names)))
    return Shelf(axis, label, (*chips, free))


def _select_label(label: str, place: int) -> str:
    """What the select at a place is called."""
    ordinals = (
        gettext("first variable"),
        gettext("second variable"),
        gettext("third variable"),
        gettext("further variable"),
    )
    return f"{label}: {ordinals[min(place, 3)]}"


def _chip(
    dataset: Dataset, request: TableRequest, axis: str, place: int, lead: Lead, pick: QueryItems | None
) -> Chip:
    name = getattr(request, axis)[place]
    alone = len(request.variables) == 1
    return Chip(
        id=f"{axis}-{place + 1}",
        field=_select_label(axis_label(axis), place),
        chosen=name,
        label=dataset.variable(name).label,
        note=_note(dataset, request, name),
        moves=tuple(move for move in _moves(dataset, request, axis, place, lead) if move.href),
        pick="" if pick is None else pick_path(request, name, pick),
        remove="" if alone else lead(remove_variable(request, name)),
    )


def _note(dataset: Dataset, request: TableRequest, name: str) -> str:
    groups, levels = dict(request.groups).get(name), dict(request.levels).get(name)
    if groups:
        several = [codes for codes in groups if len(codes) > 1]
        return ngettext("{count} group", "{count} groups", len(several)) if several else ""
    return ", ".join(
        level_label(dataset, level) for level in levels or () if level in level_names(dataset, name)
    )


def _moves(dataset: Dataset, request: TableRequest, axis: str, place: int, lead: Lead) -> Iterator[Link]:
    """Where a variable can go, and at which levels it can be shown."""
    names = getattr(request, axis)
    name = names[place]
    for other in AXES:
        if other != axis:
            label = gettext("Move to {shelf:lower}", shelf=axis_label(other))
            yield Link(label, lead(place_variable(request, name, other)))
    if place:
        yield Link(gettext("Move before"), lead(place_variable(request, name, axis, place - 1)))
    if place < len(names) - 1:
        yield Link(gettext("Move after"), lead(place_variable(request, name, axis, place + 1)))
    if name in dict(request.groups):
        yield Link(gettext("Ungroup"), lead(remove_groups(request, name)))
    else:
        yield from _levels(dataset, request, name, lead)


def _levels(dataset: Dataset, request: TableRequest, name: str, lead: Lead) -> Iterator[Link]:
    """The levels at which a variable can be shown, where there are several."""
    *coarser, _ = level_names(dataset, name)
    shown = dict(request.levels).get(name, ())
    offered: list[tuple[tuple[str, ...], str]] = [((), level_label(dataset, name))] if coarser else []
    offered += [((level,), level_label(dataset, level)) for level in coarser]
    offered += [
        ((level, name), gettext("{level}, with parts", level=level_label(dataset, level)))
        for level in coarser
    ]
    for levels, label in offered:
        href = lead(set_levels(request, name, levels))
        yield Link(gettext("Show by: {level}", level=label), href, current=levels == shown)


def _filter_names(request: TableRequest) -> list[str]:
    return list(dict.fromkeys(name.removesuffix("!") for name, _ in request.filters))


def _only(dataset: Dataset, request: TableRequest, name: str, also: QueryItems) -> OnlyChip:
    return OnlyChip(
        name=name,
        label=dataset.variable(name).label,
        text=_in_words(dataset, request, name),
        pick=pick_path(request, name, also),
        remove=page_path(set_filter(request, name, ()), also),
    )


def _in_words(dataset: Dataset, request: TableRequest, name: str) -> str:
    """The labels that a filter keeps; what was written, where that cannot be read."""
    items = [
        (written, item)
        for written, some in request.filters
        for item in some
        if written.removesuffix("!") == name
    ]
    if all(written == name and item in dataset.variable(name) for written, item in items):
        return gettext(filter_in_words(dataset, name, tuple(item for _, item in items), _MOST_NAMED))
    return f"{dataset.variable(name).label}: " + ", ".join(
        ("!=" if written.endswith("!") else "") + escape(item) for written, item in items
    )


def _topics(
    dataset: Dataset, request: TableRequest, also: QueryItems, lead: Lead
) -> tuple[tuple[str, tuple[Entry, ...]], ...]:
    """The variables under their topics, places first; those that stand nowhere and can stand nowhere are left out."""
    found: dict[str, list[Entry]] = {}
    for variable in sorted(dataset.variables, key=lambda v: v.name not in dataset.geography):
        entry = _entry(variable, request, also, lead)
        if entry.where or entry.add:
            found.setdefault(topic_of(dataset, variable), []).append(entry)
    return tuple((topic, tuple(entries)) for topic, entries in found.items())


def _entry(variable: Variable, request: TableRequest, also: QueryItems, lead: Lead) -> Entry:
    name = variable.name
    where = next((axis for axis in AXES if name in getattr(request, axis)), "")
    places = {
        axis: Link(axis_label(axis), lead(place_variable(request, name, axis)))
        for axis in AXES
        if axis != where
    }
    free = "rows" if not request.rows or request.columns else "columns"
    return Entry(
        variable=variable,
        where=axis_label(where) if where else "",
        add=None if where else _add(request, name, Link(axis_label(free), places[free].href), lead),
        places=tuple(place for place in places.values() if place.href),
        pick=pick_path(request, name, also),
    )


def _add(request: TableRequest, name: str, place: Link, lead: Lead) -> Link | None:
    """How a variable comes into the table: onto a shelf; where that leads nowhere, by a table that has it."""
    if place.href:
        return Link(gettext("Add to {shelf:lower}", shelf=place.label), place.href)
    alone = replace(request, rows=(name,), columns=(), layers=(), filters=(), groups=(), levels=(), names=())
    href = lead(alone)
    return Link(gettext("Show a table with it"), href) if href else None


#: What the picker of a variable sends beside the table, and no permalink has.
PICKER_PARAMETERS = ("search", "within", "do", "add", "group_name", "list")
#: What is typed of one variable: a filter without its name.
CODES_PREFIX = "filter."
#: What stands in the form without a field of its own.
_HIDDEN = ("filter", "group", "levels", "fit_to")
#: What of a view has a field.
_FIELDS = ("percent", "rank", "top", "hide_empty")


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words: what is counted, or how totals relate to their parts."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...]
    chosen: str


@dataclass(frozen=True, slots=True)
class Form:
    """The form, filled in.

    Args:
        shelves: The variables of the table, the filters, and the variables that can be added.
        hidden: What the form sends beside: filters, groups, levels, published totals, the version.
        choices: What is chosen from a few words.
        totals: Whether there are totals.
        choose_totals: Whether that can be chosen.
        rank: Whether rows are ranked.
        top: How many of the largest rows are shown.
        hide_empty: Whether empty rows are hidden.
        changed: Whether one of the further options is not as it is without saying so.
        version: The version that the address names.
    """

    shelves: Shelves
    hidden: tuple[tuple[str, str], ...]
    choices: tuple[Choice, ...]
    totals: bool
    choose_totals: bool = True
    rank: bool = False
    top: str = ""
    hide_empty: bool = False
    changed: bool = False
    version: str = ""


def form_parameters(dataset: Dataset) -> list[str]:
    """Every parameter that the page takes."""
    typed = (CODES_PREFIX + variable.name for variable in dataset.variables)
    return [*TABLE_PARAMETERS, *VIEW_PARAMETERS, *READING_PARAMETERS, *PICKER_PARAMETERS, *typed]


def is_browser_form(query: QueryParams) -> bool:
    """Whether a browser sent the form: its address has empty fields, lines of codes, the picker's own, or an axis twice."""
    sent = any(
        not text.strip() or name.startswith(CODES_PREFIX) or name in PICKER_PARAMETERS
        for name, text in query.multi_items()
    )
    return sent or any(len(query.getlist(axis)) > 1 for axis in AXES)


def read_form(
    dataset: Dataset, query: QueryParams, start: Callable[[TableRequest], TableRequest] = lambda first: first
) -> TableRequest:
    """The request of the page; with no variable chosen, the dataset's first two are shown, or what a door starts with.

    Groups and levels of a variable that is not in the table are left out: its select was changed.
    """
    request = read_table(dataset, query)
    lines = [
        (name.removeprefix(CODES_PREFIX), text) for name, text in query.multi_items() if _is_line(name, text)
    ]
    typed = tuple(parse_choice(name, text) for name, text in lines)
    levels = tuple(item for item in request.levels if item[0] in request.variables)
    groups = tuple(item for item in request.groups if item[0] in request.variables)
    request = replace(request, filters=request.filters + typed, levels=levels, groups=groups)
    if request.variables:
        return request
    rows, columns = default_axes(dataset)
    return start(replace(request, rows=rows, columns=columns))


def lenient_request(dataset: Dataset, query: QueryParams) -> TableRequest:
    """As much of a wrong address as can be read: a form is filled in even when its request is refused."""
    try:
        request = read_form(dataset, query)
    except BadRequest:
        rows, columns, layers = (_names(query, axis) for axis in AXES)
        request = TableRequest(dataset.id, rows, columns, layers, _filters(query))
    known = {variable.name for variable in dataset.variables}
    said: dict[str, Any] = {
        axis: tuple(name for name in getattr(request, axis) if name in known) for axis in AXES
    }
    for what in ("filters", "groups", "levels"):
        entries = getattr(request, what)
        said[what] = tuple(entry for entry in entries if entry[0].removesuffix("!") in known)
    request = replace(request, **said)
    try:
        return canonical(request, dataset)
    except BadRequest:
        return request


def default_axes(dataset: Dataset) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The first two variables beside geography; the longer one down the side, where there is room."""
    plain_variables = [v for v in dataset.variables if v.name not in dataset.geography] or list(
        dataset.variables
    )
    first = sorted(plain_variables[:2], key=len, reverse=True)
    return (first[0].name,), tuple(v.name for v in first[1:])


def fill_form(
    dataset: Dataset,
    query: QueryParams,
    request: TableRequest,
    also: QueryItems = (),
    offer: Offer = offer_all,
) -> Form:
    """The form as the reader left it.

    Args:
        dataset: The description.
        query: The address.
        request: What was understood of it.
        also: The view and the version, which links keep.
        offer: Where a choice leads, `Door.offer`: what leads nowhere is not shown.
    """
    choices = tuple(_open_choices(_choices(dataset, query), request, offer))
    form = Form(
        shelves=shelves(dataset, request, also, offer),
        hidden=(
            *(item for item in request.to_query() if item[0] in _HIDDEN),
            *(item for item in also if item[0] not in _FIELDS),
        ),
        choices=choices,
        totals="no" not in query.getlist("totals"),
        choose_totals=offer(replace(request, totals=not request.totals)) is not None,
        rank="yes" in query.getlist("rank"),
        top=query.get("top", ""),
        hide_empty="yes" in query.getlist("hide_empty"),
        version=query.get("version", ""),
    )
    chosen = any(choice.chosen for choice in choices)
    return replace(form, changed=chosen or not form.totals or form.rank or bool(form.top) or form.hide_empty)


def _open_choices(choices: Iterable[Choice], request: TableRequest, offer: Offer) -> Iterator[Choice]:
    """The choices with the words that lead somewhere, where there are several; percentages are a view of any table."""
    asking: dict[str, Callable[[str], TableRequest]] = {
        "measure": lambda value: replace(request, measure=value or DEFAULT_MEASURE),
        "additivity": lambda value: replace(request, additivity=value),
    }
    for choice in choices:
        ask = asking.get(choice.name)
        options = tuple(
            (value, label)
            for value, label in choice.options
            if ask is None or value == choice.chosen or offer(ask(value)) is not None
        )
        if len(options) > 1:
            yield replace(choice, options=options)


def _choices(dataset: Dataset, query: QueryParams) -> tuple[Choice, ...]:
    """What the numbers say, where there is a choice; how totals add up, always."""
    own = dataset.protection.additivity
    words = {
        "independent": gettext("Adjusted on their own"),
        "interior": gettext("Sums of adjusted cells"),
        "fitted": gettext("Changed to add up"),
    }
    ways = tuple((way if way != own else "", words[way]) for way in sorted(words, key=lambda way: way != own))
    totals = Choice("additivity", gettext("Totals"), ways, query.get("additivity", ""))
    measures = tuple(
        ("" if measure.name == DEFAULT_MEASURE else measure.name, gettext(measure.label(dataset)))
        for measure in measures_of(dataset)
    )
    shown = _percent(query.get("percent", ""))
    if len(measures) == 1:
        return totals, shown
    return Choice("measure", gettext("Measure"), measures, query.get("measure", "")), totals, shown


def _percent(chosen: str) -> Choice:
    """Which percentages stand beside the numbers; one of a cell only where the address names it."""
    words = (gettext("Of the row"), gettext("Of the column"), gettext("Of the table"))
    options = [("", gettext("None")), *zip(BASES, words, strict=True)]
    options += [(chosen, gettext("Of {cell}", cell=chosen))] if chosen not in dict(options) else []
    return Choice("percent", gettext("Percentages"), tuple(options), chosen)


def _is_line(name: str, text: str) -> bool:
    return name.startswith(CODES_PREFIX) and bool(text.strip())


def _names(query: QueryParams, name: str) -> tuple[str, ...]:
    try:
        return parse_names(query.getlist(name))
    except BadRequest:
        return ()


def _filters(query: QueryParams) -> Filters:
    """The filters that can be read."""
    found = []
    for text in query.getlist("filter"):
        try:
            found.append(parse_filter(text))
        except BadRequest:
            continue
    return tuple(found)
