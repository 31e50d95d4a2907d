"""The public URL of the server: the first part of every link.

    public_url = "https://x.org/tables"     origin https://x.org, root /tables, base https://x.org/tables
    no public_url                           the origin is that of the request, if its host is trusted (`hosts`)

It is the same throughout a request, so `hosts` sets a context variable, as Django does with its script prefix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from discreet.errors import BadOption
from discreet.web.context import request_context

#: Paths below these return documents, not pages.
FOR_PROGRAMS = ("/api/", "/openapi.json", "/.well-known", "/feed.atom")
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*/?\Z")


@dataclass(frozen=True, slots=True)
class SiteUrl:
    """The URL of the server.

    Args:
        origin: Scheme, host and port; empty outside a request.
        root: The path of the server without a slash at its end; empty at the root of a host.
    """

    origin: str = ""
    root: str = ""

    @property
    def base(self) -> str:
        """The beginning of absolute links."""
        return self.origin + self.root


def site_url() -> SiteUrl:
    """The URL of the server in the current request."""
    return request_context().site_url or SiteUrl()


def link(path: str) -> str:
    """A path of ours as a link on the same host.

    >>> link("/api/datasets")
    '/api/datasets'
    """
    return site_url().root + path


def strip_root(path: str) -> str:
    """The path of a request without the root."""
    return path.removeprefix(site_url().root)


def is_for_programs(path: str) -> bool:
    """Whether a path of ours returns a document and not a page.

    >>> is_for_programs("/api/datasets"), is_for_programs("/api")
    (True, False)
    """
    return path.startswith(FOR_PROGRAMS)


def parse_public_url(url: str | None) -> SiteUrl | None:
    """The URL of the option `public_url`; None without one.

    >>> parse_public_url("https://x.org/tables/")
    SiteUrl(origin='https://x.org', root='/tables')

    Raises:
        BadOption: It is no URL of a server.
    """
    if not url:
        return None
    try:
        parts = urlsplit(url)
        sound = parts.scheme in {"http", "https"} and parts.hostname and (parts.port or 1) > 0
    except ValueError:
        sound = False
    if not sound or parts.query or parts.fragment or "@" in parts.netloc or not _PATH.match(parts.path):
        raise BadOption(
            f"The option public_url is {url!r}.",
            "Give the address that readers type, as in https://tables.example.org or https://example.org/tables.",
        )
    return SiteUrl(f"{parts.scheme}://{parts.netloc.lower()}", parts.path.rstrip("/"))
