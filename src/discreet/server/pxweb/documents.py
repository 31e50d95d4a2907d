"""The JSON of PxWebApi as types: what a generated client gets. The documents are made beside their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, with_config
from pydantic.alias_generators import to_camel

from discreet.server.answer_documents import JsonStatDimension  # noqa: TC001 - pydantic reads it

_camel = with_config(ConfigDict(alias_generator=to_camel))


@dataclass(frozen=True, slots=True)
class PxLink:
    """Where more is told."""

    rel: str
    hreflang: str
    href: str


@dataclass(frozen=True, slots=True)
class PxLanguage:
    """A language."""

    id: str
    label: str


@dataclass(frozen=True, slots=True)
class PxSource:
    """How a source is named."""

    language: str
    text: str


@dataclass(frozen=True, slots=True)
class PxParameter:
    """A setting of a feature."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class PxFeature:
    """Something that the server can do."""

    id: str
    params: list[PxParameter]


@_camel
@dataclass(frozen=True, slots=True)
class PxConfig:
    """What a program must know of the server."""

    api_version: str
    app_version: str
    languages: list[PxLanguage]
    default_language: str
    max_data_cells: int
    max_calls_per_time_window: int
    time_window: int
    license: str
    source_references: list[PxSource]
    default_data_format: str
    data_formats: list[str]
    features: list[PxFeature]


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
@dataclass(frozen=True, slots=True)
class PxPage:
    """Which page of how many."""

    page_number: int
    page_size: int
    total_elements: int
    total_pages: int
    links: list[PxLink]


@dataclass(frozen=True, slots=True)
class PxTables:
    """A page of tables."""

    language: str
    tables: list[PxTable]
    page: PxPage
    links: list[PxLink]


@dataclass(frozen=True, slots=True)
class PxKeywords:
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
@dataclass(frozen=True, slots=True)
class PxExtension:
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
@dataclass(frozen=True, slots=True)
class PxValue:
    """A value of a code list, and the categories in it."""

    code: str
    label: str
    value_map: list[str]


@_camel
@dataclass(frozen=True, slots=True)
class PxCodeList:
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


@_camel
@dataclass(frozen=True, slots=True)
class PxPick:
    """What is selected of one variable: codes or expressions, and the code list that they speak of."""

    variable_code: str
    value_codes: list[str] | None = None
    codelist: str | None = None


@dataclass(frozen=True, slots=True)
class PxPlacement:
    """The order of the variables."""

    heading: list[str] | None = None
    stub: list[str] | None = None


#: What R writes where it means an empty object.
Nothing = Annotated[list[str], Field(max_length=0)]


@dataclass(frozen=True, slots=True)
class PxSelection:
    """A selection, as it is sent."""

    selection: list[PxPick] | None = None
    placement: PxPlacement | Nothing | None = None


@dataclass(frozen=True, slots=True)
class PxSelected:
    """What is understood of a selection, code by code."""

    language: str
    selection: list[PxPick]
    links: list[PxLink]
    placement: PxPlacement | None = None


@_camel
@dataclass(frozen=True, slots=True)
class PxQuery:
    """A query that has an address; `version` is the version of the dataset that answers, where it names one."""

    table_id: str
    selection: PxSelection | None = None
    language: str | None = None
    output_format: str | None = None
    output_format_params: list[str] | None = None
    version: str | None = None
    id: str | None = None


@_camel
@dataclass(frozen=True, slots=True)
class PxSaved:
    """A saved query and its address."""

    language: str
    id: str
    saved_query: PxQuery
    links: list[PxLink]
