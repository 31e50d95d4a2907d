"""The headers of every response: a strict content security policy, and CORS for public responses.

The server uses no cookies, so `Access-Control-Allow-Origin: *` on public responses never gives away what a browser knows of
its reader, nor does the length of a compressed response (BREACH). A preflight does not allow `Authorization`, and responses
to an account have no CORS headers. None of it depends on `Origin`, so one cached copy serves all sites.

Source: OWASP Secure Headers Project; Fetch standard, section 3.3.
"""

from starlette.datastructures import MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.web.context import HttpMiddleware, request_context
from discreet.web.negotiation import plain_etag

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
#: Methods and request headers that scripts of other sites may use; PxWebApi has POST requests for tables.
METHODS = ("GET", "HEAD", "POST")
REQUEST_HEADERS = ("accept", "accept-language", "content-type", "if-none-match")
#: Response headers that they may read.
EXPOSED = ("ETag", "Discreet-Charged", "Retry-After", "Content-Disposition", "Link")
PUBLIC = {"access-control-allow-origin": "*", "access-control-expose-headers": ", ".join(EXPOSED)}


class ResponseHeadersMiddleware(HttpMiddleware):
    """Adds the headers to every response, and answers CORS preflights. A route may set its own policy (`embed`)."""

    def __init__(self, app: ASGIApp) -> None:
        super().__init__(app)
        self._preflight = CORSMiddleware(
            app, allow_origins=("*",), allow_methods=METHODS, allow_headers=REQUEST_HEADERS, max_age=86_400
        )

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = MutableHeaders(scope=scope)
        if "if-none-match" in request:  # routes know the ETags of uncompressed documents
            request["if-none-match"] = ", ".join(map(plain_etag, request["if-none-match"].split(",")))
        anonymous = "authorization" not in request and request_context().requester is None
        added = HEADERS | (PUBLIC if anonymous and scope["method"] in METHODS else {})

        async def with_headers(part: Message) -> None:
            if part["type"] == "http.response.start":
                headers = MutableHeaders(scope=part)
                for name, value in added.items():
                    headers.setdefault(name, value)
                if "accept-encoding" not in headers.get("vary", "").lower():
                    headers.add_vary_header("Accept-Encoding")
                etag, encoding = headers.get("etag", ""), headers.get("content-encoding")
                if encoding and etag.startswith('"'):  # a compressed copy has its own strong ETag
                    headers["etag"] = f'{etag[:-1]}-{encoding}"'
            await send(part)

        is_preflight = scope["method"] == "OPTIONS" and "access-control-request-method" in request
        app = self._preflight.preflight_response(request) if is_preflight else self.app
        await app(scope, receive, with_headers)
