"""URLs of a table: its page, its documents, the pages about it, and the names of its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from discreet.model.measure import DEFAULT_MEASURE
from discreet.model.request import TableRequest

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
    """The URL of the table's page.

    Args:
        request: The canonical request.
        items: The parameters of the view, the display options and the version.
    """
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
    words += [request.measure] if request.measure != DEFAULT_MEASURE else []
    return "-".join(words)[:LONGEST_STEM]
