"""A request to PxWebApi: its path in any case, its body, its problems in the words that PxWeb's programs show.

title = the code of the error, such as too-many-cells       detail = what is wrong, and what to do

What the routes of PxWebApi share: the doors, the limits, the whole tables.

The addresses of numbers: a table's data by GET and POST, and queries that have an address of their own.

PxWebApi 2 at /api/pxweb/v2: the addresses, and what each of them answers.

GET  /config    /tables    /tables/{id}    /tables/{id}/metadata    /tables/{id}/defaultselection
GET  /tables/{id}/data    /codelists/{id}    /savedqueries/{id}    /savedqueries/{id}/data    .../selection
POST /tables/{id}/data    /savedqueries
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import BadRequest, BodyTooLarge, DiscreetError, NotFound
from discreet.model.release import subset_dimension
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.dataset_service import DatasetService
from discreet.web.api.dataset_documents import open_datasets
from discreet.web.api.openapi import (
    DatasetId,
    text_parameter,
)
from discreet.web.problems import PROBLEM_JSON, problem_response
from discreet.web.pxweb import documents as openapi
from discreet.web.pxweb import output as data
from discreet.web.pxweb.documents import (
    PxCodeList,
    PxConfig,
    PxQuery,
    PxSaved,
    PxSelected,
    PxSelection,
    PxStat,
    PxTable,
    PxTables,
)
from discreet.web.pxweb.metadata import (
    code_list_document,
    code_lists,
    contents_of,
    dimension_of,
    link_object,
    metadata_document,
)
from discreet.web.pxweb.selection_syntax import (
    Parameters,
    RawSelection,
    SavedQuery,
    flag,
    read_parameters,
    read_saved_query,
    saved_query_json,
    selection_from_body,
    selection_from_query,
    selection_json,
    split_list,
    unpack,
    word,
)
from discreet.web.pxweb.table_list import (
    LARGEST_PAGE,
    MOST_DAYS,
    PAGE_SIZE,
    config_document,
    read_number,
    since,
    table_document,
    tables_document,
)
from discreet.web.pxweb.value_selection import Selected, any_case, canonical_selection, find_code_list, select
from discreet.web.release_cache import ReleaseCache
from discreet.web.responses import add_charge_header, as_json, conditional, headers_only, strong_etag
from discreet.web.transfer import is_head
from discreet.web.urls import site_url
from discreet.workspace.options import Options

PREFIX = "/api/pxweb/v2"
#: The bytes of a body: enough for every code of a large table.
LARGEST_BODY = 1_048_576


class CaseInsensitivePaths:
    """Lets the fixed words of a path below the API be written in any case; ids are left as they are."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, with the path as the routes have it."""
        root = scope.get("root_path", "")
        path = scope.get("path", "").removeprefix(root)
        if scope["type"] == "http" and path.lower().startswith(f"{PREFIX}/"):
            scope = {**scope, "path": root + lower_case_path(path)}
        await self.app(scope, receive, send)


def lower_case_path(path: str) -> str:
    """A path below the API with its fixed words in lower case.

    >>> lower_case_path("/api/PxWeb/v2/codeLists/vs_Area")
    '/api/pxweb/v2/codelists/vs_Area'
    """
    first, *rest = path[len(PREFIX) + 1 :].split("/", 2)
    return "/".join([PREFIX, first.lower(), *rest[:1], *(word.lower() for word in rest[1:])])


class PxWebRoute(APIRoute):
    """A route whose errors become problems in PxWeb's words."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with errors turned into problems."""
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await handle(request)
            except DiscreetError as error:
                return px_problem(request, error)

        return handler


def px_problem(request: Request, error: DiscreetError) -> Response:
    """An error as PxWeb's programs show it."""
    told = problem_response(request, error)
    document = json.loads(bytes(told.body))
    document |= {"title": document["code"], "detail": f"{document['detail']} {document['advice']}".strip()}
    response = Response(json.dumps(document).encode(), told.status_code, media_type=PROBLEM_JSON)
    response.headers.update({k: v for k, v in told.headers.items() if not k.startswith("content-")})
    return response


async def read_body(request: Request) -> bytes:
    """The body of a request, no more of it than is allowed.

    Raises:
        BodyTooLarge: It is longer.
    """
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY:
            raise BodyTooLarge(
                f"The body has more than {LARGEST_BODY:,} bytes.", "Select with * or RANGE(first,last)."
            )
    return body


@dataclass(frozen=True, slots=True)
class PxWebService:
    """What the routes share: the doors, the limits, and the whole tables made a moment ago."""

    doors: DatasetRegistry
    options: Options
    wholes: ReleaseCache

    def door(self, table_id: str, version: str = "") -> DatasetService:
        """A version of the dataset of a table, its id in any case."""
        return self.doors.door(any_case(table_id, self.doors.ids()) or table_id, version=version)


def selection_document(door: DatasetService, wanted: RawSelection, here: str) -> dict[str, Any]:
    """What is understood of a selection, code by code."""
    words = selection_json(canonical_selection(door, select(door, wanted)))
    return {"language": "en", **words, "links": [link_object(here, "self")]}


def api_base() -> str:
    """Where the API starts."""
    return site_url().base + PREFIX


_OUTPUT = ("outputformat", "outputformatparams")
#: How many letters of a digest a saved query keeps.
KEPT = 16
QueryId = Annotated[str, Path(description="The id of a saved query: the query itself, packed.")]
Sent = Annotated[bytes, Depends(read_body)]


def add_data(router: APIRouter, service: PxWebService) -> None:
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
        wanted = selection_from_query(parameters)
        query = SavedQuery(table_id, wanted, *_output(parameters), word(parameters, "version"))
        return _data_response(request, service, query)

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
        wanted = selection_from_body(_parse_json(sent))
        query = SavedQuery(table_id, wanted, *_output(parameters), word(parameters, "version"))
        return _data_response(request, service, query)


def add_saved_queries(router: APIRouter, service: PxWebService) -> None:
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
        query = read_saved_query(_parse_json(sent))
        version = word(parameters, "version") or query.version
        door = service.door(query.table, version=version)
        query = replace(query, table=door.dataset.id, version=door.digest[:KEPT] if version else "")
        select(door, query.wanted)
        data.read_output(query.output_format, query.parameters)
        response = as_json(_saved_document(query, api_base()), 201)
        response.headers["location"] = f"{api_base()}/savedqueries/{query.id}"
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
        return as_json(_saved_document(query, api_base()))

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
        return _data_response(
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
        here = f"{api_base()}/savedqueries/{query_id}/selection"
        door = service.door(query.table, version=query.version)
        return as_json(selection_document(door, query.wanted, here))


def _data_response(request: Request, service: PxWebService, query: SavedQuery) -> Response:
    """Check a selection, and send its numbers to whoever does not have them."""
    output = data.read_output(query.output_format, query.parameters)
    door = service.door(query.table, query.version)
    selected = select(door, query.wanted)
    asked = data.check_tables(door, selected, output, service.options.pxweb_cells)
    words = selection_json(canonical_selection(door, selected))
    tag = strong_etag("pxweb", door.edition, door.dataset.id, words, output.name, str(output.csv), api_base())
    respond = _responder(request, service, door, selected, output, asked)
    metered = any(question.metered for question in asked.values())
    return conditional(request, tag, respond, metered=metered) if request.method == "GET" else respond()


def _responder(
    request: Request,
    service: PxWebService,
    door: DatasetService,
    selected: Selected,
    output: data.Output,
    asked: dict[str, CheckedRequest],
) -> Callable[[], Response]:
    """What makes the response, if it is wanted."""

    def respond() -> Response:
        if is_head(request):
            requests = [question.request for question in asked.values()]
            response = headers_only(door, requests, output.media_type)
        else:
            cuts = data.cut_tables(service.wholes, door, asked, selected)
            body = data.write_output(cuts, selected, output, api_base())
            response = Response(body, media_type=output.media_type)
            add_charge_header(response, cuts.values())
        response.headers["content-disposition"] = f'inline; filename="{door.dataset.id}.{output.extension}"'
        return response

    return respond


def _saved_document(query: SavedQuery, base: str) -> dict[str, Any]:
    here = f"{base}/savedqueries/{query.id}"
    links = [link_object(here, "self"), link_object(f"{here}/data", "data")]
    document = {"id": query.id, **saved_query_json(query)}
    return {"language": "en", "id": query.id, "savedQuery": document, "links": links}


def _output(parameters: Parameters) -> tuple[str, tuple[str, ...]]:
    words = [item for text in parameters.get("outputformatparams", []) for item in split_list(text)]
    return word(parameters, "outputformat"), tuple(words)


def _parse_json(sent: bytes) -> Any:
    try:
        return json.loads(sent) if sent.strip() else None
    except (ValueError, RecursionError):
        raise BadRequest("The body is not JSON.", "Send a JSON object, as UTF-8.") from None


def pxweb_router(doors: DatasetRegistry, options: Options, count: Callable[[str], None]) -> APIRouter:
    """The routes under /api/pxweb/v2; `count` counts the calls of an address, and refuses too many."""
    service = PxWebService(doors, options, ReleaseCache())

    async def take_token(request: Request) -> None:
        count(request.client.host if request.client else "")

    router = APIRouter(
        prefix=PREFIX,
        tags=["pxweb"],
        route_class=PxWebRoute,
        dependencies=[Depends(take_token)],
    )
    _add_tables(router, service)
    add_data(router, service)
    add_saved_queries(router, service)
    return router


def _add_tables(router: APIRouter, service: PxWebService) -> None:
    """What there is."""

    @router.get(
        "/config",
        response_model=PxConfig,
        responses=openapi.problems(),
        openapi_extra=openapi.taking(),
    )
    def config(request: Request) -> Response:
        """What a program must know of the server."""
        read_parameters(request.query_params)
        return as_json(
            config_document(service.options, [door.dataset for door in open_datasets(service.doors)])
        )

    @router.get(
        "/tables",
        response_model=PxTables,
        responses=openapi.problems(404),
        openapi_extra=openapi.taking(
            openapi.QUERY,
            *openapi.paging(),
            text_parameter("includeDiscontinued", "Tables that ended, too: there are none."),
        ),
    )
    def tables(request: Request) -> Response:
        """The tables in which every word of a query occurs, page by page."""
        known = ("query", "pastdays", "includediscontinued", "pagenumber", "pagesize")
        parameters = read_parameters(request.query_params, known)
        past = word(parameters, "pastdays")
        earliest = since(read_number("pastDays", past, 1, MOST_DAYS)) if past else ""
        flag(parameters, "includediscontinued")
        number = read_number("pageNumber", word(parameters, "pagenumber"), 1, 10**9)
        size = read_number("pageSize", word(parameters, "pagesize"), PAGE_SIZE, LARGEST_PAGE)
        datasets = [(door.dataset, _load_time(service, door)) for door in open_datasets(service.doors)]
        return as_json(
            tables_document(datasets, word(parameters, "query"), number, size, api_base(), earliest)
        )

    @router.get(
        "/tables/{table_id}",
        response_model=PxTable,
        responses=openapi.problems(404, 410),
        openapi_extra=openapi.of_version(),
    )
    def table(request: Request, table_id: DatasetId) -> Response:
        """One table in a few words."""
        door = _door(service, table_id, read_parameters(request.query_params, ("version",)))
        return as_json(
            {"language": "en", **table_document(door.dataset, _load_time(service, door), api_base())}
        )

    @router.get(
        "/tables/{table_id}/metadata",
        response_model=PxStat,
        responses=openapi.problems(403, 404, 410),
        openapi_extra=openapi.of_version(
            openapi.by_variable("codelist", "The code list at which a variable is described."),
            text_parameter("defaultSelection", "`true`: of what is answered where nothing is selected."),
            text_parameter("savedQuery", "Of what a saved query selects."),
            text_parameter("outputFormat", "`json-stat2`, the only one."),
        ),
    )
    def metadata(request: Request, table_id: DatasetId) -> Response:
        """The variables of a table, their values and their code lists."""
        known = ("defaultselection", "savedquery", "codelist[]", "outputformat", "version")
        parameters = read_parameters(request.query_params, known)
        if word(parameters, "outputformat").lower() not in {"", data.DEFAULT_FORMAT}:
            raise BadRequest("Metadata is JSON-stat.", f"Write outputFormat={data.DEFAULT_FORMAT}.")
        return as_json(_metadata(_door(service, table_id, parameters), parameters, api_base()))

    @router.get(
        "/tables/{table_id}/defaultselection",
        response_model=PxSelected,
        responses=openapi.problems(403, 404, 410),
        openapi_extra=openapi.of_version(),
    )
    def default_selection(request: Request, table_id: DatasetId) -> Response:
        """What is answered where nothing is selected."""
        door = _door(service, table_id, read_parameters(request.query_params, ("version",)))
        return as_json(
            selection_document(
                door, RawSelection(), f"{api_base()}/tables/{door.dataset.id}/defaultselection"
            )
        )

    @router.get(
        "/codelists/{list_id:path}",
        response_model=PxCodeList,
        responses=openapi.problems(404, 410),
        openapi_extra=openapi.of_version(),
    )
    def code_list(request: Request, list_id: str) -> Response:
        """The values of a code list, each with the categories in it."""
        version = word(read_parameters(request.query_params, ("version",)), "version")
        found = {
            each.id: (door, each)
            for door in open_datasets(service.doors.at(version))
            for variable in door.dataset.variables
            for each in code_lists(door.dataset, variable.name)
        }
        name = any_case(list_id, found)
        if name is None:
            raise NotFound(f'There is no code list "{list_id}".', "A table's metadata lists its code lists.")
        door, wanted = found[name]
        return as_json(
            code_list_document(door, wanted, [link_object(f"{api_base()}/codelists/{quote(name)}", "self")])
        )


def _load_time(service: PxWebService, door: DatasetService) -> str:
    """When the version of a table was loaded; empty where nobody wrote it down."""
    versions = service.doors.versions(door.dataset.id)
    return next((facts.loaded for facts in versions if facts.digest == door.digest), "")


def _door(service: PxWebService, table_id: str, parameters: Parameters) -> DatasetService:
    """The version of a table that an address names, or the saved query in it."""
    saved = word(parameters, "savedquery")
    version = word(parameters, "version") or (unpack(saved).version if saved else "")
    return service.door(table_id, version=version)


def _metadata(door: DatasetService, parameters: Parameters, base: str) -> dict[str, Any]:
    """The metadata of a table: of all its variables, or of those that a selection has."""
    saved, dataset = word(parameters, "savedquery"), door.dataset
    if saved or flag(parameters, "defaultselection"):
        selected = select(door, unpack(saved).wanted if saved else RawSelection())
        shown = [subset_dimension(each.dimension, each.codes) for each in selected.chosen]
        return metadata_document(door, shown, selected.contents, base)
    names = [variable.name for variable in dataset.variables]
    lists = {
        any_case(pick.variable, names) or pick.variable: pick.code_list
        for pick in selection_from_query(parameters).picks
    }
    levels = {name: find_code_list(door, name, wanted).levels for name, wanted in lists.items()}
    shown = [dimension_of(door, name, levels.get(name, ())) for name in names]
    return metadata_document(door, shown, contents_of(dataset), base)
