"""Check a request, tag its answer (ETag), and send the answer only to readers who do not have it.

A release never changes: it is a pure function of the stored version and the canonical request. So its strong
ETag follows from the question alone,

    ETag = SHA-256(digest, canonical request with its layout, format, version of Discreet, root of the links),

and a reader who has the table already gets 304 before a single record is read.

Comes from: `query`. Goes to: `api_routes` and `pages`.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from starlette.responses import Response

from discreet import __version__
from discreet.errors import UnknownCategory
from discreet.server.address import here
from discreet.server.query import explain_plus, read_word

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from discreet.answer.door import Door, Doors
    from discreet.answer.question import Question
    from discreet.model.request import TableRequest

#: Anybody may keep a copy, and asks whether it still holds: a new version may have been loaded.
CACHE_CONTROL = "public, max-age=0, must-revalidate"


def asked_door(doors: Doors, request: Request, dataset_id: str, key: str | None = None) -> Door:
    """The door of the version that an address names; of the one that is served, where it names none."""
    return doors.door(dataset_id, key, read_word(request.query_params, "version"))


def check(door: Door, request: TableRequest) -> Question:
    """Check a request against its dataset and the rules of shape; nothing is counted yet.

    Raises:
        BadRequest, UnknownVariable, UnknownCategory: The request cannot be read.
        Refused: A rule does not allow it.
    """
    try:
        return door.check(request)
    except UnknownCategory as error:
        raise explain_plus(error, request) from None


def tag_of(question: Question, *presentation: object) -> str:
    """The ETag of the answer to a question in one presentation."""
    asked = question.request
    return strong_tag(question.digest, asked.dataset, asked.to_query(), *presentation)


def strong_tag(*parts: object) -> str:
    """A strong ETag of everything that decides a response.

    >>> strong_tag("digest", "csv") == strong_tag("digest", "csv") != strong_tag("digest", "json")
    True
    """
    text = json.dumps([__version__, here().root, *parts], ensure_ascii=True)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def bearer(request: Request) -> str | None:
    """The API key of a request: `Authorization: Bearer KEY`."""
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    return key.strip() if kind.lower() == "bearer" else None


def conditional(
    request: Request,
    tag: str,
    respond: Callable[[], Response],
    *,
    metered: bool = False,
    vary: str = "",
) -> Response:
    """304 when the reader's copy is this one; otherwise make the response and tag it.

    Args:
        request: What was asked.
        tag: The strong ETag of the answer.
        respond: Makes the answer.
        metered: Whether it may be charged to the account that asks: then no copy is kept.
        vary: The request's headers that chose the answer, beside the address.
    """
    headers = {"etag": tag, "cache-control": _cache_control(request, metered=metered)}
    headers |= {"vary": vary} if vary else {}
    if _has(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=headers)
    response = respond()
    response.headers.update(headers)
    return response


def _cache_control(request: Request, *, metered: bool) -> str:
    """Who may keep a copy; what was asked with a key is for the asker alone."""
    if metered:
        return "private, no-store"
    return CACHE_CONTROL if bearer(request) is None else CACHE_CONTROL.replace("public", "private")


def _has(if_none_match: str, tag: str) -> bool:
    """Whether a list of ETags names this one; a proxy may have weakened it.

    A `*` is not taken: whether there is a table at all may be known only after the rules looked at it.
    """
    named = {item.strip().removeprefix("W/") for item in if_none_match.split(",")}
    return tag in named
