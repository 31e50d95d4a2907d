"""What holds for every response: headers that allow nothing but our own pages, and limits on a request.

Three ASGI layers, from the outside in: headers, limits, and the end of every unexpected exception.
No exception's text reaches a response or a log, since it could hold a value: the type and a random number do.

Source: OWASP Secure Headers Project.

What pages of other sites may read: every public answer, and nothing that needs a key.

    Access-Control-Allow-Origin: *        on each answer to a request without a key, of nobody whom a proxy names

There are no cookies, so a browser adds nothing of its reader to a request, and `*` never allows credentials. A key would
have to be put into the request by a script of the other site: the header `Authorization` is not among those that a
preflight allows, and an answer under a key has none of these headers.

Source: Fetch standard, section 3.3 (https://fetch.spec.whatwg.org/#http-cors-protocol).
"""

from __future__ import annotations

import logging
import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import BodyTooLarge, DiscreetError, RequestTooLong
from discreet.model.messages.text import message
from discreet.web.auth.identity import SCOPE
from discreet.web.problems import busy, problem_response

MAX_QUERY_BYTES = 16_384
#: Enough for every code of a large table; what is longer is not read.
MAX_BODY_BYTES = 1_048_576
#: Bytes of all bodies that are being read or answered.
MOST_HELD = 33_554_432
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
}
log = logging.getLogger("discreet.server")


class SecurityHeadersMiddleware:
    """Adds the headers to every response; one that has a policy of its own keeps it (`embed`)."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, with headers on the way back."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


class SizeLimitMiddleware:
    """Refuses an over-long query or body, and bodies that are too much together."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is short enough."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif len(scope.get("query_string", b"")) > MAX_QUERY_BYTES:
            error = RequestTooLong(
                message(
                    "The query has more than {max_query_bytes:,} bytes.", max_query_bytes=MAX_QUERY_BYTES
                ),
                message("Filter on a coarser level, or download the whole table and filter it yourself."),
            )
            await problem_response(Request(scope), error)(scope, receive, send)
        elif scope["method"] == "POST":
            await self._with_body(scope, receive, send)
        else:  # no route reads a body of another method
            await self.app(scope, receive, send)

    async def _with_body(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body up to the limit, then pass it on in one piece."""
        body = _Body()
        try:
            while body.more:
                message = await receive()
                if message["type"] != "http.request":
                    return
                self._held += body.add(message)
                refusal = self._refusal(body)
                if refusal is not None:
                    await problem_response(Request(scope), refusal)(scope, receive, send)
                    return
            waiting = [{"type": "http.request", "body": bytes(body.read), "more_body": False}]

            async def again() -> Message:
                return waiting.pop() if waiting else await receive()

            await self.app(scope, again, send)
        finally:
            self._held -= len(body.read)

    def _refusal(self, body: _Body) -> DiscreetError | None:
        if len(body.read) > MAX_BODY_BYTES:
            return BodyTooLarge(
                message("The body has more than {max_body_bytes:,} bytes.", max_body_bytes=MAX_BODY_BYTES),
                message("Ask for a coarser level, or for several tables."),
            )
        return busy() if self._held > MOST_HELD else None


class _Body:
    """What was read of a body."""

    def __init__(self) -> None:
        self.read, self.more = bytearray(), True

    def add(self, message: Message) -> int:
        """Add a piece; how long it is."""
        piece = message.get("body", b"")
        self.read += piece
        self.more = message.get("more_body", False)
        return len(piece)


class ErrorMiddleware:
    """Turns an unexpected exception into a response that says nothing about it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, and end what comes back as an exception."""
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except Exception as exception:  # noqa: BLE001 - whatever it is, it ends here
            incident = secrets.token_hex(6)
            log.error("%s, incident %s", type(exception).__name__, incident)  # noqa: TRY400 - no traceback: it quotes values
            if scope["type"] == "http" and not started:
                error = DiscreetError(
                    message("The incident is noted as {incident}.", incident=incident),
                    message("Try again; if it happens again, tell whoever runs this server that number."),
                )
                await problem_response(Request(scope), error)(scope, receive, send)


#: What a page of another site may do; PxWebApi asks for tables by POST too.
METHODS = ("GET", "HEAD", "POST")
#: What it may send beside what browsers always allow.
REQUEST_HEADERS = ("accept", "accept-language", "content-type", "if-none-match", "if-range", "range")
#: What it may read beside what browsers always show.
EXPOSED = (
    "ETag",
    "Discreet-Charged",
    "Retry-After",
    "Content-Disposition",
    "Content-Range",
    "Accept-Ranges",
    "Link",
)
SHARED = {"access-control-allow-origin": "*", "access-control-expose-headers": ", ".join(EXPOSED)}
PREFLIGHT = {
    "access-control-allow-origin": "*",
    "access-control-allow-methods": ", ".join(METHODS),
    "access-control-allow-headers": ", ".join(REQUEST_HEADERS),
    "access-control-max-age": "86400",
}


class CorsMiddleware:
    """Answers preflights, and lets other sites read what needs no key."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, with headers on the way back."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            await Response(status_code=204, headers=PREFLIGHT)(scope, receive, send)
            return

        async def shared(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(SHARED)
            await send(message)

        nobody = "authorization" not in headers and scope.get(SCOPE) is None
        public = scope["method"] in METHODS and nobody
        await self.app(scope, receive, shared if public else send)
