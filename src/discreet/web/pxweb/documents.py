"""The JSON of PxWebApi as types, the documents of /config and /tables, and the parameters and responses in OpenAPI.

Names may have any case; the OpenAPI document has one. A test compares the types with the documents. A field with a
default may be missing. The docstrings of the types are a part of the OpenAPI document.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, with_config
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from discreet import __version__
from discreet.errors import NotFound
from discreet.formats import format_by_name
from discreet.formats.writers.json_stat import JsonStatDimension
from discreet.model.dataset import Dataset
from discreet.web.api import openapi
from discreet.web.auth.rate_limit import WINDOW
from discreet.web.negotiation import media_type
from discreet.web.pxweb.metadata import CONTENTS_LABEL, link_object
from discreet.web.pxweb.output import DEFAULT_FORMAT, FORMATS, output_formats
from discreet.web.pxweb.selection_syntax import PxPick, PxPlacement, PxQuery, PxSelection
from discreet.workspace.options import Options

#: The version of the specification; pxwebpy refuses one below 2.0.0.
API_VERSION = "2.0.0"
PAGE_SIZE, LARGEST_PAGE = 20, 10_000
#: About a hundred years.
MOST_DAYS = 36_500
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


def config_document(options: Options, datasets: Iterable[Dataset]) -> dict[str, Any]:
    """The configuration of the server, with its limits."""
    sources = dict.fromkeys(dataset.source for dataset in datasets if dataset.source)
    return {
        "apiVersion": API_VERSION,
        "appVersion": __version__,
        "languages": [{"id": "en", "label": "English"}],
        "defaultLanguage": "en",
        "maxDataCells": options.pxweb_cells,
        "maxCallsPerTimeWindow": options.pxweb_calls,
        "timeWindow": WINDOW,
        "license": options.licence or "",
        "sourceReferences": [{"language": "en", "text": f"Source: {source}"} for source in sources],
        "defaultDataFormat": DEFAULT_FORMAT,
        "dataFormats": output_formats(),
        "features": [{"id": "CORS", "params": [{"key": "enabled", "value": "True"}]}],
    }


def table_document(dataset: Dataset, loaded: str, base: str) -> dict[str, Any]:
    """One dataset as a table; it was updated when its version was loaded, null where that is not recorded."""
    period = dataset.reference_date or None
    here = f"{base}/tables/{dataset.id}"
    return {
        "id": dataset.id,
        "label": dataset.label,
        "description": dataset.description,
        "updated": loaded or None,
        "firstPeriod": period,
        "lastPeriod": period,
        "category": "public",
        "variableNames": [*(variable.label for variable in dataset.variables), CONTENTS_LABEL],
        "discontinued": False,
        "source": dataset.source,
        "subjectCode": dataset.id,
        "timeUnit": "Other",
        "paths": [],
        "links": [
            link_object(here, "self"),
            link_object(f"{here}/metadata", "metadata"),
            link_object(f"{here}/data", "data"),
        ],
    }


def tables_document(
    datasets: Sequence[tuple[Dataset, str]],
    query: str,
    page_number: int,
    page_size: int,
    base: str,
    earliest: str = "",
) -> dict[str, Any]:
    """A page of the tables, with their load times, that contain every word of a query and were loaded since `earliest`."""
    found = [each for each in datasets if _matches(each[0], query) and each[1] >= earliest]
    pages = max(1, -(-len(found) // page_size))
    if page_number > pages:
        raise NotFound(f"There is no page {page_number} of {pages}.", f"Ask for pageNumber=1 to {pages}.")
    start = (page_number - 1) * page_size
    around = {"previous": page_number - 1, "next": page_number + 1}
    return {
        "language": "en",
        "tables": [table_document(*each, base) for each in found[start : start + page_size]],
        "page": {
            "pageNumber": page_number,
            "pageSize": page_size,
            "totalElements": len(found),
            "totalPages": pages,
            "links": [
                link_object(f"{base}/tables?pageNumber={number}&pageSize={page_size}", rel)
                for rel, number in around.items()
                if 1 <= number <= pages and not query and not earliest
            ],
        },
        "links": [link_object(f"{base}/tables", "self")],
    }


def since(days: int) -> str:
    """The time some days ago, in the format of load times."""
    return (datetime.now(UTC) - timedelta(days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _matches(dataset: Dataset, query: str) -> bool:
    names = [text for variable in dataset.variables for text in (variable.name, variable.label)]
    text = " ".join((dataset.id, dataset.label, dataset.description, dataset.source, *names)).casefold()
    return all(word in text for word in query.casefold().split())


#: The problems of every URL: too long, too often, not now.
_ALWAYS = (400, 414, 429, 503)
#: The requirement of URLs that take a key.
WITH_KEY: dict[str, Any] = {"security": openapi.OPTIONAL_KEY}
LANGUAGE = openapi.text_parameter("lang", "The language: `en`, the only one.")
QUERY = openapi.text_parameter("query", "Words that must all occur in a table's label, variables or source.")
PAGING = [
    {**openapi.text_parameter(name, text), "schema": {"type": "integer", "minimum": 1, "maximum": largest}}
    for name, text, largest in (
        ("pageNumber", "Which page.", 10**9),
        ("pageSize", "Tables on a page.", LARGEST_PAGE),
        ("pastDays", "Only tables that were loaded in so many days.", MOST_DAYS),
    )
]


def problems(*further: int) -> dict[int | str, dict[str, Any]]:
    """The problem responses of a URL."""
    return openapi.problem_responses(*sorted({*_ALWAYS, *further}))


def taking(*parameters: dict[str, Any], **further: Any) -> dict[str, Any]:
    """The `openapi_extra` of a URL with these parameters."""
    return {"parameters": [LANGUAGE, *parameters], **further}


def of_version(*parameters: dict[str, Any], **further: Any) -> dict[str, Any]:
    """The same for a URL that takes a version."""
    return taking(*parameters, openapi.version_parameter(), **further)


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
    openapi.text_parameter("heading", "Variables along the top, comma-separated."),
    openapi.text_parameter("stub", "Variables down the side, comma-separated."),
)


def writing() -> list[dict[str, Any]]:
    """The parameters of the output format."""
    return [
        openapi.text_parameter(
            "outputFormat", f"One of {', '.join(output_formats())}; {DEFAULT_FORMAT} if none is named."
        ),
        openapi.text_parameter("outputFormatParams", "How a CSV is written: `UseCodes,SeparatorTab`."),
    ]


def numbers() -> dict[int | str, dict[str, Any]]:
    """The responses of a URL of data."""
    files = {
        media_type(form): {"schema": {"type": "string", **({} if form.is_text else {"format": "binary"})}}
        for form in (format_by_name(FORMATS[name]) for name in output_formats())
    }
    content = files | {
        media_type(format_by_name(FORMATS[DEFAULT_FORMAT])): {"schema": openapi.component_ref(PxStat)}
    }
    return {
        200: {"description": "The numbers that are selected.", "content": content},
        304: {"description": "Not modified: the copy named by If-None-Match still holds."},
        **problems(401, 403, 404, 410),
    }


def body(kind: type[PxSelection | PxQuery], *, required: bool) -> dict[str, Any]:
    """The request body; where it is optional, it may be null."""
    schema = (
        openapi.component_ref(kind)
        if required
        else {"anyOf": [openapi.component_ref(kind), {"type": "null"}]}
    )
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}
