"""The routes of the builder: the verdict on a choice, and the picker of a variable.

Both draw a part of the page alone while a reader chooses. Neither counts a record.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.errors import BadRequest, DiscreetError, NotFound
from discreet.model.nearest import nearest
from discreet.model.told import joined, told
from discreet.model.view import BASES, ORDERS
from discreet.server.address import link
from discreet.server.answer import asked_door, conditional, strong_tag
from discreet.server.assets import FINGERPRINT
from discreet.server.builder.outlook import Outlook, in_labels, outlook
from discreet.server.builder.picker import grouped, picker
from discreet.server.form import form_parameters, read_form, readable_request
from discreet.server.query import asked_version, read_view, refuse_unknown
from discreet.server.reading import Reading, read_reading
from discreet.server.snippets import page_path
from discreet.server.spoken import spoken_dataset
from discreet.server.templating import page

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

    from discreet.answer.door import Door
    from discreet.answer.doors import Doors
    from discreet.model.variable import Variable


def builder_router(doors: Doors) -> APIRouter:
    """The routes."""
    router = APIRouter(include_in_schema=False)

    @router.get("/datasets/{dataset_id}/verdict")
    def verdict(request: Request, dataset_id: str) -> Response:
        """What would become of a choice, as a part of the page."""
        door = asked_door(doors, request, dataset_id)
        told = _foreseen(door, request.query_params)
        dataset = spoken_dataset(door.dataset)
        response = page("_verdict.html", dataset=dataset, outlook=told, left=door.budget_left())
        response.headers["cache-control"] = "no-store"
        return response

    @router.get("/datasets/{dataset_id}/variables/{name}")
    def categories(request: Request, dataset_id: str, name: str) -> Response:
        """The categories of one variable: to look up, to choose for a table, to group."""
        door, query = asked_door(doors, request, dataset_id), request.query_params
        variable = _variable(door, name)
        refuse_unknown(query, form_parameters(door.dataset))
        if query.get("do") == "group":
            return _grouped(door, variable, query)
        tag = strong_tag("categories", FINGERPRINT, door.edition, name, str(query))
        return conditional(request, tag, lambda: _picker_page(door, variable, query), lasting=True)

    return router


def also_of(query: QueryParams) -> list[tuple[str, str]]:
    """What another choice keeps of an address: the view, as far as it names no cell of this table, and the version."""
    view, reading = read_view(query), read_reading(query)
    percent = view.percent if view.percent in BASES else ""
    sort = view.sort if view.sort.removeprefix("-") in ORDERS else ""
    kept = replace(view, percent=percent, sort=sort).to_query()
    read = Reading(reading.labels, show=reading.show).to_query()
    return [*kept, *read, *asked_version(query)]


def _foreseen(door: Door, query: QueryParams) -> Outlook:
    try:
        refuse_unknown(query, form_parameters(door.dataset))
        return outlook(door, read_form(door.dataset, query, door.start), also_of(query))
    except DiscreetError as error:
        return outlook(door, None, error=error)


def _variable(door: Door, name: str) -> Variable:
    names = [variable.name for variable in door.dataset.variables]
    if name not in names:
        raise NotFound(
            told('The dataset "{dataset}" has no variable "{name}".', dataset=door.dataset.id, name=name),
            nearest(name, names),
        )
    return door.dataset.variable(name)


def _grouped(door: Door, variable: Variable, query: QueryParams) -> Response:
    """To the table with the chosen categories as a group; back to the picker where that cannot be."""
    try:
        wanted = grouped(door.dataset, variable.name, readable_request(door.dataset, query), query)
        found = door.read(wanted).request
    except BadRequest as error:
        return _picker_page(door, variable, query, joined([error.message, error.advice]))
    return RedirectResponse(link(page_path(found, also_of(query))), 303, {"cache-control": "no-store"})


def _picker_page(door: Door, variable: Variable, query: QueryParams, problem: str = "") -> Response:
    dataset = spoken_dataset(door.dataset)
    request, also = readable_request(door.dataset, query), also_of(query)
    kept = [
        (key, text)
        for key, text in [*request.to_query(), *also]
        if not (key == "filter" and text.partition("=")[0].rstrip("!") == variable.name)
    ]
    found = picker(dataset, variable.name, request, query, also, in_labels(dataset, problem))
    return page("codes.html", dataset=dataset, picker=found, kept=kept, table=page_path(request, also))
