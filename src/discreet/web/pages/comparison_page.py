"""A comparison of one table in two versions: the query of the API and of the page, and the page.

Both requests are checked before either is answered, so nothing is charged for one if the other is refused.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from starlette.responses import Response

from discreet.errors import TooManyCells
from discreet.inference.version_comparison import DifferenceDocument, VersionComparison, compare
from discreet.model.messages.text import message
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry, DatasetService
from discreet.web.admission import COMPARED, reserve_cells
from discreet.web.i18n.translation import format_number, gettext
from discreet.web.pages.inference_pages import read_level
from discreet.web.responses import check_request, conditional, etag_of, open_service
from discreet.web.templating import FINGERPRINT, render_page
from discreet.web.urls import (
    TABLE_PARAMETERS,
    link,
    page_path,
    read_table,
    read_word,
    refuse_unknown,
    version_query,
)
from discreet.workspace.options import Options

#: The largest table that is compared: its document is built in memory.
MOST_CELLS = 100_000
COMPARE_PARAMETERS = (*TABLE_PARAMETERS, "with", "level")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two versions of a table, each with its checked request."""

    services: tuple[DatasetService, DatasetService]
    checked: tuple[CheckedRequest, CheckedRequest]
    level: float

    @property
    def is_metered(self) -> bool:
        """Whether one of them is counted by account."""
        return any(each.metered for each in self.checked)

    def etag(self, *parts: object) -> str:
        """The ETag of a document of the comparison."""
        one, two = self.checked
        return etag_of(one, *parts, two.digest, two.request.to_query(), self.level)

    def answer(self) -> VersionComparison:
        """The comparison, unless the table is too large."""
        cells = max(each.cells for each in self.checked)
        if cells > MOST_CELLS:
            raise TooManyCells(
                message(
                    "The table has {cells:,} cells; at most {most:,} are compared at once.",
                    cells=cells,
                    most=MOST_CELLS,
                ),
                message("Choose fewer categories, or download both versions."),
            )
        reserve_cells(cells * COMPARED)
        one, two = (each.answer(checked) for each, checked in zip(self.services, self.checked, strict=True))
        return compare(one, two, self.level)


def read_comparison(registry: DatasetRegistry, request: Request, dataset_id: str) -> Comparison | None:
    """The comparison of a URL; None if it names no version to compare with."""
    query = request.query_params
    refuse_unknown(query, COMPARE_PARAMETERS)
    one, level = open_service(registry, request, dataset_id), read_level(query)
    word = read_word(query, "with")
    if not word:
        return None
    two, table = registry.open(dataset_id, version=word), read_table(one.dataset, query)
    return Comparison((one, two), (check_request(one, table), check_request(two, table)), level)


def comparison_page(
    registry: DatasetRegistry, options: Options, request: Request, dataset_id: str
) -> Response:
    """Two versions of a table, cell by cell."""
    wanted = read_comparison(registry, request, dataset_id)
    if wanted is None:
        return _render(registry, request, dataset_id, None)
    cells, most = wanted.checked[0].cells, options.page_cells
    if cells > most:
        place = link(f"/api/datasets/{dataset_id}/compare")
        raise TooManyCells(
            message(
                "The table has {cells:,} cells; a page compares at most {most:,}.", cells=cells, most=most
            ),
            message("Take {link}, which gives all of them as JSON.", link=place),
        )
    versions = [facts.digest for facts in registry.versions(dataset_id)]
    tag = wanted.etag("compare-page", FINGERPRINT, versions)
    return conditional(request, tag, lambda: _render(registry, request, dataset_id, wanted.answer()))


def _render(
    registry: DatasetRegistry, request: Request, dataset_id: str, found: VersionComparison | None
) -> Response:
    query = request.query_params
    service = open_service(registry, request, dataset_id)
    checked = check_request(service, read_table(service.dataset, query))
    choices = [facts for facts in registry.versions(dataset_id) if not facts.closed]
    return render_page(
        "compare.html",
        dataset=checked.dataset,
        title=checked.title,
        table=page_path(checked.request, version_query(query)),
        parameters=checked.request.to_query(),
        choices=choices[::-1],
        digest=checked.digest,
        other="" if found is None else found.other.digest,
        level=read_level(query),
        found=found,
        lines=[] if found is None else _lines(found),
        json=f"/api/datasets/{dataset_id}/compare?{urlencode(query.multi_items())}",
    )


def _lines(found: VersionComparison) -> list[dict[str, Any]]:
    """The cells with their labels and formatted numbers."""

    def number(value: float | None, pattern: str) -> str:
        if value is None:
            return "–"
        return format_number(int(value) if pattern.endswith("d") else value, pattern)

    def interval(limits: DifferenceDocument, pattern: str) -> tuple[str, str]:
        estimate, low, high = (number(limits[name], pattern) for name in ("estimate", "low", "high"))
        between = "" if limits["estimate"] is None else gettext("{low} to {high}", low=low, high=high)
        return estimate, between

    labels = product(*(dimension.labels for dimension in found.release.dimensions))
    return [
        {
            "labels": names,
            "numbers": (number(cell["value"], ",d"), number(cell["with"], ",d")),
            "difference": interval(cell["difference"], ",.0f"),
            "ratio": interval(cell["ratio"], ".4g"),
        }
        for names, cell in zip(labels, found.document()["cells"], strict=True)
    ]
