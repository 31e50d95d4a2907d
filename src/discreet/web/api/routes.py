"""A table of which only the cells that are not 0 are sent: `nonzero=yes`. They leave while they are counted.

The server keeps its own limit: `nonzero_cells`, by default the dataset's `max_cells`. Whoever serves wide tables raises it.

The versions of a dataset: which there are, and two of them compared.

GET /api/datasets/{id}/versions
GET /api/datasets/{id}/compare?version=..&with=..&rows=..&columns=..&level=..

The boundaries of areas, as they were declared: `/api/datasets/{id}/boundaries/{variable}`.

The HTTP API: datasets, their descriptions, tables, and tests on tables.

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
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from discreet.errors import BadKey, BadRequest, NotFound
from discreet.formats import Format, format_by_name, listing_format
from discreet.inference.hypothesis_tests.independence import independence_test
from discreet.inference.table_view import add_picture, apply_view, check_view
from discreet.model.messages.text import message
from discreet.model.request import TableRequest
from discreet.model.view import PICTURE_PARAMETERS, VIEW_PARAMETERS, Picture, View
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.dataset_service import DatasetService
from discreet.web.admission import LISTED, PICTURE, reserve_cells
from discreet.web.api.dataset_documents import (
    DatasetDocument,
    ListDocument,
    dataset_document,
    dataset_summary,
    open_datasets,
)
from discreet.web.api.openapi import (
    OPTIONAL_KEY,
    REQUIRED_KEY,
    DatasetId,
    compare_parameters,
    interval_parameters,
    language_parameter,
    problem_responses,
    request_parameters,
    table_parameters,
    table_responses,
    version_parameter,
)
from discreet.web.api.schemas import (
    BudgetDocument,
    ComparedDocument,
    IntervalDocument,
    IntervalsDocument,
    LedgerDocument,
    VersionsDocument,
)
from discreet.web.i18n.dataset_labels import dataset_in_language, listing_in_language, release_in_language
from discreet.web.negotiation import choose_format
from discreet.web.pages.comparison_page import read_comparison
from discreet.web.pages.independence_page import IndependenceDocument, independence_document, two_way_release
from discreet.web.pages.interval_page import INTERVAL_PARAMETERS, interval_response, read_interval
from discreet.web.pages.links import file_stem
from discreet.web.pages.methodology_page import add_methodology_api
from discreet.web.query import (
    TABLE_PARAMETERS,
    read_picture,
    read_single,
    read_table,
    read_view,
    read_yes_no,
    refuse_unknown,
)
from discreet.web.responses import (
    add_charge_header,
    as_json,
    check_request,
    conditional,
    document_response,
    etag_of,
    headers_only,
    open_service,
    strong_etag,
)
from discreet.web.transfer import is_head
from discreet.web.urls import link
from discreet.workspace.versions.history import SHORT


def wants_nonzero(query: QueryParams, others: tuple[str, ...]) -> bool:
    """Whether only cells that are not 0 are asked for; with nothing that needs the others.

    Raises:
        BadRequest: Something else is asked for beside them.
    """
    if not read_yes_no(query, "nonzero", default=False):
        return False
    for name in others:
        if query.get(name):
            raise BadRequest(
                message(
                    '"{name}" is for whole tables, and only cells that are not 0 are asked for.', name=name
                ),
                message("Leave one of them out."),
            )
    return True


def nonzero_response(
    request: Request,
    door: DatasetService,
    asked: TableRequest,
    form: Format,
    most: int | None,
    *,
    download: bool,
) -> Response:
    """The cells that are not 0, as a document.

    Args:
        request: What was sent.
        door: Of the dataset.
        asked: Which table.
        form: As what.
        most: How many cells the table may have; as the dataset says where nothing is given.
        download: Whether it is a file to save.
    """
    listing_format(form)
    limit = door.dataset.protection.max_cells if most is None else most
    question = check_request(door, asked, partial(door.check_nonzero, most_cells=limit))
    response = conditional(
        request,
        etag_of(question, form.name, "nonzero"),
        lambda: _document(request, door, question, form),
        metered=question.metered,
        vary="" if "format" in request.query_params else "Accept",
    )
    if download:
        name = f"{file_stem(question.request)}.{form.extension}"
        response.headers["content-disposition"] = f'attachment; filename="{name}"'
    return response


def _document(request: Request, door: DatasetService, question: CheckedRequest, form: Format) -> Response:
    if is_head(request):
        response = Response(headers={"content-type": form.media_type})
        del response.headers["content-length"]
        return response
    reserve_cells(min(question.cells, LISTED))
    return document_response(
        request, form.stream(listing_in_language(door.nonzero(question))), form.media_type
    )


def add_version_routes(router: APIRouter, doors: DatasetRegistry) -> None:
    """The routes of versions."""

    @router.get(
        "/datasets/{dataset_id}/versions",
        response_model=VersionsDocument,
        responses=problem_responses(400, 404, 414, 503),
    )
    def versions(request: Request, dataset_id: DatasetId) -> Response:
        """The versions of a dataset, the newest last, and why a version is not answered."""
        refuse_unknown(request.query_params, ())
        found = [asdict(facts) for facts in doors.versions(dataset_id)]
        document = {"dataset": dataset_id, "versions": found}
        return conditional(request, strong_etag("versions", document), lambda: as_json(document))

    @router.get(
        "/datasets/{dataset_id}/compare",
        response_model=ComparedDocument,
        responses=problem_responses(400, 401, 403, 404, 410, 414, 503),
        openapi_extra={"parameters": compare_parameters(), "security": OPTIONAL_KEY},
    )
    def comparison(request: Request, dataset_id: DatasetId) -> Response:
        """One table in two versions: both numbers of each cell, their difference and their ratio."""
        wanted = read_comparison(doors, request, dataset_id)
        if wanted is None:
            raise BadRequest("No version is named to compare with.", "Add with=, as in with=1.")
        tag = wanted.tag("compare")
        return conditional(request, tag, lambda: as_json(wanted.answer().document()), metered=wanted.metered)


GEOJSON = "application/geo+json"
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"description": "A FeatureCollection.", "content": {GEOJSON: {"schema": {"type": "object"}}}}
}
VariableName = Annotated[str, Path(description="A variable with boundaries.", examples=["region"])]


def add_boundary_routes(router: APIRouter, doors: DatasetRegistry) -> None:
    """Add the route to those of the API."""

    @router.get(
        "/datasets/{dataset_id}/boundaries/{variable}",
        response_class=Response,
        responses={**_ANSWERS, **problem_responses(400, 404, 410, 414, 503)},
        openapi_extra={"parameters": [version_parameter()]},
    )
    def boundaries(request: Request, dataset_id: DatasetId, variable: VariableName) -> Response:
        """The shapes of a variable's areas as GeoJSON; each feature has its code and label."""
        refuse_unknown(request.query_params, ("version",))
        door = open_service(doors, request, dataset_id)
        found = door.dataset.boundaries.get(variable)
        if found is None:
            known = ", ".join(sorted(door.dataset.boundaries))
            raise NotFound(
                f'The dataset "{dataset_id}" has no boundaries of "{variable[:64]}".',
                f"It has those of {known}." if known else "Its description declares none.",
            )
        tag = strong_etag("boundaries", door.digest, variable)
        return conditional(request, tag, lambda: Response(found.content, media_type=GEOJSON), lasting=True)


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


def api_router(doors: DatasetRegistry, nonzero_cells: int | None = None) -> APIRouter:
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
        found = open_datasets(doors)
        tag = strong_etag("datasets", [door.edition for door in found])
        return conditional(
            request,
            tag,
            lambda: _json(
                ListDocument([dataset_summary(dataset_in_language(door.dataset)) for door in found])
            ),
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
        door = open_service(doors, request, dataset_id)
        return conditional(
            request, strong_etag("dataset", door.edition), lambda: _json(dataset_document(door)), lasting=True
        )

    @router.get(
        "/datasets/{dataset_id}/table",
        response_class=Response,
        responses=table_responses(),
        openapi_extra={"parameters": table_parameters(), "security": OPTIONAL_KEY},
    )
    def protected_table(request: Request, dataset_id: DatasetId) -> Response:
        """One protected table, in one of the formats."""
        query = request.query_params
        refuse_unknown(query, API_PARAMETERS)
        form = _format(request)
        download = _flag(query, "download")
        door = open_service(doors, request, dataset_id)
        if wants_nonzero(query, _WHOLE):
            table = read_table(door.dataset, query)
            return nonzero_response(request, door, table, form, nonzero_cells, download=download)
        asked, view, picture = read_table(door.dataset, query), read_view(query), read_picture(query)
        _refuse_undrawn(form, picture)
        if view:  # by the shape alone: HEAD is told what GET is, and nothing is charged in vain
            understood = door.read(asked)
            check_view(view, understood.request, understood.shape.dimensions)
        if _flag(query, "dry_run"):
            return _no_store(door.dry_run(asked))
        question = check_request(door, asked)
        response = conditional(
            request,
            etag_of(question, form.name, *view.to_query(), *picture.to_query()),
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
        openapi_extra={"parameters": request_parameters(), "security": OPTIONAL_KEY},
    )
    def independence(request: Request, dataset_id: DatasetId) -> Response:
        """Whether the two variables of a table are independent; the likelihood contains the noise."""
        refuse_unknown(request.query_params, TABLE_PARAMETERS)
        door = open_service(doors, request, dataset_id)
        question = check_request(door, read_table(door.dataset, request.query_params))
        tag = etag_of(question, "independence")
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
        openapi_extra={"parameters": interval_parameters(), "security": OPTIONAL_KEY},
    )
    def interval(request: Request, dataset_id: DatasetId) -> Response:
        """Between which limits true counts lie, or a sum, a share or a difference of them."""
        refuse_unknown(request.query_params, INTERVAL_PARAMETERS)
        door = open_service(doors, request, dataset_id)
        question = check_request(door, read_table(door.dataset, request.query_params))
        asked = read_interval(request.query_params)
        tag = etag_of(question, "interval", str(asked))
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


def _add_budget_routes(router: APIRouter, doors: DatasetRegistry) -> None:
    """What a dataset under `dp` promises, costs and has left; and, for custodians, who has spent it."""

    @router.get(
        "/datasets/{dataset_id}/budget",
        response_model=BudgetDocument,
        responses=problem_responses(400, 404, 414, 503),
    )
    def budget(request: Request, dataset_id: DatasetId) -> Response:
        """What a dataset under `dp` promises, what each table costs, and what its budget has left."""
        refuse_unknown(request.query_params, ())
        return _no_store(doors.door(dataset_id).budget())

    @router.get(
        "/datasets/{dataset_id}/ledger",
        response_model=LedgerDocument,
        responses=problem_responses(400, 401, 403, 404, 414, 503),
        openapi_extra={"security": REQUIRED_KEY},
    )
    def ledger(request: Request, dataset_id: DatasetId) -> Response:
        """What the budget of a dataset has spent, and by whom; for custodians."""
        refuse_unknown(request.query_params, ())
        door = doors.door(dataset_id)
        if door.account is None:
            raise BadKey("The ledger is for custodians.", "Send the key of a custodian.")
        door.require("custodian")
        return _no_store(door.ledger())


def _no_store(document: dict[str, Any]) -> Response:
    """A document that changes as budgets are spent: no cache may keep it."""
    response = as_json(document)
    response.headers["cache-control"] = "no-store"
    return response


def _to_save(response: Response, question: CheckedRequest, form: Format) -> Response:
    """The same as a file to save."""
    if response.status_code == 200:
        name = f"{file_stem(question.request)}.{form.extension}"
        response.headers["content-disposition"] = f'attachment; filename="{name}"'
    return response


def _format(request: Request) -> Format:
    """The format that is named; else the one that `Accept` asks for."""
    if "format" in request.query_params:
        return format_by_name(read_single("format", request.query_params.getlist("format")))
    return choose_format(request.headers.get("accept", ""))


def _refuse_undrawn(form: Format, picture: Picture) -> None:
    """A format that draws nothing has no chart and no theme."""
    for name, _ in [] if form.is_picture else picture.to_query():
        raise BadRequest(
            f'"{name}" is for pictures, and the format is {form.name}.',
            "Add format=svg or format=png, or leave it out.",
        )


def _table(
    request: Request,
    door: DatasetService,
    question: CheckedRequest,
    form: Format,
    how: tuple[View, Picture],
) -> Response:
    view, picture = how
    if is_head(request):
        response = headers_only(door, [question.request], form.media_type)
    else:
        reserve_cells(PICTURE if form.is_picture else 0)
        release = release_in_language(apply_view(door.answer(question), view))
        release = add_picture(release, picture) if form.is_picture else release
        response = document_response(request, form.stream(release), form.media_type)
        add_charge_header(response, [release])
    response.headers["content-type"] = form.media_type
    return response


def _independence(door: DatasetService, question: CheckedRequest) -> Response:
    return _json(independence_document(independence_test(two_way_release(door, question))))


def _json(document: ListDocument | DatasetDocument | IndependenceDocument) -> Response:
    return as_json(asdict(document))


def _flag(query: QueryParams, name: str) -> bool:
    text = read_single(name, query.getlist(name), "0")
    if text not in {"0", "1"}:
        raise BadRequest(f'{name} is "{text}".', "Write 0 or 1.")
    return text == "1"
