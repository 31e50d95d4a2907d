"""Saved queries that nobody has to keep: the id is the query itself, packed.

    id = base64url(deflate(JSON of the query))

The same query has the same id, an id works on every server that has the table, and nothing grows. A query that is too
long for an address is not saved; it can be asked by POST.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from dataclasses import dataclass
from typing import Any

from discreet.errors import BadRequest, NotFound
from discreet.server.pxweb.wanted import Wanted, wanted_document, wanted_from_body

#: The letters of an id, and the bytes that one may unpack to.
LONGEST_ID, LONGEST_QUERY = 4_000, 200_000


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A query: of which table and version, what of it, in which format."""

    table: str
    wanted: Wanted
    output_format: str = ""
    parameters: tuple[str, ...] = ()
    version: str = ""

    @property
    def id(self) -> str:
        """The query, packed.

        Raises:
            BadRequest: It is too long.
        """
        text = json.dumps(query_document(self), separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        packed = base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
        if len(packed) > LONGEST_ID:
            raise BadRequest(
                "The query is too long to be saved as an address.",
                "Select with * or RANGE(first,last), or ask for it with POST.",
            )
        return packed


def query_document(query: SavedQuery) -> dict[str, Any]:
    """A query as PxWebApi writes it."""
    return {
        "tableId": query.table,
        "language": "en",
        "selection": wanted_document(query.wanted),
        **({"outputFormat": query.output_format} if query.output_format else {}),
        **({"outputFormatParams": list(query.parameters)} if query.parameters else {}),
        **({"version": query.version} if query.version else {}),
    }


def read_query(document: object) -> SavedQuery:
    """A query from JSON.

    Raises:
        BadRequest: It does not have the shape of a query.
    """
    if not isinstance(document, dict) or not isinstance(document.get("tableId"), str):
        raise BadRequest("The query names no table.", 'Send {"tableId": "census", "selection": {...}}.')
    form, version = (_text(document, name) for name in ("outputFormat", "version"))
    parameters = document.get("outputFormatParams")
    if parameters is not None and not (
        isinstance(parameters, list) and all(isinstance(p, str) for p in parameters)
    ):
        raise BadRequest("The output format cannot be read.", 'Send "outputFormatParams": ["UseCodes"].')
    wanted = wanted_from_body(document.get("selection"))
    return SavedQuery(document["tableId"], wanted, form, tuple(parameters or ()), version)


def _text(document: dict[str, Any], name: str) -> str:
    given = document.get(name)
    if given is not None and not isinstance(given, str):
        raise BadRequest(f"{name} cannot be read.", f'Send "{name}" as a text, or leave it out.')
    return given or ""


def unpack(query_id: str) -> SavedQuery:
    """The query of an id.

    Raises:
        NotFound: It is none.
    """
    try:
        packed = base64.b64decode(
            query_id[:LONGEST_ID] + "=" * (-len(query_id) % 4), altchars=b"-_", validate=True
        )
        text = zlib.decompressobj().decompress(packed, LONGEST_QUERY)
        return read_query(json.loads(text))
    except (ValueError, binascii.Error, zlib.error, BadRequest, RecursionError):
        raise NotFound(
            "There is no saved query with this id.", "Save it again with POST /savedqueries."
        ) from None
