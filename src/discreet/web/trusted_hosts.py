"""The hosts that the server answers for, and the URL of the site in links.

A client writes the `Host` header (DNS rebinding, poisoned caches). A host is trusted if `public_url`, `trusted_hosts` or
`host` names it, if it is the name of this machine, or the IP address at which the connection arrived, which no client can
forge. Other hosts get 421. Below a path every URL starts with its root; a proxy may pass the root on or remove it.

Source: RFC 9110, sections 4.3.3, 7.2, 15.5.20; RFC 9112, section 3.2.
"""

import ipaddress
import re
import socket

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from discreet.errors import BadOption, BadRequest, DiscreetError, UntrustedHost
from discreet.model.messages.text import message
from discreet.web.context import HttpMiddleware, request_context
from discreet.web.urls import SiteUrl
from discreet.workspace.options import Options

_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::[0-9]{1,5})?\Z")
_PATTERN = re.compile(r"\*|(\*\.)?[a-z0-9_.-]+|\[?[0-9a-f:.]+\]?")
_LOCAL = ("localhost", "127.0.0.1", "::1")
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - compared with, not listened on


class HostMiddleware(HttpMiddleware):
    """Refuses requests for foreign hosts and sets the URL of the site. Starlette's own knows no 421 and no own address."""

    def __init__(self, app: ASGIApp, public: SiteUrl | None, trusted: frozenset[str]) -> None:
        super().__init__(app)
        self.public, self.trusted = public, trusted

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = request_context()
        hosts = Headers(scope=scope).getlist("host")
        host = hosts[0].lower() if hosts else ""
        is_single = len(hosts) == 1 or (not hosts and scope["http_version"] != "1.1")
        trusted = is_single and self._is_trusted(host, scope)
        if not trusted:
            context.refusal = _refusal(host, is_single=is_single)
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
    """The names and patterns of trusted hosts, independent of the connection."""
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


def _refusal(host: str, *, is_single: bool) -> DiscreetError:
    if not is_single:
        return BadRequest(
            message("A request has one Host header."), message("Send the host that is asked, once.")
        )
    return UntrustedHost(
        message(
            "The request is for the host {host!r}, and this server does not answer for it.", host=host[:100]
        ),
        message(
            "Use the address you were given. The operator sets the host names with the option trusted_hosts, or "
            "the URL with public_url."
        ),
    )
