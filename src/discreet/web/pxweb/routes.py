"""PxWebApi 2 at /api/pxweb/v2: every dataset is a table.

The fixed words of a path may have any case. Errors are problems in the form that PxWeb clients show: `title` is the
code of the error, `detail` the message with its advice.
"""

import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Request
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from discreet.errors import BadRequest, DiscreetError, NotFound
from discreet.model.release import subset_dimension
from discreet.release.dataset_registry import DatasetRegistry, DatasetService
from discreet.web.api.dataset_documents import open_datasets
from discreet.web.api.openapi import DatasetId, text_parameter
from discreet.web.cache import ReleaseCache
from discreet.web.problems import PROBLEM_JSON, problem_response
from discreet.web.pxweb import documents as px
from discreet.web.pxweb import metadata as px_metadata
from discreet.web.pxweb import selection_syntax as syntax
from discreet.web.pxweb.output import DEFAULT_FORMAT, check_tables, cut_tables, read_output, write_output
from discreet.web.pxweb.selection_syntax import (
    Parameters,
    any_case,
    read_parameters,
    word,
)
from discreet.web.responses import add_charge_header, as_json, conditional, headers_only, is_head, strong_etag
from discreet.web.urls import site_url
from discreet.workspace.options import Options

PREFIX = "/api/pxweb/v2"
#: How many letters of a digest a saved query contains.
KEPT = 16
_OUTPUT = ("outputformat", "outputformatparams")


class PxWebRoute(APIRoute):
    """A route whose path may have any case, and whose errors are problems in PxWeb's form."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Match the path with its fixed words in lower case."""
        root = scope.get("root_path", "")
        path = scope.get("path", "").removeprefix(root)
        if path.lower().startswith(f"{PREFIX}/"):
            scope = {**scope, "path": root + lower_case_path(path)}
        return super().matches(scope)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, with errors turned into problems."""
        handle = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await handle(request)
            except DiscreetError as error:
                ours = problem_response(request, error)
                document = json.loads(bytes(ours.body))
                told = f"{document['detail']} {document['advice']}".strip()
                document |= {"title": document["code"], "detail": told}
                response = Response(json.dumps(document).encode(), ours.status_code, media_type=PROBLEM_JSON)
                kept = {k: v for k, v in ours.headers.items() if not k.startswith("content-")}
                response.headers.update(kept)
                return response

        return handler


def lower_case_path(path: str) -> str:
    """A path below the API with its fixed words in lower case; ids stay as they are.

    >>> lower_case_path("/api/PxWeb/v2/codeLists/vs_Area")
    '/api/pxweb/v2/codelists/vs_Area'
    """
    first, *rest = path[len(PREFIX) + 1 :].split("/", 2)
    return "/".join([PREFIX, first.lower(), *rest[:1], *(word.lower() for word in rest[1:])])


async def read_body(request: Request) -> bytes:
    """The body of a request; admission control limits its size."""
    return await request.body()


QueryId = Annotated[str, Path(description="The id of a saved query: the query itself, packed.")]
Sent = Annotated[bytes, Depends(read_body)]


@dataclass(frozen=True, slots=True)
class PxWebService:
    """What the routes share: the datasets, the options, and a cache of whole tables."""

    registry: DatasetRegistry
    options: Options
    releases: ReleaseCache

    def open(self, table_id: str, version: str | None = None) -> DatasetService:
        """A version of the dataset of a table; the id may have any case."""
        return self.registry.open(any_case(table_id, self.registry.ids()) or table_id, version=version or "")

    def load_time(self, dataset: DatasetService) -> str:
        """When the version was loaded; empty where that is not recorded."""
        versions = self.registry.versions(dataset.dataset.id)
        return next((facts.loaded for facts in versions if facts.digest == dataset.digest), "")


def api_base() -> str:
    """The URL of the API."""
    return site_url().base + PREFIX


def pxweb_router(
    registry: DatasetRegistry, options: Options, count: Callable[[str], None], releases: ReleaseCache
) -> APIRouter:
    """The routes under /api/pxweb/v2; `count` counts the calls of an IP address, and refuses too many."""
    service = PxWebService(registry, options, releases)

    async def take_token(request: Request) -> None:
        count(request.client.host if request.client else "")

    router = APIRouter(
        prefix=PREFIX,
        tags=["pxweb"],
        route_class=PxWebRoute,
        dependencies=[Depends(take_token)],
    )
    _add_tables(router, service)
    _add_metadata(router, service)
    _add_data(router, service)
    _add_saved_queries(router, service)
    return router


def _add_tables(router: APIRouter, service: PxWebService) -> None:
    @router.get("/config", response_model=px.PxConfig, responses=px.problems(), openapi_extra=px.taking())
    def config(request: Request) -> Response:
        """What a program must know of the server."""
        read_parameters(request.query_params)
        datasets = [each.dataset for each in open_datasets(service.registry)]
        return as_json(px.config_document(service.options, datasets))

    @router.get(
        "/tables",
        response_model=px.PxTables,
        responses=px.problems(404),
        openapi_extra=px.taking(
            px.QUERY,
            *px.PAGING,
            text_parameter("includeDiscontinued", "Tables that ended, too: there are none."),
        ),
    )
    def tables(request: Request) -> Response:
        """The tables in which every word of a query occurs, page by page."""
        known = ("query", "pastdays", "includediscontinued", "pagenumber", "pagesize")
        parameters = read_parameters(request.query_params, known)
        days = syntax.read_number(parameters, "pastDays", px.MOST_DAYS)
        earliest = "" if days is None else px.since(days)
        syntax.flag(parameters, "includediscontinued")
        number = syntax.read_number(parameters, "pageNumber", 10**9) or 1
        size = syntax.read_number(parameters, "pageSize", px.LARGEST_PAGE) or px.PAGE_SIZE
        found = [(each.dataset, service.load_time(each)) for each in open_datasets(service.registry)]
        return as_json(
            px.tables_document(found, word(parameters, "query"), number, size, api_base(), earliest)
        )

    @router.get(
        "/tables/{table_id}",
        response_model=px.PxTable,
        responses=px.problems(404, 410),
        openapi_extra=px.of_version(),
    )
    def table(request: Request, table_id: DatasetId) -> Response:
        """One table in a few words."""
        dataset = _open(service, table_id, read_parameters(request.query_params, ("version",)))
        document = px.table_document(dataset.dataset, service.load_time(dataset), api_base())
        return as_json({"language": "en", **document})


def _add_metadata(router: APIRouter, service: PxWebService) -> None:
    @router.get(
        "/tables/{table_id}/metadata",
        response_model=px.PxStat,
        responses=px.problems(403, 404, 410),
        openapi_extra=px.of_version(
            px.by_variable("codelist", "The code list at which a variable is described."),
            text_parameter("defaultSelection", "`true`: of what is answered where nothing is selected."),
            text_parameter("savedQuery", "Of what a saved query selects."),
            text_parameter("outputFormat", "`json-stat2`, the only one."),
        ),
    )
    def metadata(request: Request, table_id: DatasetId) -> Response:
        """The variables of a table, their values and their code lists."""
        known = ("defaultselection", "savedquery", "codelist[]", "outputformat", "version")
        parameters = read_parameters(request.query_params, known)
        if word(parameters, "outputformat").lower() not in {"", DEFAULT_FORMAT}:
            raise BadRequest("Metadata is JSON-stat.", f"Write outputFormat={DEFAULT_FORMAT}.")
        return as_json(_metadata(_open(service, table_id, parameters), parameters))

    @router.get(
        "/tables/{table_id}/defaultselection",
        response_model=px.PxSelected,
        responses=px.problems(403, 404, 410),
        openapi_extra=px.of_version(),
    )
    def default_selection(request: Request, table_id: DatasetId) -> Response:
        """What is answered where nothing is selected."""
        dataset = _open(service, table_id, read_parameters(request.query_params, ("version",)))
        own = f"{api_base()}/tables/{dataset.dataset.id}/defaultselection"
        return as_json(_selection_document(dataset, None, own))

    @router.get(
        "/codelists/{list_id:path}",
        response_model=px.PxCodeList,
        responses=px.problems(404, 410),
        openapi_extra=px.of_version(),
    )
    def code_list(request: Request, list_id: str) -> Response:
        """The values of a code list, each with the categories in it."""
        version = word(read_parameters(request.query_params, ("version",)), "version")
        found = {
            each.id: (dataset, each)
            for dataset in open_datasets(service.registry.at(version))
            for variable in dataset.dataset.variables
            for each in px_metadata.code_lists(dataset.dataset, variable.name)
        }
        name = any_case(list_id, found)
        if name is None:
            raise NotFound(f'There is no code list "{list_id}".', "A table's metadata lists its code lists.")
        links = [px_metadata.link_object(f"{api_base()}/codelists/{quote(name)}", "self")]
        return as_json(px_metadata.code_list_document(*found[name], links))


def _open(service: PxWebService, table_id: str, parameters: Parameters) -> DatasetService:
    """The version of a table that the URL or its saved query names."""
    saved = word(parameters, "savedquery")
    return service.open(
        table_id, word(parameters, "version") or (syntax.unpack(saved).version if saved else None)
    )


def _metadata(dataset: DatasetService, parameters: Parameters) -> dict[str, Any]:
    saved = word(parameters, "savedquery")
    if saved or syntax.flag(parameters, "defaultselection"):
        selected = syntax.select(dataset, syntax.unpack(saved).selection if saved else None)
        shown = [subset_dimension(each.dimension, each.codes) for each in selected.chosen]
        return px_metadata.metadata_document(dataset, shown, selected.contents, api_base())
    names = [variable.name for variable in dataset.dataset.variables]
    levels = {}
    for pick in syntax.selection_from_query(parameters).selection or ():
        name = any_case(pick.variable_code, names) or pick.variable_code
        levels[name] = syntax.find_code_list(dataset, name, pick.codelist or "").levels
    shown = [px_metadata.dimension_of(dataset, name, levels.get(name, ())) for name in names]
    return px_metadata.metadata_document(dataset, shown, px_metadata.contents_of(dataset.dataset), api_base())


def _selection_document(
    dataset: DatasetService, selection: syntax.PxSelection | None, own: str
) -> dict[str, Any]:
    """A selection with every code; `own` is the URL of the document."""
    words = syntax.selection_json(syntax.canonical_selection(dataset, syntax.select(dataset, selection)))
    return {"language": "en", **words, "links": [px_metadata.link_object(own, "self")]}


def _add_data(router: APIRouter, service: PxWebService) -> None:
    @router.get(
        "/tables/{table_id}/data",
        response_class=Response,
        responses=px.numbers(),
        openapi_extra=px.of_version(*px.SELECTING, *px.writing(), **px.WITH_KEY),
    )
    def get_data(request: Request, table_id: DatasetId) -> Response:
        """The numbers that a query string selects; without a selection, a small table."""
        known = ("valuecodes[]", "codelist[]", "heading", "stub", "version", *_OUTPUT)
        parameters = read_parameters(request.query_params, known)
        query = _query(table_id, syntax.selection_from_query(parameters), parameters)
        return _data_response(request, service, query)

    @router.post(
        "/tables/{table_id}/data",
        response_class=Response,
        responses={**px.numbers(), **px.problems(413)},
        openapi_extra=px.of_version(
            *px.writing(), **px.WITH_KEY, **px.body(syntax.PxSelection, required=False)
        ),
    )
    def post_data(request: Request, table_id: DatasetId, sent: Sent) -> Response:
        """The numbers that a body selects."""
        parameters = read_parameters(request.query_params, ("version", *_OUTPUT))
        query = _query(table_id, syntax.selection_from_body(sent), parameters)
        return _data_response(request, service, query)


def _add_saved_queries(router: APIRouter, service: PxWebService) -> None:
    @router.post(
        "/savedqueries",
        status_code=201,
        response_model=px.PxSaved,
        responses=px.problems(403, 404, 410, 413),
        openapi_extra=px.of_version(**px.body(syntax.PxQuery, required=True)),
    )
    def save_query(request: Request, sent: Sent) -> Response:
        """The address of a query; nothing is stored. A version that it names is kept in it, by its digest."""
        parameters = read_parameters(request.query_params, ("version",))
        query = syntax.read_saved_query(sent)
        version = word(parameters, "version") or query.version
        dataset = service.open(query.table_id, version)
        pinned = dataset.digest[:KEPT] if version else ""
        query = replace(query, table_id=dataset.dataset.id, version=pinned)
        syntax.select(dataset, query.selection)
        read_output(query.output_format or "", query.output_format_params or ())
        response = as_json(_saved_document(query), 201)
        response.headers["location"] = f"{api_base()}/savedqueries/{syntax.saved_query_id(query)}"
        return response

    @router.get(
        "/savedqueries/{query_id}",
        response_model=px.PxSaved,
        responses=px.problems(404, 410),
        openapi_extra=px.taking(),
    )
    def saved_query(request: Request, query_id: QueryId) -> Response:
        """A query, unpacked."""
        read_parameters(request.query_params)
        query = syntax.unpack(query_id)
        service.open(query.table_id, query.version)
        return as_json(_saved_document(query))

    @router.get(
        "/savedqueries/{query_id}/data",
        response_class=Response,
        responses=px.numbers(),
        openapi_extra=px.taking(*px.writing(), **px.WITH_KEY),
    )
    def saved_data(request: Request, query_id: QueryId) -> Response:
        """The numbers of a saved query."""
        query = syntax.unpack(query_id)
        form, words = _output(read_parameters(request.query_params, _OUTPUT))
        parameters = words or query.output_format_params
        query = replace(query, output_format=form or query.output_format, output_format_params=parameters)
        return _data_response(request, service, query)

    @router.get(
        "/savedqueries/{query_id}/selection",
        response_model=px.PxSelected,
        responses=px.problems(403, 404, 410),
        openapi_extra=px.taking(),
    )
    def saved_selection(request: Request, query_id: QueryId) -> Response:
        """What a saved query selects now, code by code."""
        read_parameters(request.query_params)
        query = syntax.unpack(query_id)
        own = f"{api_base()}/savedqueries/{query_id}/selection"
        dataset = service.open(query.table_id, query.version)
        return as_json(_selection_document(dataset, query.selection, own))


def _saved_document(query: syntax.PxQuery) -> dict[str, Any]:
    query_id = syntax.saved_query_id(query)
    own = f"{api_base()}/savedqueries/{query_id}"
    return {
        "language": "en",
        "id": query_id,
        "savedQuery": {"id": query_id, **syntax.saved_query_json(query)},
        "links": [px_metadata.link_object(own, "self"), px_metadata.link_object(f"{own}/data", "data")],
    }


def _query(table: str, selection: syntax.PxSelection, parameters: Parameters) -> syntax.PxQuery:
    return syntax.PxQuery(table, selection, None, *_output(parameters), word(parameters, "version"))


def _output(parameters: Parameters) -> tuple[str, tuple[str, ...]]:
    words = [item for text in parameters.get("outputformatparams", []) for item in syntax.split_list(text)]
    return word(parameters, "outputformat"), tuple(words)


def _data_response(request: Request, service: PxWebService, query: syntax.PxQuery) -> Response:
    output = read_output(query.output_format or "", query.output_format_params or ())
    dataset = service.open(query.table_id, query.version)
    selected = syntax.select(dataset, query.selection)
    checked = check_tables(dataset, selected, output, service.options.pxweb_cells)

    def respond() -> Response:
        if is_head():
            requests = [each.request for each in checked.values()]
            response = headers_only(dataset, requests, output.form.media_type)
        else:
            cuts = cut_tables(service.releases, dataset, checked, selected)
            body = write_output(cuts, selected, output, api_base())
            response = Response(body, media_type=output.form.media_type)
            add_charge_header(response, cuts.values())
        name = f"{dataset.dataset.id}.{output.form.extension}"
        response.headers["content-disposition"] = f'inline; filename="{name}"'
        return response

    if request.method != "GET":
        return respond()
    words = syntax.selection_json(syntax.canonical_selection(dataset, selected))
    parts = dataset.edition, dataset.dataset.id, words, output.name, str(output.csv), api_base()
    metered = any(each.metered for each in checked.values())
    return conditional(request, strong_etag("pxweb", *parts), respond, metered=metered)
