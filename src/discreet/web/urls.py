"""URLs: the public URL of the server, the query of a table, and the links to its page, documents and files.

    public_url = "https://x.org/tables"     origin https://x.org, root /tables, base https://x.org/tables
    no public_url                           the origin is that of the request, if its host is trusted (`hosts`)

List parameters are comma-separated, repeated, or both; `filter` and `group` follow `model/grammar.py`. An unknown
parameter is refused: a misspelt `column=age` must not silently give another table.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import QueryParams

from discreet.errors import BadOption, BadRequest, UnknownCategory
from discreet.model import view
from discreet.model.dataset import Dataset
from discreet.model.messages.text import message, nearest
from discreet.model.request import DEFAULT_MEASURE, QUERY_PARAMETERS, TableRequest, request_from_query
from discreet.model.view import View, view_from_query
from discreet.release.measures import default_measure
from discreet.web.context import request_context

#: Paths below these return documents, not pages.
FOR_PROGRAMS = ("/api/", "/openapi.json", "/.well-known", "/feed.atom")
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*/?\Z")


@dataclass(frozen=True, slots=True)
class SiteUrl:
    """The URL of the server: scheme, host and port, and the path without a slash at its end; both may be empty."""

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
TABLE_PARAMETERS = (*QUERY_PARAMETERS, "version")


def refuse_unknown(query: QueryParams, known: Iterable[str]) -> None:
    """Refuse an unknown parameter, naming the nearest known one."""
    allowed = list(known)
    for name in query:
        if name not in allowed:
            advice = nearest(name, allowed) if allowed else "This address takes no parameters."
            raise BadRequest(message('There is no parameter "{name}" here.', name=name), advice)


def read_table(dataset: Dataset, query: QueryParams) -> TableRequest:
    """The table of a query string; without a measure, the dataset's first."""
    return request_from_query(dataset.id, query.getlist, default_measure(dataset))


def read_view(query: QueryParams) -> View:
    """The view of a query string: percentages, ranks, and which rows in which order."""
    return view_from_query(query.getlist)


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
    return view.read_word(name, query.getlist(name))


def explain_plus(error: UnknownCategory, request: TableRequest) -> UnknownCategory:
    """The error with advice for a plus that was not encoded and arrived as a blank."""
    if not any(" " in code for _, groups in request.groups for group in groups for code in group):
        return error
    advice = message("{advice} In a URL, write + as %2B.", advice=error.advice)
    return UnknownCategory(error.message, advice)


#: Query parameters in addition to the request: of a view, of a version.
QueryItems = Sequence[tuple[str, str]]
#: File systems allow 255 bytes; some programs allow less.
LONGEST_STEM = 120


@dataclass(frozen=True, slots=True)
class Link:
    """A control of a page: its label and the URL of the new state; `current` marks the state shown now."""

    label: str
    href: str
    current: bool = False


def page_path(request: TableRequest, items: QueryItems = ()) -> str:
    """The URL of the table's page; `items` are of the view, the display options and the version."""
    return f"/datasets/{request.dataset}?{_query(request, items)}"


def table_path(request: TableRequest, what: str, items: QueryItems = ()) -> str:
    """The URL of a page about the table: `block`, `print`, `interval`, `compare` or `test/independence`."""
    return f"/datasets/{request.dataset}/{what}?{_query(request, items)}"


def api_path(request: TableRequest, form: str, items: QueryItems = ()) -> str:
    """The URL of the table's document in a format."""
    return f"/api/datasets/{request.dataset}/table?{_query(request, items)}&format={form}"


def pick_path(request: TableRequest, name: str, items: QueryItems = ()) -> str:
    """The URL of the picker of a variable's categories for this table."""
    query = _query(request, items)
    return f"/datasets/{request.dataset}/variables/{name}" + (f"?{query}" if query else "")


def _query(request: TableRequest, items: QueryItems) -> str:
    return urlencode([*request.to_query(), *items], safe=",=")


def version_pin(digest: str) -> tuple[str, str]:
    """The parameter that names a version by its digest."""
    return "version", digest[:8]


def file_stem(request: TableRequest) -> str:
    """The name of a download: dataset, variables, and whether it is a selection or weighted.

    Ids and names hold letters, digits, hyphens and underscores only: no label ever names a file.

    >>> file_stem(TableRequest("census", ("sex",), ("age",), filters=(("birthplace", ("2",)),)))
    'census-sex-by-age-selection'
    """
    words = [request.dataset, "-by-".join((*request.rows, *request.columns, *request.layers))]
    words += ["selection"] if request.filters or request.groups or request.levels or request.names else []
    words += [request.measure.replace(".", "-")] if request.measure != DEFAULT_MEASURE else []
    return "-".join(words)[:LONGEST_STEM]
