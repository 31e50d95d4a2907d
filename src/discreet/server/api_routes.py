"""The HTTP API: datasets, their descriptions, tables, and tests on tables.

    GET /api/datasets    GET /api/datasets/{id}    GET /api/datasets/{id}/table?rows=..&columns=..&format=..
    GET /api/datasets/{id}/test/independence?rows=..&columns=..
    GET /api/datasets/{id}/interval?rows=..&columns=..&cell=..&of=..&over=..&minus=..&minus_of=..&level=..
    GET /api/datasets/{id}/versions    GET /api/datasets/{id}/compare?version=..&with=..&rows=..&columns=..&level=..
    GET /api/datasets/{id}/boundaries/{variable}
    GET /api/datasets/{id}/budget    GET /api/datasets/{id}/ledger
    GET /api/datasets/{id}/methodology    GET /api/datasets/{id}/noise

Everything is a plain `def`, so that counting runs in the thread pool and never holds up the server.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.errors import BadKey, BadRequest
from discreet.formats import named_format
from discreet.inference.independence import independence_test
from discreet.inference.pictured import pictured
from discreet.inference.viewed import check_view, viewed
from discreet.model.picture import PICTURE_PARAMETERS
from discreet.model.view import VIEW_PARAMETERS
from discreet.server.address import link
from discreet.server.answer import as_json, asked_door, check, conditional, strong_tag, tag_of
from discreet.server.answer_documents import (
    BudgetDocument,
    IntervalDocument,
    IntervalsDocument,
    LedgerDocument,
)
from discreet.server.boundary_routes import add_boundary_routes
from discreet.server.datasets import usable
from discreet.server.documents import DatasetDocument, ListDocument, description, summary
from discreet.server.in_flight import PICTURE, take
from discreet.server.independence import IndependenceDocument, independence_document, two_way_release
from discreet.server.interval import INTERVAL_PARAMETERS, interval_response, read_interval
from discreet.server.methodology import add_methodology_api
from discreet.server.negotiation import negotiated
from discreet.server.nonzero import nonzero_answer, wants_nonzero
from discreet.server.openapi import (
    A_KEY,
    PERHAPS_A_KEY,
    DatasetId,
    interval_parameters,
    language_parameter,
    problem_responses,
    request_parameters,
    table_parameters,
    table_responses,
    version_parameter,
)
from discreet.server.query import TABLE_PARAMETERS, once, read_picture, read_table, read_view, refuse_unknown
from discreet.server.released import headers_only, tell_charges
from discreet.server.snippets import file_stem
from discreet.server.spoken import asked_dataset, asked_release
from discreet.server.streaming import document_response
from discreet.server.transfer import is_head
from discreet.server.version_routes import add_version_routes
from discreet.workspace.version_facts import SHORT

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

    from discreet.answer.door import Door
    from discreet.answer.doors import Doors
    from discreet.answer.question import Question
    from discreet.formats import Format
    from discreet.model.picture import Picture
    from discreet.model.view import View

#: What a program may ask beside the table itself.
API_PARAMETERS = (
    *TABLE_PARAMETERS,
    *VIEW_PARAMETERS,
    *PICTURE_PARAMETERS,
    "format",
    "download",
    "dry_run",
    "nonzero",
    "lang",
)
#: What stands beside the numbers of a whole table only.
_WHOLE = (*VIEW_PARAMETERS, *PICTURE_PARAMETERS, "dry_run")


def api_router(doors: Doors, nonzero_cells: int | None = None) -> APIRouter:
    """The routes under /api.

    Args:
        doors: Of the workspace.
        nonzero_cells: The option.
    """
    router = APIRouter(prefix="/api", tags=["tables"])

    @router.get(
        "/datasets",
        response_model=ListDocument,
        responses=problem_responses(400, 414, 503),
        openapi_extra={"parameters": [language_parameter()]},
    )
    def list_datasets(request: Request) -> Response:
        """All datasets, in a few words each."""
        refuse_unknown(request.query_params, ())
        found = usable(doors)
        tag = strong_tag("datasets", [door.edition for door in found])
        return conditional(
            request,
            tag,
            lambda: _json(ListDocument([summary(asked_dataset(door.dataset)) for door in found])),
            lasting=True,
        )

    @router.get(
        "/datasets/{dataset_id}",
        response_model=DatasetDocument,
        responses=problem_responses(400, 404, 410, 414, 503),
        openapi_extra={"parameters": [version_parameter(), language_parameter()]},
    )
    def describe_dataset(request: Request, dataset_id: DatasetId) -> Response:
        """One dataset: what is counted, its variables with their categories, and what protects it."""
        refuse_unknown(request.query_params, ("version",))
        door = asked_door(doors, request, dataset_id)
        return conditional(
            request, strong_tag("dataset", door.edition), lambda: _json(description(door)), lasting=True
        )

    @router.get(
        "/datasets/{dataset_id}/table",
        response_class=Response,
        responses=table_responses(),
        openapi_extra={"parameters": table_parameters(), "security": PERHAPS_A_KEY},
    )
    def protected_table(request: Request, dataset_id: DatasetId) -> Response:
        """One protected table, in one of the formats."""
        query = request.query_params
        refuse_unknown(query, API_PARAMETERS)
        form = _format(request)
        download = _flag(query, "download")
        door = asked_door(doors, request, dataset_id)
        if wants_nonzero(query, _WHOLE):
            table = read_table(door.dataset, query)
            return nonzero_answer(request, door, table, form, nonzero_cells, download=download)
        asked, view, picture = read_table(door.dataset, query), read_view(query), read_picture(query)
        _refuse_undrawn(form, picture)
        if view:  # by the shape alone: HEAD is told what GET is, and nothing is charged in vain
            understood = door.read(asked)
            check_view(view, understood.request, understood.shape.dimensions)
        if _flag(query, "dry_run"):
            return _uncached(door.dry_run(asked))
        question = check(door, asked)
        response = conditional(
            request,
            tag_of(question, form.name, *view.to_query(), *picture.to_query()),
            lambda: _table(request, door, question, form, (view, picture)),
            metered=question.metered,
            lasting=question.lasting,
            vary="" if "format" in query else "Accept",
        )
        # A CSV file has no place for the note, the promise and the citation.
        told = link(f"/api/datasets/{dataset_id}/methodology?version={door.digest[:SHORT]}")
        response.headers["link"] = f'<{told}>; rel="describedby"; type="application/json"'
        return _to_save(response, question, form) if download else response

    @router.get(
        "/datasets/{dataset_id}/test/independence",
        response_model=IndependenceDocument,
        responses=problem_responses(400, 401, 403, 404, 410, 414, 503),
        openapi_extra={"parameters": request_parameters(), "security": PERHAPS_A_KEY},
    )
    def independence(request: Request, dataset_id: DatasetId) -> Response:
        """Whether the two variables of a table are independent; the likelihood contains the noise."""
        refuse_unknown(request.query_params, TABLE_PARAMETERS)
        door = asked_door(doors, request, dataset_id)
        question = check(door, read_table(door.dataset, request.query_params))
        tag = tag_of(question, "independence")
        return conditional(
            request,
            tag,
            lambda: _independence(door, question),
            lasting=question.lasting,
            metered=question.metered,
        )

    @router.get(
        "/datasets/{dataset_id}/interval",
        response_model=IntervalDocument | IntervalsDocument,
        responses=problem_responses(400, 401, 403, 404, 410, 414, 503),
        openapi_extra={"parameters": interval_parameters(), "security": PERHAPS_A_KEY},
    )
    def interval(request: Request, dataset_id: DatasetId) -> Response:
        """Between which limits true counts lie, or a sum, a share or a difference of them."""
        refuse_unknown(request.query_params, INTERVAL_PARAMETERS)
        door = asked_door(doors, request, dataset_id)
        question = check(door, read_table(door.dataset, request.query_params))
        asked = read_interval(request.query_params)
        tag = tag_of(question, "interval", str(asked))
        return conditional(
            request,
            tag,
            lambda: interval_response(request, door.answer(question), asked),
            metered=question.metered,
            lasting=question.lasting,
        )

    add_version_routes(router, doors)
    add_boundary_routes(router, doors)
    _add_budget_routes(router, doors)
    add_methodology_api(router, doors)
    return router


def _add_budget_routes(router: APIRouter, doors: Doors) -> None:
    """What a dataset under `dp` promises, costs and has left; and, for custodians, who has spent it."""

    @router.get(
        "/datasets/{dataset_id}/budget",
        response_model=BudgetDocument,
        responses=problem_responses(400, 404, 414, 503),
    )
    def budget(request: Request, dataset_id: DatasetId) -> Response:
        """What a dataset under `dp` promises, what each table costs, and what its budget has left."""
        refuse_unknown(request.query_params, ())
        return _uncached(doors.door(dataset_id).budget())

    @router.get(
        "/datasets/{dataset_id}/ledger",
        response_model=LedgerDocument,
        responses=problem_responses(400, 401, 403, 404, 414, 503),
        openapi_extra={"security": A_KEY},
    )
    def ledger(request: Request, dataset_id: DatasetId) -> Response:
        """What the budget of a dataset has spent, and by whom; for custodians."""
        refuse_unknown(request.query_params, ())
        door = doors.door(dataset_id)
        if door.account is None:
            raise BadKey("The ledger is for custodians.", "Send the key of a custodian.")
        door.require("custodian")
        return _uncached(door.ledger())


def _uncached(document: dict[str, Any]) -> Response:
    """A document that changes as budgets are spent: no cache may keep it."""
    response = as_json(document)
    response.headers["cache-control"] = "no-store"
    return response


def _to_save(response: Response, question: Question, form: Format) -> Response:
    """The same as a file to save."""
    if response.status_code == 200:
        name = f"{file_stem(question.request)}.{form.extension}"
        response.headers["content-disposition"] = f'attachment; filename="{name}"'
    return response


def _format(request: Request) -> Format:
    """The format that is named; else the one that `Accept` asks for."""
    if "format" in request.query_params:
        return named_format(once("format", request.query_params.getlist("format")))
    return negotiated(request.headers.get("accept", ""))


def _refuse_undrawn(form: Format, picture: Picture) -> None:
    """A format that draws nothing has no chart and no theme."""
    for name, _ in [] if form.is_picture else picture.to_query():
        raise BadRequest(
            f'"{name}" is for pictures, and the format is {form.name}.',
            "Add format=svg or format=png, or leave it out.",
        )


def _table(
    request: Request,
    door: Door,
    question: Question,
    form: Format,
    how: tuple[View, Picture],
) -> Response:
    view, picture = how
    if is_head(request):
        response = headers_only(door, [question.request], form.media_type)
    else:
        take(PICTURE if form.is_picture else 0)
        release = asked_release(viewed(door.answer(question), view))
        release = pictured(release, picture) if form.is_picture else release
        response = document_response(request, form.stream(release), form.media_type)
        tell_charges(response, [release])
    response.headers["content-type"] = form.media_type
    return response


def _independence(door: Door, question: Question) -> Response:
    return _json(independence_document(independence_test(two_way_release(door, question))))


def _json(document: ListDocument | DatasetDocument | IndependenceDocument) -> Response:
    return as_json(asdict(document))


def _flag(query: QueryParams, name: str) -> bool:
    text = once(name, query.getlist(name), "0")
    if text not in {"0", "1"}:
        raise BadRequest(f'{name} is "{text}".', "Write 0 or 1.")
    return text == "1"
