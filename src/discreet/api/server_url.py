"""URLs of a server, and the dataset and table that the URL of a page names.

    https://host    https://host/some/path            a server, at a host or mounted below a path
    https://host/datasets/census                      a dataset
    https://host/datasets/census?rows=sex             the table of a page

The query of a page may also hold a view and a version.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from discreet.errors import BadRequest
from discreet.model.messages.text import nearest
from discreet.model.request import TableRequest, request_from_text
from discreet.model.view import READING_PARAMETERS, VIEW_PARAMETERS, View, read_top

#: The parameters of a table that are lists, with the argument that takes each.
_LISTS = {
    "rows": "rows",
    "columns": "columns",
    "layers": "layers",
    "filter": "filters",
    "group": "groups",
    "levels": "levels",
    "fit_to": "fit_to",
}
_WORDS = ("measure", "additivity")
_PAGE = re.compile(r"(?P<base>.*?)/datasets/(?P<dataset>[a-z][a-z0-9-]{0,63})\Z")


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """A server, with the dataset and the query of a URL; empty where none is named. `base` has no trailing slash."""

    base: str
    dataset: str = ""
    query: str = ""


def is_url(text: object) -> bool:
    """Whether a text is the URL of a server and not a folder or a dataset.

    >>> is_url("https://example.org"), is_url("workspace")
    (True, False)
    """
    return isinstance(text, str) and text.lower().startswith(("https://", "http://"))


def parse_url(text: str) -> ServerUrl:
    """The parts of a URL.

    Raises:
        BadRequest: It has no host, or a password inside.

    >>> parse_url("https://example.org/stats/datasets/census?rows=sex#table")
    ServerUrl(base='https://example.org/stats', dataset='census', query='rows=sex')
    """
    try:
        parts = urlsplit(text.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise BadRequest("The address cannot be read.", "Write it as https://host/path.") from None
    if not host:
        raise BadRequest(f'The address "{text}" has no host.', "Write it as https://host/path.")
    if parts.username is not None:
        raise BadRequest(
            "The address has a name or a password inside.", "Leave it out; give an API key with key=."
        )
    path = parts.path.rstrip("/")
    page = _PAGE.match(path)
    base = f"{parts.scheme.lower()}://{parts.netloc}"
    if page is None:
        return ServerUrl(base + path, "", parts.query)
    return ServerUrl(base + page["base"], page["dataset"], parts.query)


def is_confidential(base: str) -> bool:
    """Whether the connection is encrypted or stays on this machine.

    >>> is_confidential("https://example.org"), is_confidential("http://127.0.0.1:8000"), is_confidential("http://example.org")
    (True, True, False)
    """
    parts = urlsplit(base)
    host = parts.hostname or ""
    if parts.scheme == "https" or host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def split_query(query: str) -> tuple[str, View, str]:
    """Split the query of a URL into table parameters, view and version.

    Raises:
        BadRequest: A view or a version that cannot be parsed.

    >>> split_query("rows=sex&percent=row&version=1")
    ('rows=sex', View(percent='row', rank=False, top=0, hide_empty=False, sort=''), '1')
    """
    words = dict.fromkeys((*VIEW_PARAMETERS, "version"), "")
    table = []
    for name, text in parse_qsl(query, keep_blank_values=True, max_num_fields=1000):
        if name in READING_PARAMETERS:  # of a page alone
            continue
        if name not in words:
            table.append((name, text))
        elif words[name]:
            raise BadRequest(f"{name} is given twice.", "Give it once.")
        else:
            words[name] = text
    rank, hide_empty = (_yes_no(name, words[name]) for name in ("rank", "hide_empty"))
    view = View(words["percent"], rank, read_top(words["top"]), hide_empty, words["sort"])
    return urlencode(table, safe=",="), view, words["version"]


def _yes_no(name: str, text: str, *, default: bool = False) -> bool:
    if text not in {"", "yes", "no"}:
        raise BadRequest(f'{name} is "{text}".', "Write yes or no.")
    return text == "yes" if text else default


def request_from_query(dataset: str, query: str) -> TableRequest:
    """Parse the table request in the query of a URL.

    Raises:
        BadRequest: A parameter that a table does not have, or a value that it cannot have.

    >>> request_from_query("census", "rows=sex&columns=age&totals=no").permalink
    'rows=sex&columns=age&totals=no'
    """
    given = parse_qs(query, keep_blank_values=True, max_num_fields=1000)
    known = [*_LISTS, *_WORDS, "totals"]
    for name, texts in given.items():
        if name not in known:
            raise BadRequest(f'A table has no parameter "{name}".', nearest(name, known))
        if name not in _LISTS and len(texts) > 1:
            raise BadRequest(f"{name} is given {len(texts)} times.", "Give it once.")
    parts = {argument: given.get(name, []) for name, argument in _LISTS.items()}
    words = {name: given[name][0] for name in _WORDS if given.get(name, [""])[0]}
    totals = _yes_no("totals", given.get("totals", [""])[0], default=True)
    return request_from_text(dataset, **parts, **words, totals=totals)  # type: ignore[arg-type] # lists and words
