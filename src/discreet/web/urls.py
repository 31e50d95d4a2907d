"""The public URL of the server: the first part of every link.

    public_url = "https://x.org/tables"     origin https://x.org, root /tables, base https://x.org/tables
    no public_url                           the origin is that of the request, if its host is trusted (`hosts`)

It is the same throughout a request, so `hosts` sets a context variable, as Django does with its script prefix.

The parser of query strings, for the API and the pages.

List parameters are comma-separated, repeated, or both; `filter` and `group` follow `model/grammar.py`. An unknown
parameter is refused: a misspelt `column=age` must not silently give another table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import QueryParams

from discreet.errors import BadOption, BadRequest, UnknownCategory
from discreet.model.dataset import Dataset
from discreet.model.messages.text import message, nearest
from discreet.model.request import TableRequest, request_from_text
from discreet.model.view import THEMES, Picture, View, read_top
from discreet.release.measures import default_measure
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


#: The parameters of a table.
TABLE_PARAMETERS = (
    "rows",
    "columns",
    "layers",
    "filter",
    "group",
    "levels",
    "totals",
    "measure",
    "additivity",
    "fit_to",
    "version",
)
_YES_NO = {"yes": True, "no": False}


def refuse_unknown(query: QueryParams, known: Iterable[str]) -> None:
    """Refuse an unknown parameter, naming the nearest known one."""
    allowed = list(known)
    for name in query:
        if name not in allowed:
            advice = nearest(name, allowed) if allowed else "This address takes no parameters."
            raise BadRequest(message('There is no parameter "{name}" here.', name=name), advice)


def read_table(dataset: Dataset, query: QueryParams) -> TableRequest:
    """The table of a query string; without a measure, the dataset's first."""
    return request_from_text(
        dataset.id,
        rows=query.getlist("rows"),
        columns=query.getlist("columns"),
        layers=query.getlist("layers"),
        filters=query.getlist("filter"),
        groups=query.getlist("group"),
        totals=read_yes_no(query, "totals", default=True),
        levels=query.getlist("levels"),
        measure=read_word(query, "measure") or default_measure(dataset),
        additivity=read_word(query, "additivity"),
        fit_to=query.getlist("fit_to"),
    )


def read_view(query: QueryParams) -> View:
    """The view of a query string: percentages, ranks, and which rows in which order."""
    return View(
        percent=read_word(query, "percent"),
        rank=read_yes_no(query, "rank", default=False),
        top=read_top(read_word(query, "top")),
        hide_empty=read_yes_no(query, "hide_empty", default=False),
        sort=read_word(query, "sort"),
    )


def read_picture(query: QueryParams) -> Picture:
    """The chart and the theme of a query string."""
    return Picture(read_word(query, "chart"), read_word(query, "theme") or THEMES[0])


def version_query(query: QueryParams) -> list[tuple[str, str]]:
    """The version of a query string as a parameter of further links; empty for the current version."""
    word = read_word(query, "version")
    return [("version", word)] if word else []


def read_single(name: str, given: list[str], default: str = "") -> str:
    """A parameter that is given at most once, empty or not."""
    if len(given) > 1:
        raise BadRequest(f'The parameter "{name}" is given {len(given)} times.', "Give it once.")
    return given[0] if given else default


def read_word(query: QueryParams, name: str) -> str:
    """A parameter that is given at most once; empty ones are ignored, as browsers send them."""
    given = [text for text in query.getlist(name) if text]
    if len(given) > 1:
        raise BadRequest(
            message("{name} is given {given} times.", name=name, given=len(given)), message("Give it once.")
        )
    return given[0] if given else ""


def read_yes_no(query: QueryParams, name: str, *, default: bool) -> bool:
    """A parameter that is yes or no, given at most once."""
    given = [text for text in query.getlist(name) if text]
    if not given:
        return default
    if len(given) > 1 or given[0] not in _YES_NO:
        raise BadRequest(
            message('{name} is "{given:comma}".', name=name, given=tuple(given)), message("Write yes or no.")
        )
    return _YES_NO[given[0]]


def explain_plus(error: UnknownCategory, request: TableRequest) -> UnknownCategory:
    """The error with advice for a plus that was not encoded and arrived as a blank."""
    if not any(" " in code for _, groups in request.groups for group in groups for code in group):
        return error
    advice = message("{advice} In a URL, write + as %2B.", advice=error.advice)
    return UnknownCategory(error.message, advice)
