"""The HTTP API: datasets, their descriptions, tables, tests and intervals on tables, versions, boundaries and budgets.

Handlers are plain functions, so counting runs in the thread pool and never blocks the event loop.
"""

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.datastructures import QueryParams
from starlette.responses import Response

from discreet.errors import BadKey, BadRequest, NotFound
from discreet.formats import Format, format_by_name, listing_format
from discreet.inference.confidence_intervals.table_intervals import IntervalDocument, IntervalsDocument
from discreet.inference.table_view import add_picture, apply_view, check_view
from discreet.inference.version_comparison import ComparedDocument
from discreet.model.messages.text import message
from discreet.model.request import TableRequest
from discreet.model.view import PICTURE_PARAMETERS, THEMES, VIEW_PARAMETERS, Picture, View, read_yes_no
from discreet.pictures.charts.map import outline_document
from discreet.release.budget_document import BudgetDocument, LedgerDocument
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry, DatasetService
from discreet.web.admission import LISTED, PICTURE, reserve_cells
from discreet.web.api import dataset_documents, openapi
from discreet.web.i18n.translation import dataset_in_language, listing_in_language, release_in_language
from discreet.web.negotiation import choose_format
from discreet.web.pages import inference_pages
from discreet.web.pages.methodology_page import add_methodology_api
from discreet.web.pages.page_request import parse_page
from discreet.web.responses import (
    add_charge_header,
    as_json,
    check_request,
    conditional,
    document_response,
    etag_of,
    headers_only,
    is_head,
    no_store,
    open_service,
    strong_etag,
)
from discreet.web.urls import (
    TABLE_PARAMETERS,
    file_stem,
    link,
    read_single,
    read_table,
    read_view,
    read_word,
    refuse_unknown,
)
from discreet.workspace.versions.history import SHORT

#: Parameters of a whole table only.
_WHOLE = (*VIEW_PARAMETERS, *PICTURE_PARAMETERS, "dry_run")
API_PARAMETERS = (*TABLE_PARAMETERS, *_WHOLE, "format", "download", "nonzero", "lang")
GEOJSON = "application/geo+json"
_BOUNDARIES: dict[int | str, dict[str, Any]] = {
    200: {"description": "A FeatureCollection.", "content": {GEOJSON: {"schema": {"type": "object"}}}}
}
VariableName = Annotated[str, Path(description="A variable with boundaries.", examples=["region"])]


def api_router(registry: DatasetRegistry, nonzero_cells: int | None = None) -> APIRouter:
    """The routes under /api."""
    router = APIRouter(prefix="/api", tags=["tables"])
    _add_datasets(router, registry)
    _add_tables(router, registry, nonzero_cells)
    _add_inference(router, registry)
    _add_versions(router, registry)
    _add_boundaries(router, registry)
    _add_budget(router, registry)
    add_methodology_api(router, registry)
    return router


def _add_datasets(router: APIRouter, registry: DatasetRegistry) -> None:
    @router.get(
        "/datasets",
        response_model=dataset_documents.ListDocument,
        responses=openapi.problem_responses(400, 414, 503),
        openapi_extra={"parameters": [openapi.language_parameter()]},
    )
    def list_datasets(request: Request) -> Response:
        """All datasets, in a few words each."""
        refuse_unknown(request.query_params, ())
        found = dataset_documents.open_datasets(registry)

        def document() -> Response:
            listed = [dataset_documents.dataset_summary(dataset_in_language(each.dataset)) for each in found]
            return as_json(dataset_documents.ListDocument(datasets=listed))

        tag = strong_etag("datasets", [each.edition for each in found])
        return conditional(request, tag, document, lasting=True)

    @router.get(
        "/datasets/{dataset_id}",
        response_model=dataset_documents.DatasetDocument,
        responses=openapi.problem_responses(400, 404, 410, 414, 503),
        openapi_extra={"parameters": [openapi.version_parameter(), openapi.language_parameter()]},
    )
    def describe_dataset(request: Request, dataset_id: openapi.DatasetId) -> Response:
        """One dataset: what is counted, its variables with their categories, and what protects it."""
        refuse_unknown(request.query_params, ("version",))
        service = open_service(registry, request, dataset_id)
        tag = strong_etag("dataset", service.edition)
        return conditional(
            request, tag, lambda: as_json(dataset_documents.dataset_document(service)), lasting=True
        )


def _add_tables(router: APIRouter, registry: DatasetRegistry, nonzero_cells: int | None) -> None:
    @router.get(
        "/datasets/{dataset_id}/table",
        response_class=Response,
        responses=openapi.table_responses(),
        openapi_extra={"parameters": openapi.table_parameters(), "security": openapi.OPTIONAL_KEY},
    )
    def protected_table(request: Request, dataset_id: openapi.DatasetId) -> Response:
        """One protected table, in one of the formats."""
        query = request.query_params
        refuse_unknown(query, API_PARAMETERS)
        form, download = _format(request), _flag(query, "download")
        service = open_service(registry, request, dataset_id)
        table = read_table(service.dataset, query)
        if _wants_nonzero(query):
            most = service.dataset.protection.max_cells if nonzero_cells is None else nonzero_cells
            checked, response = nonzero_response(request, service, table, form, most)
            return _as_download(response, checked, form) if download else response
        view = read_view(query)
        picture = Picture(read_word(query, "chart"), read_word(query, "theme") or THEMES[0])
        for name, _ in [] if form.is_picture else picture.to_query():
            raise BadRequest(
                f'"{name}" is for pictures, and the format is {form.name}.',
                "Add format=svg or format=png, or leave it out.",
            )
        if view:  # by the shape alone: HEAD and GET agree, and nothing is charged for a refusal
            parsed = service.read(table)
            check_view(view, parsed.request, parsed.shape.dimensions)
        if _flag(query, "dry_run"):
            return no_store(as_json(service.dry_run(table)))
        checked = check_request(service, table)
        response = conditional(
            request,
            etag_of(checked, form.name, *view.to_query(), *picture.to_query()),
            lambda: _table(request, service, checked, form, view, picture),
            metered=checked.metered,
            lasting=checked.lasting,
            vary="" if "format" in query else "Accept",
        )
        # A CSV file has no place for the note, the promise and the citation.
        about = link(f"/api/datasets/{dataset_id}/methodology?version={service.digest[:SHORT]}")
        response.headers["link"] = f'<{about}>; rel="describedby"; type="application/json"'
        return _as_download(response, checked, form) if download else response


def _format(request: Request) -> Format:
    """The format of the URL, else of the header `Accept`."""
    if "format" in request.query_params:
        return format_by_name(read_single("format", request.query_params.getlist("format")))
    return choose_format(request.headers.get("accept", ""))


def _flag(query: QueryParams, name: str) -> bool:
    text = read_single(name, query.getlist(name), "0")
    if text not in {"0", "1"}:
        raise BadRequest(f'{name} is "{text}".', "Write 0 or 1.")
    return text == "1"


def _table(
    request: Request,
    service: DatasetService,
    checked: CheckedRequest,
    form: Format,
    view: View,
    picture: Picture,
) -> Response:
    if is_head():
        response = headers_only(service, [checked.request], form.media_type)
    else:
        reserve_cells(PICTURE if form.is_picture else 0)
        release = release_in_language(apply_view(service.answer(checked), view))
        release = add_picture(release, picture) if form.is_picture else release
        response = document_response(request, form.stream(release), form.media_type)
        add_charge_header(response, [release])
    response.headers["content-type"] = form.media_type
    return response


def _as_download(response: Response, checked: CheckedRequest, form: Format) -> Response:
    if response.status_code == 200:
        name = f"{file_stem(checked.request)}.{form.file_ending}"
        response.headers["content-disposition"] = f'attachment; filename="{name}"'
    return response


def _wants_nonzero(query: QueryParams) -> bool:
    """Whether only cells that are not 0 are asked for; refused together with a parameter of whole tables."""
    if not read_yes_no("nonzero", query.getlist("nonzero")):
        return False
    for name in _WHOLE:
        if query.get(name):
            raise BadRequest(
                message(
                    '"{name}" is for whole tables, and only cells that are not 0 are asked for.', name=name
                ),
                message("Leave one of them out."),
            )
    return True


def nonzero_response(
    request: Request, service: DatasetService, table: TableRequest, form: Format, most: int
) -> tuple[CheckedRequest, Response]:
    """The cells that are not 0 of a table of at most `most` cells, streamed while they are counted."""
    listing_format(form)
    checked = check_request(service, table, partial(service.check_nonzero, most_cells=most))

    def document() -> Response:
        if is_head():
            response = Response(headers={"content-type": form.media_type})
            del response.headers["content-length"]
            return response
        reserve_cells(min(checked.cells, LISTED))
        pieces = form.stream(listing_in_language(service.nonzero(checked)))
        return document_response(request, pieces, form.media_type)

    tag, vary = etag_of(checked, form.name, "nonzero"), "" if "format" in request.query_params else "Accept"
    return checked, conditional(request, tag, document, metered=checked.metered, vary=vary)


def _add_inference(router: APIRouter, registry: DatasetRegistry) -> None:
    @router.get(
        "/datasets/{dataset_id}/test/independence",
        response_model=inference_pages.IndependenceDocument,
        responses=openapi.problem_responses(400, 401, 403, 404, 410, 414, 503),
        openapi_extra={"parameters": openapi.request_parameters(), "security": openapi.OPTIONAL_KEY},
    )
    def independence(request: Request, dataset_id: openapi.DatasetId) -> Response:
        """Whether the two variables of a table are independent; the likelihood contains the noise."""
        page = parse_page(registry, request, dataset_id, TABLE_PARAMETERS)
        checked = page.checked

        def document() -> Response:
            found = inference_pages.run_independence_test(page.service, checked)
            return as_json(asdict(inference_pages.IndependenceDocument(**found.document())))

        tag = etag_of(checked, "independence")
        return conditional(request, tag, document, lasting=checked.lasting, metered=checked.metered)

    @router.get(
        "/datasets/{dataset_id}/interval",
        response_model=IntervalDocument | IntervalsDocument,
        responses=openapi.problem_responses(400, 401, 403, 404, 410, 414, 503),
        openapi_extra={"parameters": openapi.interval_parameters(), "security": openapi.OPTIONAL_KEY},
    )
    def interval(request: Request, dataset_id: openapi.DatasetId) -> Response:
        """Between which limits true counts lie, or a sum, a share or a difference of them."""
        page = parse_page(registry, request, dataset_id, inference_pages.INTERVAL_PARAMETERS)
        checked, query = page.checked, inference_pages.read_interval(request.query_params)
        return conditional(
            request,
            etag_of(checked, "interval", str(query)),
            lambda: inference_pages.interval_response(request, page.service.answer(checked), query),
            metered=checked.metered,
            lasting=checked.lasting,
        )


def _add_versions(router: APIRouter, registry: DatasetRegistry) -> None:
    @router.get(
        "/datasets/{dataset_id}/versions",
        response_model=dataset_documents.VersionsDocument,
        responses=openapi.problem_responses(400, 404, 414, 503),
    )
    def versions(request: Request, dataset_id: openapi.DatasetId) -> Response:
        """The versions of a dataset, the newest last, and why a version is not answered."""
        refuse_unknown(request.query_params, ())
        document = asdict(dataset_documents.VersionsDocument(dataset_id, list(registry.versions(dataset_id))))
        return conditional(request, strong_etag("versions", document), lambda: as_json(document))

    @router.get(
        "/datasets/{dataset_id}/compare",
        response_model=ComparedDocument,
        responses=openapi.problem_responses(400, 401, 403, 404, 410, 414, 503),
        openapi_extra={"parameters": openapi.compare_parameters(), "security": openapi.OPTIONAL_KEY},
    )
    def comparison(request: Request, dataset_id: openapi.DatasetId) -> Response:
        """One table in two versions: both numbers of each cell, their difference and their ratio."""
        wanted = inference_pages.read_comparison(registry, request, dataset_id)
        if wanted is None:
            raise BadRequest("No version is named to compare with.", "Add with=, as in with=1.")
        tag, metered = wanted.etag("compare"), any(each.metered for each in wanted.checked)
        return conditional(request, tag, lambda: as_json(wanted.answer().document()), metered=metered)


def _add_boundaries(router: APIRouter, registry: DatasetRegistry) -> None:
    @router.get(
        "/datasets/{dataset_id}/boundaries/{variable}",
        response_class=Response,
        responses={**_BOUNDARIES, **openapi.problem_responses(400, 404, 410, 414, 503)},
        openapi_extra={"parameters": [openapi.version_parameter()]},
    )
    def boundaries(request: Request, dataset_id: openapi.DatasetId, variable: VariableName) -> Response:
        """The shapes of a variable's areas as GeoJSON with code and label; `format=svg` for the outlines that maps use."""
        refuse_unknown(request.query_params, ("version", "format"))
        form = read_word(request.query_params, "format")
        if form not in {"", "geojson", "svg"}:
            raise BadRequest(f'format is "{form[:40]}".', "Write geojson or svg.")
        service = open_service(registry, request, dataset_id)
        found = service.dataset.boundaries.get(variable)
        if found is None:
            known = ", ".join(sorted(service.dataset.boundaries))
            raise NotFound(
                f'The dataset "{dataset_id}" has no boundaries of "{variable[:64]}".',
                f"It has those of {known}." if known else "Its description declares none.",
            )

        def document() -> Response:
            if form != "svg":
                return Response(found.content, media_type=GEOJSON)
            return Response(outline_document(service.dataset, variable), media_type="image/svg+xml")

        tag = strong_etag("boundaries", service.digest, variable, form)
        return conditional(request, tag, document, lasting=True)


def _add_budget(router: APIRouter, registry: DatasetRegistry) -> None:
    @router.get(
        "/datasets/{dataset_id}/budget",
        response_model=BudgetDocument,
        responses=openapi.problem_responses(400, 404, 414, 503),
    )
    def budget(request: Request, dataset_id: openapi.DatasetId) -> Response:
        """What a dataset under `dp` promises, what each table costs, and what its budget has left."""
        refuse_unknown(request.query_params, ())
        return no_store(as_json(registry.open(dataset_id).budget()))

    @router.get(
        "/datasets/{dataset_id}/ledger",
        response_model=LedgerDocument,
        responses=openapi.problem_responses(400, 401, 403, 404, 414, 503),
        openapi_extra={"security": openapi.REQUIRED_KEY},
    )
    def ledger(request: Request, dataset_id: openapi.DatasetId) -> Response:
        """What the budget of a dataset has spent, and by whom; for custodians."""
        refuse_unknown(request.query_params, ())
        service = registry.open(dataset_id)
        if service.account is None:
            raise BadKey("The ledger is for custodians.", "Send the key of a custodian.")
        service.require("custodian")
        return no_store(as_json(service.ledger()))
