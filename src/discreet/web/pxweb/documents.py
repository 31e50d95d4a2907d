"""PxWebApi in the OpenAPI document: its JSON as types, its parameters and its responses.

Names may have any case; the document has one. A test compares the types with the documents of the other modules. A
field with a default may be missing. The docstrings of the types are a part of the OpenAPI document.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, with_config
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from discreet.formats import format_by_name
from discreet.formats.json_stat import JsonStatDimension
from discreet.web.api.openapi import (
    OPTIONAL_KEY,
    component_ref,
    problem_responses,
    text_parameter,
    version_parameter,
)
from discreet.web.negotiation import media_type
from discreet.web.pxweb.output import DEFAULT_FORMAT, FORMATS, output_formats
from discreet.web.pxweb.selection_syntax import PxPick, PxPlacement, PxQuery, PxSelection
from discreet.web.pxweb.table_list import LARGEST_PAGE, MOST_DAYS

_camel = with_config(ConfigDict(alias_generator=to_camel))


class PxLink(TypedDict):
    """Where more is told."""

    rel: str
    hreflang: str
    href: str


@_camel
class PxConfig(TypedDict):
    """What a program must know of the server."""

    api_version: str
    app_version: str
    languages: list[dict[str, str]]
    default_language: str
    max_data_cells: int
    max_calls_per_time_window: int
    time_window: int
    license: str
    source_references: list[dict[str, str]]
    default_data_format: str
    data_formats: list[str]
    features: list[dict[str, str | list[dict[str, str]]]]


@_camel
@dataclass(frozen=True, slots=True)
class PxTable:
    """A dataset in a few words."""

    id: str
    label: str
    description: str
    updated: str | None
    first_period: str | None
    last_period: str | None
    category: str
    variable_names: list[str]
    discontinued: bool
    source: str
    subject_code: str
    time_unit: str
    paths: list[str]
    links: list[PxLink]
    language: str = "en"


@_camel
class PxPage(TypedDict):
    """Which page of how many."""

    page_number: int
    page_size: int
    total_elements: int
    total_pages: int
    links: list[PxLink]


class PxTables(TypedDict):
    """A page of tables."""

    language: str
    tables: list[PxTable]
    page: PxPage
    links: list[PxLink]


class PxKeywords(TypedDict):
    """What PxWeb calls by the keywords of a PX file."""

    tableid: str
    matrix: str
    decimals: int
    language: str
    aggregallowed: bool
    contents: str
    description: str
    heading: list[str]
    stub: list[str]


@_camel
class PxExtension(TypedDict):
    """What is told beside JSON-stat; of numbers also what our own JSON-stat tells."""

    note_mandatory: dict[str, bool]
    px: PxKeywords


@dataclass(frozen=True, slots=True)
class PxStat:
    """JSON-stat 2.0 in PxWeb's profile: metadata without values, or the numbers of a selection."""

    version: Literal["2.0"]
    kind: Annotated[Literal["dataset"], Field(alias="class")]
    label: str
    source: str
    note: list[str]
    role: dict[str, list[str]]
    id: list[str]
    size: list[int]
    dimension: dict[str, JsonStatDimension]
    value: list[float | None]
    extension: PxExtension
    status: dict[str, str] | None = None


@_camel
class PxValue(TypedDict):
    """A value of a code list, and the categories in it."""

    code: str
    label: str
    value_map: list[str]


@_camel
class PxCodeList(TypedDict):
    """A code list."""

    id: str
    label: str
    language: str
    languages: list[str]
    type: Literal["Aggregation", "Valueset"]
    elimination: bool
    elimination_value_code: str
    values: list[PxValue]
    links: list[PxLink]


@dataclass(frozen=True, slots=True)
class PxSelected:
    """What is understood of a selection, code by code."""

    language: str
    selection: list[PxPick]
    links: list[PxLink]
    placement: PxPlacement | None = None


@_camel
class PxSaved(TypedDict):
    """A saved query and its address."""

    language: str
    id: str
    saved_query: PxQuery
    links: list[PxLink]


#: The problems of every URL: too long, too often, not now.
_ALWAYS = (400, 414, 429, 503)
#: The requirement of URLs that take a key.
WITH_KEY: dict[str, Any] = {"security": OPTIONAL_KEY}
LANGUAGE = text_parameter("lang", "The language: `en`, the only one.")
QUERY = text_parameter("query", "Words that must all occur in a table's label, variables or source.")
PAGING = [
    {**text_parameter(name, text), "schema": {"type": "integer", "minimum": 1, "maximum": largest}}
    for name, text, largest in (
        ("pageNumber", "Which page.", 10**9),
        ("pageSize", "Tables on a page.", LARGEST_PAGE),
        ("pastDays", "Only tables that were loaded in so many days.", MOST_DAYS),
    )
]


def problems(*further: int) -> dict[int | str, dict[str, Any]]:
    """The problem responses of a URL."""
    return problem_responses(*sorted({*_ALWAYS, *further}))


def taking(*parameters: dict[str, Any], **further: Any) -> dict[str, Any]:
    """The `openapi_extra` of a URL with these parameters."""
    return {"parameters": [LANGUAGE, *parameters], **further}


def of_version(*parameters: dict[str, Any], **further: Any) -> dict[str, Any]:
    """The same for a URL that takes a version."""
    return taking(*parameters, version_parameter(), **further)


def by_variable(name: str, description: str) -> dict[str, Any]:
    """A parameter per variable: `valueCodes[sex]=1,2`."""
    return {
        "name": name,
        "in": "query",
        "description": description,
        "style": "deepObject",
        "explode": True,
        "schema": {"type": "object", "additionalProperties": {"type": "string"}},
    }


SELECTING = (
    by_variable("valueCodes", "The values of a variable: `1,2`, `*`, `TOP(3)`, `RANGE(a,b)` and so on."),
    by_variable("codelist", "The code list that the values of a variable are of."),
    text_parameter("heading", "Variables along the top, comma-separated."),
    text_parameter("stub", "Variables down the side, comma-separated."),
)


def writing() -> list[dict[str, Any]]:
    """The parameters of the output format."""
    return [
        text_parameter(
            "outputFormat", f"One of {', '.join(output_formats())}; {DEFAULT_FORMAT} if none is named."
        ),
        text_parameter("outputFormatParams", "How a CSV is written: `UseCodes,SeparatorTab`."),
    ]


def numbers() -> dict[int | str, dict[str, Any]]:
    """The responses of a URL of data."""
    files = {
        media_type(form): {"schema": {"type": "string", **({} if form.is_text else {"format": "binary"})}}
        for form in (format_by_name(FORMATS[name]) for name in output_formats())
    }
    content = files | {media_type(format_by_name(FORMATS[DEFAULT_FORMAT])): {"schema": component_ref(PxStat)}}
    return {
        200: {"description": "The numbers that are selected.", "content": content},
        304: {"description": "Not modified: the copy named by If-None-Match still holds."},
        **problems(401, 403, 404, 410),
    }


def body(kind: type[PxSelection | PxQuery], *, required: bool) -> dict[str, Any]:
    """The request body; where it is optional, it may be null."""
    schema = component_ref(kind) if required else {"anyOf": [component_ref(kind), {"type": "null"}]}
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}
