"""The shelves of the builder and the variables beside them, each control with the address that it leads to.

A chip is a select: without scripts it says which variable stands there, and the form sends it. Its menu and the
variables beside are links to other choices. `static/js/shelves.js` lets chips be dragged and moved by keys.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from discreet.model.grammar import escape
from discreet.model.levels import level_label, level_names
from discreet.model.release import filter_in_words
from discreet.server.builder.edits import AXES, counted_only, levelled, placed, swapped, taken_out, ungrouped
from discreet.server.control import Link
from discreet.server.snippets import page_path
from discreet.server.words import say, say_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from discreet.model.dataset import Dataset
    from discreet.model.request import TableRequest
    from discreet.model.variable import Variable
    from discreet.server.snippets import Also

    #: Where a choice leads (`Door.offer`); None: nowhere.
    Offer = Callable[[TableRequest], TableRequest | None]
    #: The address that a choice leads to; empty where it leads nowhere.
    Lead = Callable[[TableRequest], str]

_MOST_NAMED = 2


def everything(request: TableRequest) -> TableRequest:
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


def shelves(dataset: Dataset, request: TableRequest, also: Also = (), offer: Offer = everything) -> Shelves:
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
    filters = offer(counted_only(request, first.name, first.codes[:1])) is not None
    pick = also if filters else None
    return Shelves(
        axes=tuple(_shelf(dataset, request, axis, lead, pick) for axis in AXES),
        only=tuple(_only(dataset, request, name, also) for name in _filtered(request)),
        topics=_topics(dataset, request, also, lead),
        swap=lead(swapped(request)) if request.rows or request.columns else "",
        filters=filters,
    )


def axis_label(axis: str) -> str:
    """What an axis is called."""
    return {"rows": say("Rows"), "columns": say("Columns"), "layers": say("Layers")}[axis]


def pick_path(request: TableRequest, name: str, also: Also = ()) -> str:
    """Where the categories of a variable are chosen for a table."""
    query = urlencode([*request.to_query(), *also], safe=",=")
    return f"/datasets/{request.dataset}/variables/{name}" + (f"?{query}" if query else "")


def topic_of(dataset: Dataset, variable: Variable) -> str:
    """The heading under which a variable stands."""
    return variable.topic or (say("Geography") if variable.name in dataset.geography else say("Other"))


def _shelf(dataset: Dataset, request: TableRequest, axis: str, lead: Lead, pick: Also | None) -> Shelf:
    names = getattr(request, axis)
    label = axis_label(axis)
    chips = [_chip(dataset, request, axis, place, lead, pick) for place in range(len(names))]
    free = Chip(f"{axis}-{len(names) + 1}", _field(label, len(names)))
    return Shelf(axis, label, (*chips, free))


def _field(label: str, place: int) -> str:
    """What the select at a place is called."""
    ordinals = (say("first variable"), say("second variable"), say("third variable"), say("further variable"))
    return f"{label}: {ordinals[min(place, 3)]}"


def _chip(
    dataset: Dataset, request: TableRequest, axis: str, place: int, lead: Lead, pick: Also | None
) -> Chip:
    name = getattr(request, axis)[place]
    alone = len(request.variables) == 1
    return Chip(
        id=f"{axis}-{place + 1}",
        field=_field(axis_label(axis), place),
        chosen=name,
        label=dataset.variable(name).label,
        note=_note(dataset, request, name),
        moves=tuple(move for move in _moves(dataset, request, axis, place, lead) if move.href),
        pick="" if pick is None else pick_path(request, name, pick),
        remove="" if alone else lead(taken_out(request, name)),
    )


def _note(dataset: Dataset, request: TableRequest, name: str) -> str:
    groups, levels = dict(request.groups).get(name), dict(request.levels).get(name)
    if groups:
        several = [codes for codes in groups if len(codes) > 1]
        return say_number("{count} group", "{count} groups", len(several)) if several else ""
    return ", ".join(
        level_label(dataset, level) for level in levels or () if level in level_names(dataset, name)
    )


def _moves(dataset: Dataset, request: TableRequest, axis: str, place: int, lead: Lead) -> Iterator[Link]:
    """Where a variable can go, and at which levels it can be shown."""
    names = getattr(request, axis)
    name = names[place]
    for other in AXES:
        if other != axis:
            label = say("Move to {shelf:lower}", shelf=axis_label(other))
            yield Link(label, lead(placed(request, name, other)))
    if place:
        yield Link(say("Move before"), lead(placed(request, name, axis, place - 1)))
    if place < len(names) - 1:
        yield Link(say("Move after"), lead(placed(request, name, axis, place + 1)))
    if name in dict(request.groups):
        yield Link(say("Ungroup"), lead(ungrouped(request, name)))
    else:
        yield from _levels(dataset, request, name, lead)


def _levels(dataset: Dataset, request: TableRequest, name: str, lead: Lead) -> Iterator[Link]:
    """The levels at which a variable can be shown, where there are several."""
    *coarser, _ = level_names(dataset, name)
    shown = dict(request.levels).get(name, ())
    offered: list[tuple[tuple[str, ...], str]] = [((), level_label(dataset, name))] if coarser else []
    offered += [((level,), level_label(dataset, level)) for level in coarser]
    offered += [
        ((level, name), say("{level}, with parts", level=level_label(dataset, level))) for level in coarser
    ]
    for levels, label in offered:
        href = lead(levelled(request, name, levels))
        yield Link(say("Show by: {level}", level=label), href, current=levels == shown)


def _filtered(request: TableRequest) -> list[str]:
    return list(dict.fromkeys(name.removesuffix("!") for name, _ in request.filters))


def _only(dataset: Dataset, request: TableRequest, name: str, also: Also) -> OnlyChip:
    return OnlyChip(
        name=name,
        label=dataset.variable(name).label,
        text=_in_words(dataset, request, name),
        pick=pick_path(request, name, also),
        remove=page_path(counted_only(request, name, ()), also),
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
        return say(filter_in_words(dataset, name, tuple(item for _, item in items), _MOST_NAMED))
    return f"{dataset.variable(name).label}: " + ", ".join(
        ("!=" if written.endswith("!") else "") + escape(item) for written, item in items
    )


def _topics(
    dataset: Dataset, request: TableRequest, also: Also, lead: Lead
) -> tuple[tuple[str, tuple[Entry, ...]], ...]:
    """The variables under their topics, places first; those that stand nowhere and can stand nowhere are left out."""
    found: dict[str, list[Entry]] = {}
    for variable in sorted(dataset.variables, key=lambda v: v.name not in dataset.geography):
        entry = _entry(variable, request, also, lead)
        if entry.where or entry.add:
            found.setdefault(topic_of(dataset, variable), []).append(entry)
    return tuple((topic, tuple(entries)) for topic, entries in found.items())


def _entry(variable: Variable, request: TableRequest, also: Also, lead: Lead) -> Entry:
    name = variable.name
    where = next((axis for axis in AXES if name in getattr(request, axis)), "")
    places = {
        axis: Link(axis_label(axis), lead(placed(request, name, axis))) for axis in AXES if axis != where
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
        return Link(say("Add to {shelf:lower}", shelf=place.label), place.href)
    alone = replace(request, rows=(name,), columns=(), layers=(), filters=(), groups=(), levels=(), names=())
    href = lead(alone)
    return Link(say("Show a table with it"), href) if href else None
