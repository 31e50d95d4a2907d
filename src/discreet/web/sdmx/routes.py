"""SDMX REST 2.1 at /api/sdmx: structures as SDMX-ML, data as SDMX-JSON or SDMX-CSV.

    GET /dataflow|datastructure|conceptscheme|codelist/{agency}/{id}/{version}?references=..&detail=..
    GET /data/{flow}/{key}/{provider}

Parts of a path may be left out from the end. The types below describe SDMX-JSON in the OpenAPI document, their docstrings
included; a test compares them with `formats/writers/sdmx_data.py`.

Source: https://github.com/sdmx-twg/sdmx-rest, tag v1.5.0, which is the web service of SDMX 2.1.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from pydantic import ConfigDict, Field, with_config
from pydantic.alias_generators import to_camel
from starlette.responses import Response
from typing_extensions import TypedDict

from discreet.errors import BadRequest, UnknownFormat
from discreet.formats import Format, format_by_name
from discreet.model.file_io import gather
from discreet.model.messages.text import nearest
from discreet.release.dataset_registry import DatasetRegistry, DatasetService
from discreet.web import responses
from discreet.web.api import openapi
from discreet.web.api.dataset_documents import open_datasets
from discreet.web.negotiation import media_type
from discreet.web.sdmx import dataflows
from discreet.web.sdmx.dataflows import DATA_FORMATS, DataQuery
from discreet.web.sdmx.structures import DEPTH, MEDIA_TYPE, Query, find_structures, structure_message
from discreet.web.urls import read_word, refuse_unknown

Kind = Annotated[
    str,
    Path(description="What is asked for.", examples=["dataflow"], json_schema_extra={"enum": list(DEPTH)}),
]
FlowId = Annotated[
    str,
    Path(description="A dataflow: `ID`, `AGENCY,ID` or `AGENCY,ID,VERSION`.", examples=["census-sex-age"]),
]


class SdmxHeader(TypedDict):
    """Which message it is."""

    id: str
    test: bool
    prepared: str
    sender: dict[str, str]


@dataclass(frozen=True, slots=True)
class SdmxValue:
    """A code or a text that occurs."""

    name: str
    id: str | None = None


@with_config(ConfigDict(alias_generator=to_camel))
@dataclass(frozen=True, slots=True)
class SdmxComponent:
    """A dimension or an attribute, and its values in the order of their indices."""

    id: str
    name: str
    values: list[SdmxValue]
    key_position: int | None = None


@dataclass(frozen=True, slots=True)
class SdmxComponents:
    """Components by what they belong to."""

    data_set: Annotated[list[SdmxComponent], Field(alias="dataSet")]
    series: list[SdmxComponent]
    observation: list[SdmxComponent]


class SdmxStructure(TypedDict):
    """What the indices of the observations mean."""

    uri: str
    name: str
    dimensions: SdmxComponents
    attributes: SdmxComponents


class SdmxDataSet(TypedDict):
    """The observations: by the indices of a cell its value, then those of its attributes."""

    action: str
    attributes: list[int | None]
    observations: dict[str, list[float | None]]


@with_config(ConfigDict(alias_generator=to_camel))
class SdmxData(TypedDict):
    """Data as SDMX-JSON."""

    header: SdmxHeader
    structure: SdmxStructure
    data_sets: list[SdmxDataSet]


_PARTS = {
    "key": "Codes by dimension, as in `1.20-24`; `all` for everything.",
    "provider": "Looked at by nobody: there is one.",
    "agency": "Looked at by nobody: there is one.",
    "id": "Of the structure; `all` for every one.",
    "version": "Of the structure; `latest` for the newest.",
}


def structure_spec(*parts: str) -> dict[str, Any]:
    """The OpenAPI description of a structure URL; `parts` are those of its path after the kind."""
    content = {MEDIA_TYPE.partition(";")[0]: {"schema": {"type": "string", "description": "SDMX-ML 2.1."}}}
    parameters = {
        "references": "Which related structures come with it: `children`, `all` and so on.",
        "detail": "`full`, or stubs.",
    }
    return _spec(parts, parameters, "The structures.", content, (400, 404, 410, 414, 503))


def data_spec(*parts: str) -> dict[str, Any]:
    """The OpenAPI description of a data URL; `parts` are those of its path after the dataflow."""
    csv, document = {"type": "string"}, openapi.component_ref(SdmxData)
    content = {
        media_type(format_by_name(name)): {"schema": csv if name == "sdmx-csv" else document}
        for name in DATA_FORMATS
    }
    parameters = {
        "format": f"{' or '.join(DATA_FORMATS)}; without it `Accept` decides.",
        "detail": "`full`, the only one.",
        "dimensionAtObservation": "`AllDimensions`, the only one.",
    }
    spec = _spec(parts, parameters, "The values.", content, (400, 401, 403, 404, 410, 414, 503))
    spec["openapi_extra"]["security"] = openapi.OPTIONAL_KEY
    return spec


def _spec(
    parts: Iterable[str],
    parameters: dict[str, str],
    description: str,
    content: dict[str, Any],
    problems: Iterable[int],
) -> dict[str, Any]:
    """Responses, parts of the path (which may be left out from the end) and parameters of a URL."""
    in_path = [
        {**openapi.text_parameter(name, _PARTS[name]), "in": "path", "required": True} for name in parts
    ]
    in_query = [openapi.text_parameter(name, text) for name, text in parameters.items()]
    return {
        "responses": {
            200: {"description": description, "content": content},
            304: {"description": "Not modified: the copy named by If-None-Match still holds."},
            **openapi.problem_responses(*problems),
        },
        "openapi_extra": {"parameters": [*in_path, *in_query, openapi.version_parameter()]},
    }


_STRUCTURE_PARAMETERS = ("references", "detail")
_DATA_PARAMETERS = ("format", "detail", "dimensionAtObservation", "version")


def sdmx_router(registry: DatasetRegistry) -> APIRouter:
    """The routes under /api/sdmx."""
    router = APIRouter(prefix="/api/sdmx", tags=["sdmx"])

    @router.get("/data/{flow}", response_class=Response, **data_spec())
    @router.get("/data/{flow}/{key}", response_class=Response, **data_spec("key"))
    @router.get("/data/{flow}/{key}/{provider}", response_class=Response, **data_spec("key", "provider"))
    def data(request: Request, flow: FlowId) -> Response:
        """Values of a dataflow: the cells of one protected table that a key names."""
        return _data(registry, request, flow)

    @router.get("/{kind}", response_class=Response, **structure_spec())
    @router.get("/{kind}/{agency}", response_class=Response, **structure_spec("agency"))
    @router.get("/{kind}/{agency}/{id}", response_class=Response, **structure_spec("agency", "id"))
    @router.get(
        "/{kind}/{agency}/{id}/{version}",
        response_class=Response,
        **structure_spec("agency", "id", "version"),
    )
    def structure(request: Request, kind: Kind) -> Response:
        """Dataflows, data structures, concepts and code lists, as SDMX-ML."""
        return _structure(registry, request, kind)

    return router


def _structure(registry: DatasetRegistry, request: Request, kind: str) -> Response:
    refuse_unknown(request.query_params, (*_STRUCTURE_PARAMETERS, "version"))
    registry = registry.at(read_word(request.query_params, "version"))
    parts = {name: text for name, text in request.path_params.items() if name in {"id", "version"}}
    words = {name: read_word(request.query_params, name) for name in _STRUCTURE_PARAMETERS}
    query = Query(kind, **parts, **{name: word for name, word in words.items() if word})
    found = find_structures(registry, query)
    tag = responses.strong_etag("sdmx", str(query), [service.edition for service in open_datasets(registry)])
    return responses.conditional(
        request, tag, lambda: Response(structure_message(found), media_type=MEDIA_TYPE)
    )


def _data(registry: DatasetRegistry, request: Request, flow: str) -> Response:
    refuse_unknown(request.query_params, _DATA_PARAMETERS)
    for name, only in (("detail", "full"), ("dimensionAtObservation", "AllDimensions")):
        if read_word(request.query_params, name) not in {"", only}:
            raise BadRequest(f"{name} is offered as {only} only.", f"Write {name}={only}, or leave it out.")
    form = _format(request)
    registry = registry.at(read_word(request.query_params, "version"))
    service, described = dataflows.open_flow(registry, flow)
    query = dataflows.parse_data_query(service, described, request.path_params.get("key", "all"))
    tag = responses.etag_of(query.checked, form.name, described.flow.reference, sorted(query.wanted.items()))
    response = responses.conditional(
        request, tag, lambda: _answer(request, service, query, form), metered=query.checked.metered
    )
    response.headers["vary"] = "Accept"
    return response


def _answer(request: Request, service: DatasetService, query: DataQuery, form: Format) -> Response:
    if responses.is_head():
        return responses.headers_only(service, [query.checked.request], form.media_type)
    release = service.answer(query.checked)
    response = responses.document_response(
        request, gather(dataflows.document(release, query, form)), form.media_type
    )
    responses.add_charge_header(response, [release])
    return response


def _format(request: Request) -> Format:
    named = read_word(request.query_params, "format")
    if named and named not in DATA_FORMATS:
        raise UnknownFormat(f'SDMX data has no format "{named}".', nearest(named, DATA_FORMATS))
    return format_by_name(named) if named else dataflows.choose_data_format(request.headers.get("accept", ""))
