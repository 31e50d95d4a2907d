"""The form of the table page: a plain GET form whose URL is the state, filled in from that URL.

A variable with few categories has a box for each (`filter=birthplace=2`); one with many has a line for what a filter
takes (`filter.area=district:R01D02`), since no page should hold thousands of boxes. What a browser sends is full
of empty parameters; `is_raw` recognises it, and the page then redirects to the clean permalink.

Comes from: the query string, however wrong: a form is filled in even when its request is refused.
Goes to: `templates/_form.html`; `read_form` goes to `answer`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.answer.measures import measures_of
from discreet.errors import BadRequest
from discreet.model.grammar import escape, parse_choice, parse_filter, parse_names, write_filter
from discreet.model.levels import level_label, level_names
from discreet.model.measure import DEFAULT_MEASURE
from discreet.model.request import TableRequest, canonical
from discreet.model.view import BASES, VIEW_PARAMETERS
from discreet.server.query import TABLE_PARAMETERS, read_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.datastructures import QueryParams

    from discreet.model.dataset import Dataset
    from discreet.model.request import Filters
    from discreet.model.variable import Variable

#: Up to so many categories a filter has a box for each; beyond, a line for codes.
MOST_BOXES = 40
CODES_PREFIX = "filter."
_AXES = (("rows", "Rows", 2), ("columns", "Columns", 2), ("layers", "Layers", 1))
_WAYS = {
    "independent": "Adjusted on their own",
    "interior": "Sums of adjusted cells",
    "fitted": "Changed to add up",
}
_ORDINALS = ("first", "second", "third", "fourth")


@dataclass(frozen=True, slots=True)
class Slot:
    """One select: which variable stands there, if any."""

    id: str
    parameter: str
    label: str
    chosen: str


@dataclass(frozen=True, slots=True)
class Axis:
    """The selects of one axis."""

    name: str
    label: str
    slots: tuple[Slot, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """One category of a filter, as a box to tick."""

    value: str
    label: str
    ticked: bool


@dataclass(frozen=True, slots=True)
class FilterField:
    """The filter of one variable: boxes, or a line of codes where `boxes` is empty."""

    name: str
    label: str
    categories: int
    boxes: tuple[Box, ...]
    codes: str
    chosen: int


@dataclass(frozen=True, slots=True)
class LevelField:
    """At which level a variable of the table is shown; offered where it has more than its own."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...]
    chosen: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words: what is counted, or how totals relate to their parts."""

    name: str
    label: str
    options: tuple[tuple[str, str], ...]
    chosen: str


@dataclass(frozen=True, slots=True)
class Form:
    """The form, filled in."""

    axes: tuple[Axis, ...]
    options: tuple[tuple[str, tuple[Variable, ...]], ...]
    filters: tuple[FilterField, ...]
    groups: tuple[str, ...]
    levels: tuple[LevelField, ...]
    choices: tuple[Choice, ...]
    totals: bool
    fit_to: tuple[str, ...] = ()
    rank: bool = False
    top: str = ""
    hide_empty: bool = False
    version: str = ""


def form_parameters(dataset: Dataset) -> list[str]:
    """Every parameter that the page takes."""
    lines = (CODES_PREFIX + v.name for v in dataset.variables if len(v) > MOST_BOXES)
    return [*TABLE_PARAMETERS, *VIEW_PARAMETERS, *lines]


def is_raw(query: QueryParams) -> bool:
    """Whether a browser sent the form: empty fields and lines of codes are not part of a permalink."""
    return any(not text.strip() or name.startswith(CODES_PREFIX) for name, text in query.multi_items())


def read_form(dataset: Dataset, query: QueryParams) -> TableRequest:
    """The request of the page; with no variable chosen, the dataset's first two are shown."""
    request = read_table(dataset, query)
    lines = [
        (name.removeprefix(CODES_PREFIX), text) for name, text in query.multi_items() if _is_line(name, text)
    ]
    typed = tuple(parse_choice(name, text) for name, text in lines)
    levels = tuple(item for item in request.levels if item[0] in request.variables)
    request = replace(request, filters=request.filters + typed, levels=levels)
    if request.variables:
        return request
    rows, columns = default_axes(dataset)
    return replace(request, rows=rows, columns=columns)


def default_axes(dataset: Dataset) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The first two variables beside geography; the longer one down the side, where there is room."""
    plain_variables = [v for v in dataset.variables if v.name not in dataset.geography] or list(
        dataset.variables
    )
    first = sorted(plain_variables[:2], key=len, reverse=True)
    return (first[0].name,), tuple(v.name for v in first[1:])


def filled_form(dataset: Dataset, query: QueryParams, request: TableRequest | None) -> Form:
    """The form as the reader left it; `request` is what was understood, None where it was not."""
    chosen = {name: _names(query, name) for name, _, _ in _AXES}
    if request is not None:
        chosen = {"rows": request.rows, "columns": request.columns, "layers": request.layers}
    kept = _kept(dataset, query) if request is None else dict(request.filters)
    lists = {} if request is None else dict(request.written)
    written = {name: lists[name, codes] for name, codes in kept.items() if (name, codes) in lists}
    return Form(
        axes=tuple(_axis(name, label, least, chosen[name]) for name, label, least in _AXES),
        options=_options(dataset),
        filters=tuple(_field(v, kept.get(v.name, ()), written, query) for v in dataset.variables),
        groups=tuple(text for text in query.getlist("group") if text.strip()),
        levels=_level_fields(dataset, request) if request is not None else (),
        choices=_choices(dataset, query),
        totals="no" not in query.getlist("totals"),
        fit_to=parse_names(query.getlist("fit_to")),
        rank="yes" in query.getlist("rank"),
        top=query.get("top", ""),
        hide_empty="yes" in query.getlist("hide_empty"),
        version="" if request is None else query.get("version", ""),
    )


def _choices(dataset: Dataset, query: QueryParams) -> tuple[Choice, ...]:
    """What the numbers say, where there is a choice; how totals add up, always."""
    own = dataset.protection.additivity
    ways = tuple((way if way != own else "", _WAYS[way]) for way in sorted(_WAYS, key=lambda way: way != own))
    totals = Choice("additivity", "Totals", ways, query.get("additivity", ""))
    measures = tuple(
        ("" if measure.name == DEFAULT_MEASURE else measure.name, measure.label(dataset))
        for measure in measures_of(dataset)
    )
    shown = _percent(query.get("percent", ""))
    if len(measures) == 1:
        return totals, shown
    return Choice("measure", "Measure", measures, query.get("measure", "")), totals, shown


def _percent(chosen: str) -> Choice:
    """Which percentages stand beside the numbers; one of a cell only where the address names it."""
    options = [("", "None"), *((word, f"Of the {word}") for word in BASES)]
    options += [(chosen, f"Of {chosen}")] if chosen not in dict(options) else []
    return Choice("percent", "Percentages", tuple(options), chosen)


def _level_fields(dataset: Dataset, request: TableRequest) -> tuple[LevelField, ...]:
    """One select for each variable of the table that can be shown at several levels."""
    fields = []
    for name in request.variables:
        names = level_names(dataset, name)
        if len(names) > 1 and name not in dict(request.groups):
            asked = dict(request.levels).get(name)
            options = [("", level_label(dataset, name))]
            options += [(write_filter(name, (level,)), level_label(dataset, level)) for level in names[:-1]]
            options += [
                (write_filter(name, (level, name)), f"{level_label(dataset, level)}, with parts")
                for level in names[:-1]
            ]
            chosen = write_filter(name, asked) if asked else ""
            if chosen not in dict(options):
                options.append((chosen, ", ".join(level_label(dataset, level) for level in asked or ())))
            fields.append(LevelField(name, dataset.variable(name).label, tuple(options), chosen))
    return tuple(fields)


def _is_line(name: str, text: str) -> bool:
    return name.startswith(CODES_PREFIX) and bool(text.strip())


def _names(query: QueryParams, name: str) -> tuple[str, ...]:
    try:
        return parse_names(query.getlist(name))
    except BadRequest:
        return ()


def _kept(dataset: Dataset, query: QueryParams) -> dict[str, tuple[str, ...]]:
    """What the filters say, variable by variable, as far as they can be read."""
    given: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
    for text in query.getlist("filter"):
        try:
            written, items = parse_filter(text)
        except BadRequest:
            continue
        given.setdefault(written.removesuffix("!"), []).append((written, items))
    return {name: _as_codes(dataset, name, tuple(filters)) for name, filters in given.items()}


def _as_codes(dataset: Dataset, name: str, filters: Filters) -> tuple[str, ...]:
    """The codes that the filters on one variable keep; what was written, where that cannot be read."""
    try:
        return dict(canonical(TableRequest(dataset.id, (name,), filters=filters), dataset).filters).get(
            name, ()
        )
    except BadRequest:
        return tuple(item for written, items in filters if written == name for item in items)


def _axis(name: str, label: str, least: int, chosen: tuple[str, ...]) -> Axis:
    places = range(max(least, len(chosen)))
    slots = tuple(
        Slot(
            id=f"{name}-{place + 1}",
            parameter=name,
            label=f"{label}: {_ORDINALS[min(place, 3)]} variable"
            if len(places) > 1
            else f"{label}: variable",
            chosen=chosen[place] if place < len(chosen) else "",
        )
        for place in places
    )
    return Axis(name, label, slots)


def _options(dataset: Dataset) -> tuple[tuple[str, tuple[Variable, ...]], ...]:
    geography = tuple(v for v in dataset.variables if v.name in dataset.geography)
    other = tuple(v for v in dataset.variables if v.name not in dataset.geography)
    return tuple((label, group) for label, group in (("Geography", geography), ("Other", other)) if group)


def _field(
    variable: Variable, codes: tuple[str, ...], written: Mapping[str, tuple[str, ...]], query: QueryParams
) -> FilterField:
    kept = set(codes)
    known = [code for code in variable.codes if code in kept]
    items = written.get(variable.name) or [*known, *sorted(kept - set(known))]
    line = query.get(CODES_PREFIX + variable.name, "") or ", ".join(map(escape, items))
    boxes: tuple[Box, ...] = ()
    if len(variable) <= MOST_BOXES:
        boxes = tuple(
            Box(write_filter(variable.name, (c.code,)), c.label, c.code in kept) for c in variable.categories
        )
    return FilterField(variable.name, variable.label, len(variable), boxes, line, len(known))
