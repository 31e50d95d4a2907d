"""PxWebApi 2 at /api/pxweb/v2: the addresses, and what each of them answers.

    GET  /config    /tables    /tables/{id}    /tables/{id}/metadata    /tables/{id}/defaultselection
    GET  /tables/{id}/data    /codelists/{id}    /savedqueries/{id}    /savedqueries/{id}/data    .../selection
    POST /tables/{id}/data    /savedqueries

Comes from: PxWeb's programs. Goes to: a `Door`, and out as JSON or a file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from discreet.errors import BadRequest, NotFound
from discreet.model.cut import cut_dimension
from discreet.server.answer import bearer, conditional, strong_tag
from discreet.server.datasets import usable
from discreet.server.pxweb import data
from discreet.server.pxweb.code_lists import code_list_document, code_lists, dimension_of
from discreet.server.pxweb.contents import contents_of
from discreet.server.pxweb.exchange import PREFIX, PxWebRoute, read_body
from discreet.server.pxweb.expressions import split_list
from discreet.server.pxweb.metadata import link, metadata_document
from discreet.server.pxweb.parameters import flag, read_parameters, word
from discreet.server.pxweb.rate import Buckets
from discreet.server.pxweb.saved import SavedQuery, query_document, read_query, unpack
from discreet.server.pxweb.selection import (
    Wanted,
    any_case,
    named_list,
    select,
    understood,
    wanted_document,
    wanted_from_body,
    wanted_from_query,
)
from discreet.server.pxweb.tables import (
    LARGEST_PAGE,
    PAGE_SIZE,
    config_document,
    read_number,
    table_document,
    tables_document,
)
from discreet.server.wholes import Wholes

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.answer.door import Door, Doors
    from discreet.server.pxweb.parameters import Parameters
    from discreet.server.pxweb.selection import Selected
    from discreet.workspace.options import Options

_OUTPUT = ("outputformat", "outputformatparams")
TableId = Annotated[str, Path(description="The dataset's id.", examples=["census"])]
QueryId = Annotated[str, Path(description="The id of a saved query: the query itself, packed.")]
Sent = Annotated[bytes, Depends(read_body)]


@dataclass(frozen=True, slots=True)
class Shop:
    """What the routes share: the doors, the limits, and the whole tables made a moment ago."""

    doors: Doors
    options: Options
    wholes: Wholes

    def door(self, table_id: str, key: str | None = None) -> Door:
        """The dataset of a table, its id in any case."""
        return self.doors.door(any_case(table_id, self.doors.ids()) or table_id, key)


def pxweb_router(doors: Doors, options: Options) -> APIRouter:
    """The routes under /api/pxweb/v2."""
    shop, buckets = Shop(doors, options, Wholes()), Buckets(options.pxweb_calls)

    async def take_token(request: Request) -> None:
        buckets.take(request.client.host if request.client else "")

    router = APIRouter(
        prefix=PREFIX,
        tags=["pxweb"],
        route_class=PxWebRoute,
        dependencies=[Depends(take_token)],
        include_in_schema=False,
    )
    _add_tables(router, shop)
    _add_data(router, shop)
    _add_saved_queries(router, shop)
    return router


def _add_tables(router: APIRouter, shop: Shop) -> None:
    """What there is."""

    @router.get("/config")
    def config(request: Request) -> Response:
        """What a program must know of the server."""
        read_parameters(request.query_params)
        return _json(config_document(shop.options, [door.dataset for door in usable(shop.doors)]))

    @router.get("/tables")
    def tables(request: Request) -> Response:
        """The tables in which every word of a query occurs, page by page."""
        known = ("query", "pastdays", "includediscontinued", "pagenumber", "pagesize")
        parameters = read_parameters(request.query_params, known)
        if word(parameters, "pastdays"):
            raise BadRequest("When a table was updated is not told here.", "Leave pastDays out.")
        flag(parameters, "includediscontinued")
        number = read_number("pageNumber", word(parameters, "pagenumber"), 1, 10**9)
        size = read_number("pageSize", word(parameters, "pagesize"), PAGE_SIZE, LARGEST_PAGE)
        datasets = [door.dataset for door in usable(shop.doors)]
        return _json(tables_document(datasets, word(parameters, "query"), number, size, _base(request)))

    @router.get("/tables/{table_id}")
    def table(request: Request, table_id: TableId) -> Response:
        """One table in a few words."""
        read_parameters(request.query_params)
        return _json({"language": "en", **table_document(shop.door(table_id).dataset, _base(request))})

    @router.get("/tables/{table_id}/metadata")
    def metadata(request: Request, table_id: TableId) -> Response:
        """The variables of a table, their values and their code lists."""
        known = ("defaultselection", "savedquery", "codelist[]", "outputformat")
        parameters = read_parameters(request.query_params, known)
        if word(parameters, "outputformat").lower() not in {"", data.DEFAULT_FORMAT}:
            raise BadRequest("Metadata is JSON-stat.", f"Write outputFormat={data.DEFAULT_FORMAT}.")
        return _json(_metadata(shop.door(table_id), parameters, _base(request)))

    @router.get("/tables/{table_id}/defaultselection")
    def default_selection(request: Request, table_id: TableId) -> Response:
        """What is answered where nothing is selected."""
        read_parameters(request.query_params)
        door = shop.door(table_id)
        return _json(
            _selection(door, Wanted(), f"{_base(request)}/tables/{door.dataset.id}/defaultselection")
        )

    @router.get("/codelists/{list_id:path}")
    def code_list(request: Request, list_id: str) -> Response:
        """The values of a code list, each with the categories in it."""
        read_parameters(request.query_params)
        found = {
            each.id: (door, each)
            for door in usable(shop.doors)
            for variable in door.dataset.variables
            for each in code_lists(door.dataset, variable.name)
        }
        name = any_case(list_id, found)
        if name is None:
            raise NotFound(f'There is no code list "{list_id}".', "A table's metadata lists its code lists.")
        door, wanted = found[name]
        return _json(
            code_list_document(door, wanted, [link(f"{_base(request)}/codelists/{quote(name)}", "self")])
        )


def _add_data(router: APIRouter, shop: Shop) -> None:
    """The numbers."""

    @router.get("/tables/{table_id}/data")
    def get_data(request: Request, table_id: TableId) -> Response:
        """The numbers that a query string selects; without a selection, a small table."""
        known = ("valuecodes[]", "codelist[]", "heading", "stub", *_OUTPUT)
        parameters = read_parameters(request.query_params, known)
        query = SavedQuery(table_id, wanted_from_query(parameters), *_output(parameters))
        return _answer(request, shop, query)

    @router.post("/tables/{table_id}/data")
    def post_data(request: Request, table_id: TableId, sent: Sent) -> Response:
        """The numbers that a body selects."""
        parameters = read_parameters(request.query_params, _OUTPUT)
        query = SavedQuery(table_id, wanted_from_body(_parsed(sent)), *_output(parameters))
        return _answer(request, shop, query)


def _add_saved_queries(router: APIRouter, shop: Shop) -> None:
    """Queries with an address."""

    @router.post("/savedqueries")
    def save_query(request: Request, sent: Sent) -> Response:
        """The address of a query; nothing is stored."""
        read_parameters(request.query_params)
        query = read_query(_parsed(sent))
        door = shop.door(query.table)
        query = replace(query, table=door.dataset.id)
        select(door, query.wanted)
        data.read_output(query.output_format, query.parameters)
        response = _json(_query(query, _base(request)), 201)
        response.headers["location"] = f"{_base(request)}/savedqueries/{query.id}"
        return response

    @router.get("/savedqueries/{query_id}")
    def saved_query(request: Request, query_id: QueryId) -> Response:
        """A query, unpacked."""
        read_parameters(request.query_params)
        query = unpack(query_id)
        shop.door(query.table)
        return _json(_query(query, _base(request)))

    @router.get("/savedqueries/{query_id}/data")
    def saved_data(request: Request, query_id: QueryId) -> Response:
        """The numbers of a saved query."""
        query = unpack(query_id)
        form, words = _output(read_parameters(request.query_params, _OUTPUT))
        return _answer(
            request,
            shop,
            replace(query, output_format=form or query.output_format, parameters=words or query.parameters),
        )

    @router.get("/savedqueries/{query_id}/selection")
    def saved_selection(request: Request, query_id: QueryId) -> Response:
        """What a saved query selects now, code by code."""
        read_parameters(request.query_params)
        query = unpack(query_id)
        here = f"{_base(request)}/savedqueries/{query_id}/selection"
        return _json(_selection(shop.door(query.table), query.wanted, here))


def _answer(request: Request, shop: Shop, query: SavedQuery) -> Response:
    """Check a selection, and send its numbers to whoever does not have them."""
    output = data.read_output(query.output_format, query.parameters)
    door = shop.door(query.table, bearer(request))
    selected = select(door, query.wanted)
    asked = data.questions(door, selected, output, shop.options.pxweb_cells)
    words = wanted_document(understood(door, selected))
    tag = strong_tag(
        "pxweb", door.digest, door.dataset.id, words, output.name, str(output.csv), _base(request)
    )
    respond = _responder(request, shop, door, selected, output, asked)
    metered = any(question.metered for question in asked.values())
    return conditional(request, tag, respond, metered=metered) if request.method == "GET" else respond()


def _responder(
    request: Request, shop: Shop, door: Door, selected: Selected, output: data.Output, asked: dict[str, Any]
) -> Callable[[], Response]:
    """What makes the response, if it is wanted."""

    def respond() -> Response:
        cuts = data.answer(shop.wholes, door, asked, selected)
        body = data.write(cuts, selected, output, _base(request))
        response = Response(body, media_type=output.media_type)
        response.headers["content-disposition"] = f'inline; filename="{door.dataset.id}.{output.extension}"'
        charges = [release.charged["sentence"] for release in cuts.values() if release.charged]
        if charges:
            response.headers["discreet-charged"] = (
                " ".join(charges).encode("ascii", "backslashreplace").decode()
            )
        return response

    return respond


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


def _selection(door: Door, wanted: Wanted, here: str) -> dict[str, Any]:
    words = wanted_document(understood(door, select(door, wanted)))
    return {"language": "en", **words, "links": [link(here, "self")]}


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


def _base(request: Request) -> str:
    """Where the API starts, without the host: a link never repeats what a reader sent as Host."""
    return f"{request.scope.get('root_path', '')}{PREFIX}"


def _json(document: dict[str, Any], status: int = 200) -> Response:
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    return Response(text.encode(), status, media_type="application/json; charset=utf-8")
