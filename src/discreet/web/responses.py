"""Responses of routes: conditional requests (ETag), JSON, documents that are streamed; what the router does for every route.

A release is a pure function of the stored version and the canonical request. Its strong ETag follows from version, request,
format, view, version of Discreet, root of the links and language (of a page also from its own URL), so a reader who has the
table gets 304 before any record is read. Source: RFC 9110, section 13.1.2.

A document of more than `WHOLE` bytes is sent in chunks while it is written. If writing fails, the last chunk is never sent
and every client sees an incomplete response. HTTP/1.0 has no chunks: the document is written to a temporary file first and
sent with its length. Source: RFC 9112, sections 7.1 and 8.

`RouteDispatcher` serves all routes: it answers with the refusal of a middleware, serves HEAD, turns unexpected errors into
500, and notes the route for the audit log. The headers of every response are in `response_headers`.
"""

import hashlib
import json
import logging
import secrets
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from discreet import __version__
from discreet.errors import DiscreetError, UnknownCategory
from discreet.model.file_io import measure_size
from discreet.model.messages.text import message
from discreet.model.release import Release
from discreet.model.request import TableRequest
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry, DatasetService
from discreet.web.cache import ALWAYS, release_key
from discreet.web.context import HttpMiddleware, request_context
from discreet.web.i18n.translation import request_language
from discreet.web.negotiation import matches_etag
from discreet.web.urls import explain_plus, is_for_programs, read_word, site_url, strip_root

#: Shared caches may store a copy and must revalidate it: a new version may have been loaded. `auth.identity` makes responses
#: to accounts private.
CACHE_CONTROL = "public, max-age=0, must-revalidate"
JSON = "application/json; charset=utf-8"
#: The header that reports a charge to the account.
CHARGED = "discreet-charged"
#: A document of up to this many bytes is sent at once, with its length.
WHOLE = 1_000_000


def as_json(document: Any, status: int = 200) -> Response:
    """A document as JSON."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False)
    return Response(text.encode(), status, media_type=JSON)


def no_store(response: Response) -> Response:
    """The response, marked so that no cache stores it."""
    response.headers["cache-control"] = "no-store"
    return response


def open_service(registry: DatasetRegistry, request: Request, dataset_id: str) -> DatasetService:
    """The service of the version that a URL names; by default of the current version."""
    return registry.open(dataset_id, version=read_word(request.query_params, "version"))


def check_request(
    service: DatasetService,
    request: TableRequest,
    how: Callable[[TableRequest], CheckedRequest] | None = None,
) -> CheckedRequest:
    """Check a request against its dataset and the rules on dimensions; nothing is counted yet."""
    try:
        return (how or service.check)(request)
    except UnknownCategory as error:
        raise explain_plus(error, request) from None


def etag_of(checked: CheckedRequest, *presentation: object) -> str:
    """The ETag of the response to a checked request in one presentation."""
    return strong_etag(*release_key(checked), *presentation)


def strong_etag(*parts: object) -> str:
    """A strong ETag of everything that determines a response.

    >>> strong_etag("digest", "csv") == strong_etag("digest", "csv") != strong_etag("digest", "json")
    True
    """
    language = request_language()
    where: list[object] = [language.language.code, language.chosen]
    if not is_for_programs(strip_root(language.path)):  # a page links to itself in other languages
        where += [site_url().base, language.path, language.query]
    text = json.dumps([__version__, site_url().root, *where, *parts], ensure_ascii=True)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


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
    """304 if the reader has a current copy, otherwise the response that `respond` creates, with its strong ETag.

    A `metered` response may be charged to the account: no cache may store it. A `lasting` one follows from its ETag alone:
    the response cache may store it for `lasts` seconds (`MOMENT` if more than version and request determine it). `vary`
    names the request headers that selected it.
    """
    headers = {"etag": tag, "cache-control": "private, no-store" if metered else CACHE_CONTROL}
    headers |= {"vary": vary} if vary else {}
    if matches_etag(request.headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers=headers)
    response = respond()
    response.headers.update(headers)
    if lasting and not metered:
        request_context().cache_seconds = lasts
    return response


def is_head() -> bool:
    """Whether the current request asks for headers only."""
    return request_context().is_head


def headers_only(service: DatasetService, requests: Iterable[TableRequest], media_type: str) -> Response:
    """The response to HEAD for tables, refused as GET would be. Nothing is charged and no document is written."""
    for request in requests:
        service.refuse_unreleased(request)
    response = Response(media_type=media_type)
    del response.headers["content-length"]  # the length of the document is unknown
    return response


def add_charge_header(response: Response, releases: Iterable[Release]) -> None:
    """Report charges in a header: the document is the same for all readers."""
    charges = [release.charged["sentence"] for release in releases if release.charged is not None]
    if charges:
        response.headers[CHARGED] = " ".join(charges).encode("ascii", "backslashreplace").decode()


def document_response(request: Request, pieces: Iterator[bytes], media_type: str) -> Response:
    """The response with a document: at once if it is small, otherwise in chunks."""
    first, size = [], 0
    for piece in pieces:
        first.append(piece)
        size += len(piece)
        if size > WHOLE:
            break
    else:
        return Response(b"".join(first), media_type=media_type)
    document: Iterator[bytes] = chain(first, pieces)
    headers = {}
    if request.scope["http_version"] == "1.0":
        size, document = measure_size(document)
        headers["content-length"] = str(size)
    return StreamingResponse(document, media_type=media_type, headers=headers)


log = logging.getLogger("discreet.server")


class RouteDispatcher(HttpMiddleware):
    """Wraps the router of an application; expected errors are left to the exception handlers (`problems`).

    - Answers with the refusal of a middleware, in the language and with the links of the site.
    - Answers HEAD by the route for GET; the HTTP server sends no body.
    - Turns an unexpected exception into a 500 that reveals nothing: its text could hold a value.
    - Notes the route for the audit log.
    """

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = request_context()
        if context.refusal is not None:
            raise context.refusal
        if scope["method"] == "HEAD":
            context.is_head, scope = True, {**scope, "method": "GET"}
        started = False

        async def sending(part: Message) -> None:
            nonlocal started
            started = True
            await send(part)

        try:
            await self.app(scope, receive, sending)
        except Exception as error:
            handled = isinstance(error, DiscreetError | HTTPException | RequestValidationError)
            if handled and not started:
                raise
            incident = secrets.token_hex(6)
            log.error("%s, incident %s", type(error).__name__, incident)  # noqa: TRY400 - no text
            if not started:
                raise DiscreetError(
                    message("The incident is noted as {incident}.", incident=incident),
                    message(
                        "Try again; if it happens again, give that number to the operator of this server."
                    ),
                ) from None
        finally:
            context.route = getattr(scope.get("route"), "path", "") or ""
