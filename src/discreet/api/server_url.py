"""URLs of a server, and the dataset and table that the URL of a page names.

    https://host    https://host/some/path            a server, at a host or mounted below a path
    https://host/datasets/census                      a dataset
    https://host/datasets/census?rows=sex             the table of a page

The query of a page may also hold a view and a version. `reject_malformed` is for the documents that a server answers with.
"""

import ipaddress
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode, urlsplit

from discreet.errors import BadDescription, BadRequest, ServerUnusable
from discreet.model.messages.text import nearest
from discreet.model.request import QUERY_PARAMETERS, TableRequest, request_from_query
from discreet.model.view import READING_PARAMETERS, VIEW_PARAMETERS, View, read_word, view_from_query

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

    >>> table, view, version = split_query("rows=sex&percent=row&version=1")
    >>> table, view == View(percent="row"), version
    ('rows=sex', True, '1')
    """
    others = {*VIEW_PARAMETERS, *READING_PARAMETERS, "version"}
    given = parse_qs(query, keep_blank_values=True, max_num_fields=1000)
    table = urlencode(
        [(name, text) for name in given if name not in others for text in given[name]], safe=",="
    )
    view = view_from_query(lambda name: given.get(name, []))
    return table, view, read_word("version", given.get("version", []))


def parse_table_query(dataset: str, query: str) -> TableRequest:
    """Parse the table request in the query of a URL.

    Raises:
        BadRequest: A parameter that a table does not have, or a value that it cannot have.

    >>> parse_table_query("census", "rows=sex&columns=age&totals=no").permalink
    'rows=sex&columns=age&totals=no'
    """
    given = parse_qs(query, keep_blank_values=True, max_num_fields=1000)
    for name in given:
        if name not in QUERY_PARAMETERS:
            raise BadRequest(f'A table has no parameter "{name}".', nearest(name, QUERY_PARAMETERS))
    return request_from_query(dataset, lambda name: given.get(name, []))


_MALFORMED = (ValueError, TypeError, OSError, LookupError, AttributeError, OverflowError, RecursionError)


@contextmanager
def reject_malformed() -> Iterator[None]:
    """Turn parse errors into an error of the server.

    Raises:
        ServerUnusable: A field is missing, or has another type or size.
    """
    try:
        yield
    except (*_MALFORMED, BadDescription, BadRequest) as error:
        raise ServerUnusable(
            f"The server's answer cannot be read ({type(error).__name__}).",
            "It may be of another version of Discreet, or no server of Discreet at all.",
        ) from None
