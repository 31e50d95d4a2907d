"""For which hosts the server answers.

A `Host` header is written by whoever asks. If it went into links unseen, a shared cache could hand one reader's host to
all others, and a foreign name that points at this machine could read what is served here (DNS rebinding). A host is
trusted if it is

    named by `public_url`, `trusted_hosts` or `host`,
    the name of this machine (what DNS calls it besides is not asked: it would cost seconds, or be a lie), or
    the very address at which the connection arrived.

Nobody can forge the last one: with it `--host 0.0.0.0` works in an office without any option.

Below a path every address starts with its root. A proxy may pass the root on or take it away: both are read.

Source: RFC 9110, sections 4.3.3, 7.2 and 15.5.20; RFC 9112, section 3.2 (no host, or two, are 400).
"""

from __future__ import annotations

import ipaddress
import re
import socket

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import BadOption, BadRequest, UntrustedHost
from discreet.model.messages.text import message
from discreet.web.problems import problem_response
from discreet.web.urls import SITE_URL, SiteUrl
from discreet.workspace.options import Options

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::[0-9]{1,5})?\Z")
_PATTERN = re.compile(r"\*|(\*\.)?[a-z0-9_.-]+|\[?[0-9a-f:.]+\]?")
_LOCAL = ("localhost", "127.0.0.1", "::1")
#: What a server that listens everywhere names as its address.
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened on


class HostMiddleware:
    """Refuses a request for a foreign host, and keeps the address of every other one.

    Args:
        app: What answers.
        public: The address of `public_url`.
        trusted: The names and patterns of `trusted_names`.
    """

    def __init__(self, app: ASGIApp, public: SiteUrl | None, trusted: frozenset[str]) -> None:
        self.app = app
        self.public = public
        self.trusted = trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is asked of us."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        hosts = Headers(scope=scope).getlist("host")
        host = hosts[0].lower() if hosts else ""
        one = len(hosts) == 1 or (not hosts and scope["http_version"] != "1.1")
        trusted = one and self._is_trusted(host, scope)
        origin = f"{scope['scheme']}://{host or _arrived_at(scope)}" if trusted else ""
        address = self.public or SiteUrl(origin)
        scope = _below(scope, address.root)
        token = SITE_URL.set(address)
        try:
            refusal = _refusal(host) if one else _not_one_host()
            app = self.app if trusted else problem_response(Request(scope), refusal)
            await app(scope, receive, send)
        finally:
            SITE_URL.reset(token)

    def _is_trusted(self, host: str, scope: Scope) -> bool:
        """Whether a `Host` header names us; a request of HTTP/1.0 may have none."""
        if not host:
            return True
        found = _HOST.match(host)
        if found is None:
            return False
        name = found["name"].strip("[]")
        return name == _arrived_at(scope) or any(_matches(name, pattern) for pattern in self.trusted)


def host_patterns(options: Options, public: SiteUrl | None) -> frozenset[str]:
    """The names and patterns of hosts that are trusted, whatever the connection.

    Raises:
        BadOption: A name that no host has.
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
    names |= set() if public is None else {_without_port(public.origin.partition("//")[2])}
    names |= set() if options.host in _EVERYWHERE else {options.host.lower()}
    return frozenset(name.strip("[]") for name in names)


def _matches(name: str, pattern: str) -> bool:
    """Whether a host is meant by a name, by `*.x.org` or by `*`.

    >>> _matches("a.x.org", "*.x.org"), _matches("x.org", "*.x.org"), _matches("evilx.org", "*.x.org")
    (True, False, False)
    """
    if pattern == "*":
        return True
    return name.endswith(pattern[1:]) if pattern.startswith("*.") else name == pattern


def _without_port(netloc: str) -> str:
    found = _HOST.match(netloc)
    return netloc if found is None else found["name"]


def _arrived_at(scope: Scope) -> str:
    """The address of this machine at which the connection arrived."""
    server = scope.get("server")
    name = "" if server is None else str(server[0])
    try:
        found = ipaddress.ip_address(name)
    except ValueError:
        return name
    mapped = getattr(found, "ipv4_mapped", None)
    return str(mapped or found)


def _below(scope: Scope, root: str) -> Scope:
    """The request with the root before its path, also where a proxy took it away."""
    path: str = scope["path"]
    if root and not path.startswith(f"{root}/"):
        path = f"{root}/" if path == root else root + path
    return {**scope, "path": path, "root_path": root}


def _refusal(host: str) -> UntrustedHost:
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
