"""SDMX REST 2.1 at /api/sdmx: structures as SDMX-ML, data as SDMX-JSON or SDMX-CSV.

    GET /dataflow|datastructure|conceptscheme|codelist/{agency}/{id}/{version}?references=..&detail=..
    GET /data/{flow}/{key}/{provider}

Parts of an address may be left out from the end.

Source: https://github.com/sdmx-twg/sdmx-rest, tag v1.5.0, which is the web service of SDMX 2.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.errors import BadRequest, UnknownFormat
from discreet.formats import Format, named_format
from discreet.model.nearest import nearest
from discreet.model.pieces import gather
from discreet.server.answer import conditional, strong_tag, tag_of
from discreet.server.datasets import usable
from discreet.server.query import read_word, refuse_unknown
from discreet.server.released import headers_only, tell_charges
from discreet.server.sdmx.data import DATA_FORMATS, document, negotiated, read_query
from discreet.server.sdmx.flows import open_flow
from discreet.server.sdmx.openapi import FlowId, Kind, described_data, described_structures
from discreet.server.sdmx.structure_xml import MEDIA_TYPE, structure_message
from discreet.server.sdmx.structures import Query, find_structures
from discreet.server.streaming import document_response
from discreet.server.transfer import is_head

if TYPE_CHECKING:
    from discreet.answer.door import Door
    from discreet.answer.doors import Doors
    from discreet.server.sdmx.data import DataQuery

_STRUCTURE_PARAMETERS = ("references", "detail")
_DATA_PARAMETERS = ("format", "detail", "dimensionAtObservation", "version")


def sdmx_router(doors: Doors) -> APIRouter:
    """The routes under /api/sdmx."""
    router = APIRouter(prefix="/api/sdmx", tags=["sdmx"])

    @router.get("/data/{flow}", response_class=Response, **described_data())
    @router.get("/data/{flow}/{key}", response_class=Response, **described_data("key"))
    @router.get("/data/{flow}/{key}/{provider}", response_class=Response, **described_data("key", "provider"))
    def data(request: Request, flow: FlowId) -> Response:
        """Values of a dataflow: the cells of one protected table that a key names."""
        return _data(doors, request, flow)

    @router.get("/{kind}", response_class=Response, **described_structures())
    @router.get("/{kind}/{agency}", response_class=Response, **described_structures("agency"))
    @router.get("/{kind}/{agency}/{id}", response_class=Response, **described_structures("agency", "id"))
    @router.get(
        "/{kind}/{agency}/{id}/{version}",
        response_class=Response,
        **described_structures("agency", "id", "version"),
    )
    def structure(request: Request, kind: Kind) -> Response:
        """Dataflows, data structures, concepts and code lists, as SDMX-ML."""
        return _structure(doors, request, kind)

    return router


def _structure(doors: Doors, request: Request, kind: str) -> Response:
    refuse_unknown(request.query_params, (*_STRUCTURE_PARAMETERS, "version"))
    doors = doors.at(read_word(request.query_params, "version"))
    parts = {name: text for name, text in request.path_params.items() if name in {"id", "version"}}
    words = {name: read_word(request.query_params, name) for name in _STRUCTURE_PARAMETERS}
    query = Query(kind, **parts, **{name: word for name, word in words.items() if word})
    found = find_structures(doors, query)
    tag = strong_tag("sdmx", str(query), [door.edition for door in usable(doors)])
    return conditional(request, tag, lambda: Response(structure_message(found), media_type=MEDIA_TYPE))


def _data(doors: Doors, request: Request, flow: str) -> Response:
    refuse_unknown(request.query_params, _DATA_PARAMETERS)
    for name, only in (("detail", "full"), ("dimensionAtObservation", "AllDimensions")):
        if read_word(request.query_params, name) not in {"", only}:
            raise BadRequest(f"{name} is offered as {only} only.", f"Write {name}={only}, or leave it out.")
    form = _format(request)
    doors = doors.at(read_word(request.query_params, "version"))
    door, described = open_flow(doors, flow)
    query = read_query(door, described, request.path_params.get("key", "all"))
    tag = tag_of(query.question, form.name, described.flow.reference, sorted(query.wanted.items()))
    response = conditional(
        request, tag, lambda: _answer(request, door, query, form), metered=query.question.metered
    )
    response.headers["vary"] = "Accept"
    return response


def _answer(request: Request, door: Door, query: DataQuery, form: Format) -> Response:
    if is_head(request):
        return headers_only(door, [query.question.request], form.media_type)
    release = door.answer(query.question)
    response = document_response(request, gather(document(release, query, form)), form.media_type)
    tell_charges(response, [release])
    return response


def _format(request: Request) -> Format:
    named = read_word(request.query_params, "format")
    if named and named not in DATA_FORMATS:
        raise UnknownFormat(f'SDMX data has no format "{named}".', nearest(named, DATA_FORMATS))
    return named_format(named) if named else negotiated(request.headers.get("accept", ""))
