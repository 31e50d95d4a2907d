"""PxWebApi 2 at /api/pxweb/v2: the addresses, and what each of them answers.

GET  /config    /tables    /tables/{id}    /tables/{id}/metadata    /tables/{id}/defaultselection
GET  /tables/{id}/data    /codelists/{id}    /savedqueries/{id}    /savedqueries/{id}/data    .../selection
POST /tables/{id}/data    /savedqueries
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response  # noqa: TC002 - FastAPI reads the annotations of routes

from discreet.errors import BadRequest, NotFound
from discreet.model.cut import cut_dimension
from discreet.server.answer import as_json
from discreet.server.datasets import usable
from discreet.server.openapi import DatasetId, text_parameter
from discreet.server.pxweb import data, openapi
from discreet.server.pxweb.code_lists import code_list_document, code_lists, dimension_of
from discreet.server.pxweb.contents import contents_of
from discreet.server.pxweb.data_routes import add_data, add_saved_queries
from discreet.server.pxweb.documents import PxCodeList, PxConfig, PxSelected, PxStat, PxTable, PxTables
from discreet.server.pxweb.exchange import PREFIX, PxWebRoute
from discreet.server.pxweb.metadata import link, metadata_document
from discreet.server.pxweb.parameters import flag, read_parameters, word
from discreet.server.pxweb.saved import unpack
from discreet.server.pxweb.selection import any_case, named_list, select
from discreet.server.pxweb.service import Service, base, selection_document
from discreet.server.pxweb.tables import (
    LARGEST_PAGE,
    MOST_DAYS,
    PAGE_SIZE,
    config_document,
    read_number,
    since,
    table_document,
    tables_document,
)
from discreet.server.pxweb.wanted import Wanted, wanted_from_query
from discreet.server.wholes import Wholes

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.answer.door import Door
    from discreet.answer.doors import Doors
    from discreet.server.pxweb.parameters import Parameters
    from discreet.workspace.options import Options


def pxweb_router(doors: Doors, options: Options, count: Callable[[str], None]) -> APIRouter:
    """The routes under /api/pxweb/v2; `count` counts the calls of an address, and refuses too many."""
    service = Service(doors, options, Wholes())

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


def _add_tables(router: APIRouter, service: Service) -> None:
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
        return as_json(config_document(service.options, [door.dataset for door in usable(service.doors)]))

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
        datasets = [(door.dataset, _loaded(service, door)) for door in usable(service.doors)]
        return as_json(tables_document(datasets, word(parameters, "query"), number, size, base(), earliest))

    @router.get(
        "/tables/{table_id}",
        response_model=PxTable,
        responses=openapi.problems(404, 410),
        openapi_extra=openapi.of_version(),
    )
    def table(request: Request, table_id: DatasetId) -> Response:
        """One table in a few words."""
        door = _asked(service, table_id, read_parameters(request.query_params, ("version",)))
        return as_json({"language": "en", **table_document(door.dataset, _loaded(service, door), base())})

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
        return as_json(_metadata(_asked(service, table_id, parameters), parameters, base()))

    @router.get(
        "/tables/{table_id}/defaultselection",
        response_model=PxSelected,
        responses=openapi.problems(403, 404, 410),
        openapi_extra=openapi.of_version(),
    )
    def default_selection(request: Request, table_id: DatasetId) -> Response:
        """What is answered where nothing is selected."""
        door = _asked(service, table_id, read_parameters(request.query_params, ("version",)))
        return as_json(
            selection_document(door, Wanted(), f"{base()}/tables/{door.dataset.id}/defaultselection")
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
            for door in usable(service.doors.at(version))
            for variable in door.dataset.variables
            for each in code_lists(door.dataset, variable.name)
        }
        name = any_case(list_id, found)
        if name is None:
            raise NotFound(f'There is no code list "{list_id}".', "A table's metadata lists its code lists.")
        door, wanted = found[name]
        return as_json(code_list_document(door, wanted, [link(f"{base()}/codelists/{quote(name)}", "self")]))


def _loaded(service: Service, door: Door) -> str:
    """When the version of a table was loaded; empty where nobody wrote it down."""
    versions = service.doors.versions(door.dataset.id)
    return next((facts.loaded for facts in versions if facts.digest == door.digest), "")


def _asked(service: Service, table_id: str, parameters: Parameters) -> Door:
    """The version of a table that an address names, or the saved query in it."""
    saved = word(parameters, "savedquery")
    version = word(parameters, "version") or (unpack(saved).version if saved else "")
    return service.door(table_id, version=version)


def _metadata(door: Door, parameters: Parameters, base: str) -> dict[str, Any]:
    """The metadata of a table: of all its variables, or of those that a selection has."""
    saved, dataset = word(parameters, "savedquery"), door.dataset
    if saved or flag(parameters, "defaultselection"):
        selected = select(door, unpack(saved).wanted if saved else Wanted())
        shown = [cut_dimension(each.dimension, each.codes) for each in selected.chosen]
        return metadata_document(door, shown, selected.contents, base)
    names = [variable.name for variable in dataset.variables]
    lists = {
        any_case(pick.variable, names) or pick.variable: pick.code_list
        for pick in wanted_from_query(parameters).picks
    }
    levels = {name: named_list(door, name, wanted).levels for name, wanted in lists.items()}
    shown = [dimension_of(door, name, levels.get(name, ())) for name in names]
    return metadata_document(door, shown, contents_of(dataset), base)
