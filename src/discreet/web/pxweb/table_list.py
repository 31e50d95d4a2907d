"""The documents of /config, /tables and /tables/{id}."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from discreet import __version__
from discreet.errors import BadRequest, NotFound
from discreet.model.dataset import Dataset
from discreet.web.auth.rate_limit import WINDOW
from discreet.web.pxweb.metadata import CONTENTS_LABEL, link_object
from discreet.web.pxweb.output import DEFAULT_FORMAT, output_formats
from discreet.workspace.options import Options

#: The version of the specification; pxwebpy refuses one below 2.0.0.
API_VERSION = "2.0.0"
PAGE_SIZE, LARGEST_PAGE = 20, 10_000
#: About a hundred years.
MOST_DAYS = 36_500


def config_document(options: Options, datasets: Iterable[Dataset]) -> dict[str, Any]:
    """The configuration of the server, with its limits."""
    sources = dict.fromkeys(dataset.source for dataset in datasets if dataset.source)
    return {
        "apiVersion": API_VERSION,
        "appVersion": __version__,
        "languages": [{"id": "en", "label": "English"}],
        "defaultLanguage": "en",
        "maxDataCells": options.pxweb_cells,
        "maxCallsPerTimeWindow": options.pxweb_calls,
        "timeWindow": WINDOW,
        "license": options.licence or "",
        "sourceReferences": [{"language": "en", "text": f"Source: {source}"} for source in sources],
        "defaultDataFormat": DEFAULT_FORMAT,
        "dataFormats": output_formats(),
        "features": [{"id": "CORS", "params": [{"key": "enabled", "value": "True"}]}],
    }


def table_document(dataset: Dataset, loaded: str, base: str) -> dict[str, Any]:
    """One dataset as a table; it was updated when its version was loaded, null where that is not recorded."""
    period = dataset.reference_date or None
    here = f"{base}/tables/{dataset.id}"
    return {
        "id": dataset.id,
        "label": dataset.label,
        "description": dataset.description,
        "updated": loaded or None,
        "firstPeriod": period,
        "lastPeriod": period,
        "category": "public",
        "variableNames": [*(variable.label for variable in dataset.variables), CONTENTS_LABEL],
        "discontinued": False,
        "source": dataset.source,
        "subjectCode": dataset.id,
        "timeUnit": "Other",
        "paths": [],
        "links": [
            link_object(here, "self"),
            link_object(f"{here}/metadata", "metadata"),
            link_object(f"{here}/data", "data"),
        ],
    }


def tables_document(
    datasets: Sequence[tuple[Dataset, str]],
    query: str,
    page_number: int,
    page_size: int,
    base: str,
    earliest: str = "",
) -> dict[str, Any]:
    """A page of the tables, with their load times, that contain every word of a query and were loaded since `earliest`."""
    found = [each for each in datasets if _matches(each[0], query) and each[1] >= earliest]
    pages = max(1, -(-len(found) // page_size))
    if page_number > pages:
        raise NotFound(f"There is no page {page_number} of {pages}.", f"Ask for pageNumber=1 to {pages}.")
    start = (page_number - 1) * page_size
    around = {"previous": page_number - 1, "next": page_number + 1}
    return {
        "language": "en",
        "tables": [table_document(*each, base) for each in found[start : start + page_size]],
        "page": {
            "pageNumber": page_number,
            "pageSize": page_size,
            "totalElements": len(found),
            "totalPages": pages,
            "links": [
                link_object(f"{base}/tables?pageNumber={number}&pageSize={page_size}", rel)
                for rel, number in around.items()
                if 1 <= number <= pages and not query and not earliest
            ],
        },
        "links": [link_object(f"{base}/tables", "self")],
    }


def since(days: int) -> str:
    """The time some days ago, in the format of load times."""
    return (datetime.now(UTC) - timedelta(days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _matches(dataset: Dataset, query: str) -> bool:
    names = [text for variable in dataset.variables for text in (variable.name, variable.label)]
    text = " ".join((dataset.id, dataset.label, dataset.description, dataset.source, *names)).casefold()
    return all(word in text for word in query.casefold().split())


def read_number(name: str, text: str, default: int, largest: int) -> int:
    """Parse a whole number of at least 1."""
    if not text:
        return default
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:12]) <= largest:
        raise BadRequest(f'{name} is "{text}".', f"Give a whole number between 1 and {largest:,}.")
    return int(text)
