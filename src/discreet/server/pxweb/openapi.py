"""PxWebApi in our OpenAPI: what its routes take and give. Names are read in any case and described in one."""

from __future__ import annotations

from typing import Any

from discreet.formats import named_format
from discreet.server.negotiation import media_type
from discreet.server.openapi import (
    PERHAPS_A_KEY,
    component,
    problem_responses,
    text_parameter,
    version_parameter,
)
from discreet.server.pxweb.data import DEFAULT_FORMAT, FORMATS, offered
from discreet.server.pxweb.documents import PxQuery, PxSelection, PxStat
from discreet.server.pxweb.tables import LARGEST_PAGE, MOST_DAYS

#: What every address may say beside its own problems: too long, too often, not now.
_ALWAYS = (400, 414, 429, 503)

LANGUAGE = text_parameter("lang", "The language: `en`, the only one.")
QUERY = text_parameter("query", "Words that must all occur in a table's label, variables or source.")


def problems(*further: int) -> dict[int | str, dict[str, Any]]:
    """The problems of an address."""
    return problem_responses(*sorted({*_ALWAYS, *further}))


def taking(*parameters: dict[str, Any], **further: Any) -> dict[str, Any]:
    """What an address takes, as `openapi_extra`."""
    return {"parameters": [LANGUAGE, *parameters], **further}


def of_version(*parameters: dict[str, Any], **further: Any) -> dict[str, Any]:
    """The same, of an address that a version of the dataset can be asked from."""
    return taking(*parameters, version_parameter(), **further)


def paging() -> list[dict[str, Any]]:
    """Which page of which tables."""
    return [
        _whole_number("pageNumber", "Which page.", 10**9),
        _whole_number("pageSize", "Tables on a page.", LARGEST_PAGE),
        _whole_number("pastDays", "Only tables that were loaded in so many days.", MOST_DAYS),
    ]


def by_variable(name: str, meaning: str) -> dict[str, Any]:
    """A parameter that is given for a variable: `valueCodes[sex]=1,2`."""
    schema = {"type": "object", "additionalProperties": {"type": "string"}}
    return {
        "name": name,
        "in": "query",
        "description": meaning,
        "style": "deepObject",
        "explode": True,
        "schema": schema,
    }


def selecting() -> list[dict[str, Any]]:
    """A selection in an address."""
    return [
        by_variable("valueCodes", "The values of a variable: `1,2`, `*`, `TOP(3)`, `RANGE(a,b)` and so on."),
        by_variable("codelist", "The code list that the values of a variable are of."),
        text_parameter("heading", "Variables along the top, comma-separated."),
        text_parameter("stub", "Variables down the side, comma-separated."),
    ]


def writing() -> list[dict[str, Any]]:
    """The format of the numbers."""
    return [
        text_parameter("outputFormat", f"One of {', '.join(offered())}; {DEFAULT_FORMAT} if none is named."),
        text_parameter("outputFormatParams", "How a CSV is written: `UseCodes,SeparatorTab`."),
    ]


def numbers() -> dict[int | str, dict[str, Any]]:
    """The numbers of a selection, not modified, or a problem."""
    files = {
        media_type(form): {"schema": {"type": "string", **({} if form.is_text else {"format": "binary"})}}
        for form in (named_format(FORMATS[name]) for name in offered())
    }
    content = files | {media_type(named_format(FORMATS[DEFAULT_FORMAT])): {"schema": component(PxStat)}}
    return {
        200: {"description": "The numbers that are selected.", "content": content},
        304: {"description": "Not modified: the copy named by If-None-Match still holds."},
        **problems(401, 403, 404, 410),
    }


def body(kind: type[PxSelection | PxQuery], *, required: bool) -> dict[str, Any]:
    """What is sent to an address; null is nothing, where nothing need be sent."""
    schema = component(kind) if required else {"anyOf": [component(kind), {"type": "null"}]}
    return {"requestBody": {"required": required, "content": {"application/json": {"schema": schema}}}}


def with_key() -> dict[str, Any]:
    """That a key may be sent."""
    return {"security": PERHAPS_A_KEY}


def _whole_number(name: str, meaning: str, largest: int) -> dict[str, Any]:
    return {
        **text_parameter(name, meaning),
        "schema": {"type": "integer", "minimum": 1, "maximum": largest},
    }
