"""SDMX in our OpenAPI: what its routes take and give, and SDMX-JSON as types that a generated client gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Path
from pydantic import ConfigDict, Field, with_config
from pydantic.alias_generators import to_camel

from discreet.formats import named_format
from discreet.server.negotiation import media_type
from discreet.server.openapi import (
    PERHAPS_A_KEY,
    component,
    problem_responses,
    text_parameter,
    version_parameter,
)
from discreet.server.sdmx.data import DATA_FORMATS
from discreet.server.sdmx.structure_xml import MEDIA_TYPE
from discreet.server.sdmx.structures import DEPTH

Kind = Annotated[
    str,
    Path(description="What is asked for.", examples=["dataflow"], json_schema_extra={"enum": list(DEPTH)}),
]
FlowId = Annotated[
    str,
    Path(description="A dataflow: `ID`, `AGENCY,ID` or `AGENCY,ID,VERSION`.", examples=["census-sex-age"]),
]


@dataclass(frozen=True, slots=True)
class SdmxSender:
    """Who sends the data."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class SdmxHeader:
    """Which message it is."""

    id: str
    test: bool
    prepared: str
    sender: SdmxSender


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


@dataclass(frozen=True, slots=True)
class SdmxStructure:
    """What the indices of the observations mean."""

    uri: str
    name: str
    dimensions: SdmxComponents
    attributes: SdmxComponents


@dataclass(frozen=True, slots=True)
class SdmxDataSet:
    """The observations: by the indices of a cell its value, then those of its attributes."""

    action: str
    attributes: list[int | None]
    observations: dict[str, list[float | None]]


@with_config(ConfigDict(alias_generator=to_camel))
@dataclass(frozen=True, slots=True)
class SdmxData:
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


def _parts(*names: str) -> list[dict[str, Any]]:
    """The further parts of an address, which may be left out from the end."""
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": _PARTS[name],
            "schema": {"type": "string"},
        }
        for name in names
    ]


def described_structures(*parts: str) -> dict[str, Any]:
    """What an address of structures takes and gives; `parts` are those of the address after the kind."""
    content = {media_type_of(MEDIA_TYPE): {"schema": {"type": "string", "description": "SDMX-ML 2.1."}}}
    return {
        "responses": {
            200: {"description": "The structures.", "content": content},
            304: {"description": "Not modified: the copy named by If-None-Match still holds."},
            **problem_responses(400, 404, 410, 414, 503),
        },
        "openapi_extra": {
            "parameters": [
                *_parts(*parts),
                text_parameter(
                    "references", "Which related structures come with it: `children`, `all` and so on."
                ),
                text_parameter("detail", "`full`, or stubs."),
                version_parameter(),
            ]
        },
    }


def described_data(*parts: str) -> dict[str, Any]:
    """What an address of data takes and gives; `parts` are those of the address after the dataflow."""
    forms = [named_format(name) for name in DATA_FORMATS]
    content = {
        media_type(form): {"schema": {"type": "string"} if form.name == "sdmx-csv" else component(SdmxData)}
        for form in forms
    }
    return {
        "responses": {
            200: {"description": "The values.", "content": content},
            304: {"description": "Not modified: the copy named by If-None-Match still holds."},
            **problem_responses(400, 401, 403, 404, 410, 414, 503),
        },
        "openapi_extra": {
            "parameters": [
                *_parts(*parts),
                text_parameter("format", f"{' or '.join(DATA_FORMATS)}; without it `Accept` decides."),
                text_parameter("detail", "`full`, the only one."),
                text_parameter("dimensionAtObservation", "`AllDimensions`, the only one."),
                version_parameter(),
            ],
            "security": PERHAPS_A_KEY,
        },
    }


def media_type_of(header: str) -> str:
    """A media type without its parameters, as the keys of OpenAPI have it."""
    return header.partition(";")[0]
