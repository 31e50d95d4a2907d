"""Check a request, tag its answer (ETag), and send the answer only to readers who do not have it.

A release never changes: it is a pure function of the stored version and the canonical request. So its strong
ETag follows from the question alone,

    ETag = SHA-256(digest, canonical request with its layout, format, version of Discreet, root of the links, language)
    of a page also its own address,

and a reader who has the table already gets 304 before a single record is read. An answer that lasts (it was allowed
to anybody who may ask, and charged to nobody) is kept under its ETag (`kept_answers`): the question is checked for whoever
asks, and then nothing is counted.

What every response with a release has: the charge in a header, and for HEAD nothing but headers.

A document in pieces over HTTP: sent while it is made, and never so that half of it looks whole.

A document of at most `WHOLE` bytes is made and sent at once, with its length, and may be kept (`kept_answers`). A larger
one goes out in chunks: where its making fails, the last chunk is never sent, the connection is cut, and every client
sees that. HTTP/1.0, which some proxies still speak, has no chunks, and there the end of the connection is the end of the
document: it is made whole in a temporary file first and sent with its length.

Source: RFC 9112, sections 7.1 and 8.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from discreet import __version__
from discreet.errors import UnknownCategory
from discreet.model.file_io import measure_size
from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.dataset_service import DatasetService
from discreet.web.cache import ACCOUNT, ALWAYS, SLIP, CachedResponse, ResponseCache
from discreet.web.i18n.messages import request_language
from discreet.web.query import explain_plus, read_word
from discreet.web.transfer import is_head
from discreet.web.urls import is_for_programs, site_url, strip_root

#: Anybody may keep a copy, and asks whether it still holds: a new version may have been loaded. Of an answer to an account
#: `access/identity` makes it private.
CACHE_CONTROL = "public, max-age=0, must-revalidate"
JSON = "application/json; charset=utf-8"


def as_json(document: Any, status: int = 200) -> Response:
    """A document as a response."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    return Response(text.encode(), status, media_type=JSON)


def open_service(doors: DatasetRegistry, request: Request, dataset_id: str) -> DatasetService:
    """The door of the version that an address names; of the one that is served, where it names none."""
    return doors.door(dataset_id, version=read_word(request.query_params, "version"))


def check_request(
    door: DatasetService, request: TableRequest, how: Callable[[TableRequest], CheckedRequest] | None = None
) -> CheckedRequest:
    """Check a request against its dataset and the rules of shape; nothing is counted yet.

    Args:
        door: Of the dataset.
        request: What is asked.
        how: What checks it, if it is not the door's own way.

    Raises:
        BadRequest, UnknownVariable, UnknownCategory: The request cannot be read.
        Refused: A rule does not allow it.
    """
    try:
        return (how or door.check)(request)
    except UnknownCategory as error:
        raise explain_plus(error, request) from None


def etag_of(question: CheckedRequest, *presentation: object) -> str:
    """The ETag of the answer to a question in one presentation."""
    asked = question.request
    return strong_etag(
        question.digest, question.dataset.wording, asked.dataset, asked.to_query(), *presentation
    )


def strong_etag(*parts: object) -> str:
    """A strong ETag of everything that decides a response.

    >>> strong_etag("digest", "csv") == strong_etag("digest", "csv") != strong_etag("digest", "json")
    True
    """
    text = json.dumps([__version__, site_url().root, *_spoken_at(), *parts], ensure_ascii=True)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def _spoken_at() -> list[object]:
    """The language and, of a page, its own address: the menu of languages names it, and links keep a chosen language."""
    now = request_language()
    if is_for_programs(strip_root(now.path)):
        return [now.language.code, now.chosen]
    return [now.language.code, now.chosen, site_url().base, now.path, now.query]


def conditional(
    request: Request,
    tag: str,
    respond: Callable[[], Response],
    *,
    metered: bool = False,
    lasting: bool = False,
    lasts: float = ALWAYS,
    vary: str = "",
) -> Response:
    """304 when the reader's copy is this one; otherwise make the response and tag it.

    Args:
        request: What was asked.
        tag: The strong ETag of the answer.
        respond: Makes the answer.
        metered: Whether it may be charged to the account that asks: then no copy is kept.
        lasting: Whether it is a pure function of what its tag was made of: then the server keeps it under its tag.
        lasts: For how many seconds it may leave again before it is asked anew: where more than the version and the
            request decides it, `MOMENT`.
        vary: The request's headers that chose the answer, beside the address.
    """
    headers = {"etag": tag, "cache-control": "private, no-store" if metered else CACHE_CONTROL}
    headers |= {"vary": vary} if vary else {}
    if _has(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=headers)
    own_page = bool(request.scope.get(ACCOUNT)) and not is_for_programs(strip_root(request.url.path))
    lasting = (
        lasting and not metered and not is_head(request) and not own_page
    )  # a page may speak to an account
    response = _document(request.app.state.kept, tag, respond) if lasting else respond()
    response.headers.update(headers)
    if lasting and SLIP in request.scope:
        request.scope[SLIP].lasts = lasts
    return response


def _document(kept: ResponseCache, tag: str, respond: Callable[[], Response]) -> Response:
    """The document under a tag: made once, by one thread, and kept where it is whole."""
    with kept.turns.alone(tag):
        found = kept.find_document(tag)
        if found is not None:
            again = Response(found.body)
            again.raw_headers = list(found.headers)
            return again
        response = respond()
        if response.status_code == 200 and not isinstance(response, StreamingResponse):
            kept.keep_document(tag, CachedResponse(tuple(response.raw_headers), bytes(response.body)))
        return response


def _has(if_none_match: str, tag: str) -> bool:
    """Whether a list of ETags names this one; a proxy may have weakened it.

    A `*` is not taken: whether there is a table at all may be known only after the rules looked at it.
    """
    named = {item.strip().removeprefix("W/") for item in if_none_match.split(",")}
    return tag in named


#: The header that tells an account what it was charged for an answer.
CHARGED = "discreet-charged"


def headers_only(door: DatasetService, requests: Iterable[TableRequest], media_type: str) -> Response:
    """What HEAD needs of tables: whether there are any. Nothing is charged and no document is made.

    Raises:
        Refused: As GET would.
    """
    for request in requests:
        door.refuse_unreleased(request)
    response = Response(media_type=media_type)
    del response.headers["content-length"]  # of a document that was not made
    return response


def add_charge_header(response: Response, releases: Iterable[Release]) -> None:
    """Tell whoever asked what was charged: the document is the same for everybody."""
    told = [release.charged["sentence"] for release in releases if release.charged is not None]
    if told:
        response.headers[CHARGED] = " ".join(told).encode("ascii", "backslashreplace").decode()


#: A document of so many bytes is sent in one piece.
WHOLE = 1_000_000


def document_response(request: Request, pieces: Iterator[bytes], media_type: str) -> Response:
    """The response that holds a document."""
    made, size = [], 0
    for piece in pieces:
        made.append(piece)
        size += len(piece)
        if size > WHOLE:
            break
    else:
        return Response(b"".join(made), media_type=media_type)
    whole: Iterator[bytes] = chain(made, pieces)
    headers = {}
    if request.scope["http_version"] == "1.0":
        size, whole = measure_size(whole)
        headers["content-length"] = str(size)
    return StreamingResponse(whole, media_type=media_type, headers=headers)
