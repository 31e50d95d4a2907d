"""The form of the table page: a plain GET form whose URL is the state, filled in from that URL.

Shelves of selects say which variables stand where; filters, groups and levels are hidden fields, which links and the
picker change. What a browser sends is full of empty parameters; `is_raw` recognises it, and the page then redirects to
the clean permalink.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from discreet.answer.measures import measures_of
from discreet.errors import BadRequest
from discreet.model.grammar import parse_choice, parse_filter, parse_names
from discreet.model.measure import DEFAULT_MEASURE
from discreet.model.request import TableRequest, canonical
from discreet.model.view import BASES, READING_PARAMETERS, VIEW_PARAMETERS
from discreet.server.builder.edits import AXES
from discreet.server.builder.shelves import everything, shelves
from discreet.server.query import TABLE_PARAMETERS, read_table
from discreet.server.words import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from starlette.datastructures import QueryParams

    from discreet.model.dataset import Dataset
    from discreet.model.request import Filters
    from discreet.server.builder.shelves import Offer, Shelves
    from discreet.server.snippets import Also

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


def is_raw(query: QueryParams) -> bool:
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


def readable_request(dataset: Dataset, query: QueryParams) -> TableRequest:
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


def filled_form(
    dataset: Dataset, query: QueryParams, request: TableRequest, also: Also = (), offer: Offer = everything
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
        "independent": say("Adjusted on their own"),
        "interior": say("Sums of adjusted cells"),
        "fitted": say("Changed to add up"),
    }
    ways = tuple((way if way != own else "", words[way]) for way in sorted(words, key=lambda way: way != own))
    totals = Choice("additivity", say("Totals"), ways, query.get("additivity", ""))
    measures = tuple(
        ("" if measure.name == DEFAULT_MEASURE else measure.name, say(measure.label(dataset)))
        for measure in measures_of(dataset)
    )
    shown = _percent(query.get("percent", ""))
    if len(measures) == 1:
        return totals, shown
    return Choice("measure", say("Measure"), measures, query.get("measure", "")), totals, shown


def _percent(chosen: str) -> Choice:
    """Which percentages stand beside the numbers; one of a cell only where the address names it."""
    words = (say("Of the row"), say("Of the column"), say("Of the table"))
    options = [("", say("None")), *zip(BASES, words, strict=True)]
    options += [(chosen, say("Of {cell}", cell=chosen))] if chosen not in dict(options) else []
    return Choice("percent", say("Percentages"), tuple(options), chosen)


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
