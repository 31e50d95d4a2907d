"""What pages of other sites may read: every public answer, and nothing that needs a key.

    Access-Control-Allow-Origin: *        on each answer to a request without a key, of nobody whom a proxy names

There are no cookies, so a browser adds nothing of its reader to a request, and `*` never allows credentials. A key would
have to be put into the request by a script of the other site: the header `Authorization` is not among those that a
preflight allows, and an answer under a key has none of these headers.

Source: Fetch standard, section 3.3 (https://fetch.spec.whatwg.org/#http-cors-protocol).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response

from discreet.server.access.identity import SCOPE

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


class CrossOrigin:
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
