"""The hosts that the server answers for (DNS rebinding, poisoned caches), and the URL of the site in links.

A client writes the `Host` header. A host is trusted if it is

    named by `public_url`, `trusted_hosts` or `host`,
    the name of this machine, or
    the IP address at which the connection arrived, which no client can forge: `--host 0.0.0.0` works without options.

Other hosts get 421. Below a path every URL starts with its root; a proxy may pass the root on or remove it.
Source: RFC 9110, sections 4.3.3, 7.2 and 15.5.20; RFC 9112, section 3.2 (no host, or two, are 400).

Headers of every response: a strict content security policy, and CORS for public responses.

    Access-Control-Allow-Origin: *        on responses to requests without credentials

The server uses no cookies, so a browser adds no credentials of its reader to a request, and `*` never allows them. A script
of another site cannot send a key: a preflight does not allow `Authorization`, and responses to an account have no CORS
headers. The headers do not depend on `Origin`, so one cached copy serves all sites.

Compression and secrets (BREACH): the length of a compressed response reveals a secret only if another site can make a
browser send a request with credentials. It cannot. Source: OWASP Secure Headers Project; Fetch standard, section 3.3.
"""

from __future__ import annotations

import ipaddress
import re
import socket

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from discreet.errors import BadOption, BadRequest, UntrustedHost
from discreet.model.messages.text import message
from discreet.web.context import request_context
from discreet.web.negotiation import plain_etag
from discreet.web.urls import SiteUrl
from discreet.workspace.options import Options

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::[0-9]{1,5})?\Z")
_PATTERN = re.compile(r"\*|(\*\.)?[a-z0-9_.-]+|\[?[0-9a-f:.]+\]?")
_LOCAL = ("localhost", "127.0.0.1", "::1")
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened on


class HostMiddleware:
    """Refuses requests for foreign hosts and sets the URL of the site. Starlette's own knows no 421 and no own address.

    Args:
        app: The application.
        public: The URL of `public_url`.
        trusted: The patterns of `host_patterns`.
    """

    def __init__(self, app: ASGIApp, public: SiteUrl | None, trusted: frozenset[str]) -> None:
        self.app, self.public, self.trusted = app, public, trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, with the URL of the site in the context."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        context = request_context()
        hosts = Headers(scope=scope).getlist("host")
        host = hosts[0].lower() if hosts else ""
        is_single = len(hosts) == 1 or (not hosts and scope["http_version"] != "1.1")
        trusted = is_single and self._is_trusted(host, scope)
        if not trusted:
            context.refusal = _foreign_host(host) if is_single else _not_one_host()
        origin = f"{scope['scheme']}://{host or _own_address(scope)}" if trusted else ""
        context.site_url = self.public or SiteUrl(origin)
        path, root = scope["path"], context.site_url.root
        if root and not path.startswith(f"{root}/"):  # a proxy removed it
            path = f"{root}/" if path == root else root + path
        await self.app({**scope, "path": path, "root_path": root}, receive, send)

    def _is_trusted(self, host: str, scope: Scope) -> bool:
        """Whether a `Host` header names this server; a request of HTTP/1.0 may have none."""
        if not host:
            return True
        found = _HOST.match(host)
        if found is None:
            return False
        name = found["name"].strip("[]")
        return name == _own_address(scope) or any(_matches(name, pattern) for pattern in self.trusted)


def host_patterns(options: Options, public: SiteUrl | None) -> frozenset[str]:
    """The names and patterns of trusted hosts, independent of the connection.

    Raises:
        BadOption: An invalid host name.
    """
    given = [name.strip().lower() for name in (options.trusted_hosts or "").split(",") if name.strip()]
    for name in given:
        if not _PATTERN.fullmatch(name):
            raise BadOption(
                f"The option trusted_hosts names {name!r}.",
                "Give host names without a scheme, port or path, as in tables.example.org,*.office.example.",
            )
    machine = socket.gethostname().lower()
    names = {*given, *_LOCAL, machine, machine.partition(".")[0]}
    if public is not None:
        netloc = public.origin.partition("//")[2]
        found = _HOST.match(netloc)
        names.add(netloc if found is None else found["name"])
    if options.host not in _EVERYWHERE:
        names.add(options.host.lower())
    return frozenset(name.strip("[]") for name in names)


def _matches(name: str, pattern: str) -> bool:
    """Whether a host matches a name, `*.x.org` or `*`.

    >>> _matches("a.x.org", "*.x.org"), _matches("x.org", "*.x.org"), _matches("evilx.org", "*.x.org")
    (True, False, False)
    """
    if pattern == "*":
        return True
    return name.endswith(pattern[1:]) if pattern.startswith("*.") else name == pattern


def _own_address(scope: Scope) -> str:
    """The address of this machine at which the connection arrived."""
    server = scope.get("server")
    name = "" if server is None else str(server[0])
    try:
        found = ipaddress.ip_address(name)
    except ValueError:
        return name
    return str(getattr(found, "ipv4_mapped", None) or found)


def _foreign_host(host: str) -> UntrustedHost:
    return UntrustedHost(
        message(
            "The request is for the host {host!r}, and this server does not answer for it.", host=host[:100]
        ),
        message(
            "Ask for the address that was given to you. Whoever runs the server names its hosts with the "
            "option trusted_hosts, or its address with public_url."
        ),
    )


def _not_one_host() -> BadRequest:
    return BadRequest(
        message("A request has one Host header."), message("Send the host that is asked, once.")
    )


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


class ResponseHeadersMiddleware:
    """Adds the headers to every response, and answers CORS preflights. A route may set its own policy (`embed`)."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._preflight = CORSMiddleware(
            app, allow_origins=("*",), allow_methods=METHODS, allow_headers=REQUEST_HEADERS, max_age=86_400
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, with headers on the way back."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
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
