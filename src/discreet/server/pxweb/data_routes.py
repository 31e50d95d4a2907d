"""The addresses of numbers: a table's data by GET and POST, and queries that have an address of their own."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from discreet.errors import BadRequest
from discreet.server.answer import as_json, conditional, strong_tag
from discreet.server.openapi import DatasetId  # noqa: TC001 - FastAPI reads the annotations of routes
from discreet.server.pxweb import data, openapi
from discreet.server.pxweb.documents import PxQuery, PxSaved, PxSelected, PxSelection
from discreet.server.pxweb.exchange import read_body
from discreet.server.pxweb.expressions import split_list
from discreet.server.pxweb.metadata import link
from discreet.server.pxweb.parameters import read_parameters, word
from discreet.server.pxweb.saved import SavedQuery, query_document, read_query, unpack
from discreet.server.pxweb.selection import select, understood
from discreet.server.pxweb.service import Service, base, selection_document
from discreet.server.pxweb.wanted import wanted_document, wanted_from_body, wanted_from_query
from discreet.server.released import headers_only, tell_charges
from discreet.server.transfer import is_head

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.answer.door import Door
    from discreet.answer.question import Question
    from discreet.server.pxweb.parameters import Parameters
    from discreet.server.pxweb.selection import Selected

_OUTPUT = ("outputformat", "outputformatparams")
#: How many letters of a digest a saved query keeps.
KEPT = 16
QueryId = Annotated[str, Path(description="The id of a saved query: the query itself, packed.")]
Sent = Annotated[bytes, Depends(read_body)]


def add_data(router: APIRouter, service: Service) -> None:
    """The numbers."""

    @router.get(
        "/tables/{table_id}/data",
        response_class=Response,
        responses=openapi.numbers(),
        openapi_extra=openapi.of_version(*openapi.selecting(), *openapi.writing(), **openapi.with_key()),
    )
    def get_data(request: Request, table_id: DatasetId) -> Response:
        """The numbers that a query string selects; without a selection, a small table."""
        known = ("valuecodes[]", "codelist[]", "heading", "stub", "version", *_OUTPUT)
        parameters = read_parameters(request.query_params, known)
        wanted = wanted_from_query(parameters)
        query = SavedQuery(table_id, wanted, *_output(parameters), word(parameters, "version"))
        return _answer(request, service, query)

    @router.post(
        "/tables/{table_id}/data",
        response_class=Response,
        responses={**openapi.numbers(), **openapi.problems(413)},
        openapi_extra=openapi.of_version(
            *openapi.writing(), **openapi.with_key(), **openapi.body(PxSelection, required=False)
        ),
    )
    def post_data(request: Request, table_id: DatasetId, sent: Sent) -> Response:
        """The numbers that a body selects."""
        parameters = read_parameters(request.query_params, ("version", *_OUTPUT))
        wanted = wanted_from_body(_parsed(sent))
        query = SavedQuery(table_id, wanted, *_output(parameters), word(parameters, "version"))
        return _answer(request, service, query)


def add_saved_queries(router: APIRouter, service: Service) -> None:
    """Queries with an address."""

    @router.post(
        "/savedqueries",
        status_code=201,
        response_model=PxSaved,
        responses=openapi.problems(403, 404, 410, 413),
        openapi_extra=openapi.of_version(**openapi.body(PxQuery, required=True)),
    )
    def save_query(request: Request, sent: Sent) -> Response:
        """The address of a query; nothing is stored. A version that it names is kept in it, by its digest."""
        parameters = read_parameters(request.query_params, ("version",))
        query = read_query(_parsed(sent))
        version = word(parameters, "version") or query.version
        door = service.door(query.table, version=version)
        query = replace(query, table=door.dataset.id, version=door.digest[:KEPT] if version else "")
        select(door, query.wanted)
        data.read_output(query.output_format, query.parameters)
        response = as_json(_query(query, base()), 201)
        response.headers["location"] = f"{base()}/savedqueries/{query.id}"
        return response

    @router.get(
        "/savedqueries/{query_id}",
        response_model=PxSaved,
        responses=openapi.problems(404, 410),
        openapi_extra=openapi.taking(),
    )
    def saved_query(request: Request, query_id: QueryId) -> Response:
        """A query, unpacked."""
        read_parameters(request.query_params)
        query = unpack(query_id)
        service.door(query.table, version=query.version)
        return as_json(_query(query, base()))

    @router.get(
        "/savedqueries/{query_id}/data",
        response_class=Response,
        responses=openapi.numbers(),
        openapi_extra=openapi.taking(*openapi.writing(), **openapi.with_key()),
    )
    def saved_data(request: Request, query_id: QueryId) -> Response:
        """The numbers of a saved query."""
        query = unpack(query_id)
        form, words = _output(read_parameters(request.query_params, _OUTPUT))
        return _answer(
            request,
            service,
            replace(query, output_format=form or query.output_format, parameters=words or query.parameters),
        )

    @router.get(
        "/savedqueries/{query_id}/selection",
        response_model=PxSelected,
        responses=openapi.problems(403, 404, 410),
        openapi_extra=openapi.taking(),
    )
    def saved_selection(request: Request, query_id: QueryId) -> Response:
        """What a saved query selects now, code by code."""
        read_parameters(request.query_params)
        query = unpack(query_id)
        here = f"{base()}/savedqueries/{query_id}/selection"
        door = service.door(query.table, version=query.version)
        return as_json(selection_document(door, query.wanted, here))


def _answer(request: Request, service: Service, query: SavedQuery) -> Response:
    """Check a selection, and send its numbers to whoever does not have them."""
    output = data.read_output(query.output_format, query.parameters)
    door = service.door(query.table, query.version)
    selected = select(door, query.wanted)
    asked = data.questions(door, selected, output, service.options.pxweb_cells)
    words = wanted_document(understood(door, selected))
    tag = strong_tag("pxweb", door.edition, door.dataset.id, words, output.name, str(output.csv), base())
    respond = _responder(request, service, door, selected, output, asked)
    metered = any(question.metered for question in asked.values())
    return conditional(request, tag, respond, metered=metered) if request.method == "GET" else respond()


def _responder(
    request: Request,
    service: Service,
    door: Door,
    selected: Selected,
    output: data.Output,
    asked: dict[str, Question],
) -> Callable[[], Response]:
    """What makes the response, if it is wanted."""

    def respond() -> Response:
        if is_head(request):
            requests = [question.request for question in asked.values()]
            response = headers_only(door, requests, output.media_type)
        else:
            cuts = data.answer(service.wholes, door, asked, selected)
            body = data.write(cuts, selected, output, base())
            response = Response(body, media_type=output.media_type)
            tell_charges(response, cuts.values())
        response.headers["content-disposition"] = f'inline; filename="{door.dataset.id}.{output.extension}"'
        return response

    return respond


def _query(query: SavedQuery, base: str) -> dict[str, Any]:
    here = f"{base}/savedqueries/{query.id}"
    links = [link(here, "self"), link(f"{here}/data", "data")]
    document = {"id": query.id, **query_document(query)}
    return {"language": "en", "id": query.id, "savedQuery": document, "links": links}


def _output(parameters: Parameters) -> tuple[str, tuple[str, ...]]:
    words = [item for text in parameters.get("outputformatparams", []) for item in split_list(text)]
    return word(parameters, "outputformat"), tuple(words)


def _parsed(sent: bytes) -> Any:
    try:
        return json.loads(sent) if sent.strip() else None
    except (ValueError, RecursionError):
        raise BadRequest("The body is not JSON.", "Send a JSON object, as UTF-8.") from None
