"""The request of a page, parsed once: the table, the version, the view and the display options."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from discreet.model.dataset import Dataset
from discreet.model.request import TableRequest
from discreet.model.view import BASES, ORDERS, View
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.dataset_service import DatasetService
from discreet.web.assets import FINGERPRINT
from discreet.web.cache import ALWAYS
from discreet.web.i18n.dataset_labels import translate_dataset
from discreet.web.pages.display_options import DisplayOptions, read_display_options
from discreet.web.query import read_table, read_view, refuse_unknown, version_query
from discreet.web.responses import check_request, conditional, etag_of, open_service


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page about one table.

    Args:
        http: The HTTP request.
        service: The dataset, in the version of the URL.
        checked: The table, checked against the rules of shape.
        view: Percentages, ranks and order of rows.
        display: Labels, layer, tab and part of the page.
        version: The version parameter of the URL; empty for the current version.
    """

    http: Request
    service: DatasetService
    checked: CheckedRequest
    view: View
    display: DisplayOptions
    version: list[tuple[str, str]]

    @property
    def table(self) -> TableRequest:
        """The canonical request."""
        return self.checked.request

    @property
    def dataset(self) -> Dataset:
        """The description in the reader's language."""
        return translate_dataset(self.checked.dataset)

    @property
    def items(self) -> list[tuple[str, str]]:
        """The view and the version as URL parameters: what documents of the table take."""
        return [*self.view.to_query(), *self.version]

    @property
    def page_items(self) -> list[tuple[str, str]]:
        """The view, the display options and the version as URL parameters of this page."""
        return [*self.view.to_query(), *self.display.to_query(), *self.version]

    def respond(
        self, kind: str, render: Callable[[], Response], *parts: object, lasts: float = ALWAYS
    ) -> Response:
        """304 or the rendered page.

        Args:
            kind: Which page: a part of the ETag.
            render: Makes the page.
            parts: Further values that the page depends on.
            lasts: For how many seconds the cache may serve the page.
        """
        query = self.http.query_params.multi_items()
        tag = etag_of(self.checked, kind, FINGERPRINT, query, *parts)
        return conditional(self.http, tag, render, lasting=self.checked.lasting, lasts=lasts)


def parse_page(
    registry: DatasetRegistry, http: Request, dataset_id: str, known: Iterable[str]
) -> PageRequest:
    """The request of a page that takes only `known` parameters.

    Raises:
        BadRequest, UnknownVariable, UnknownCategory, UnknownVersion: The URL cannot be parsed.
        Refused: A rule does not allow the table.
    """
    refuse_unknown(http.query_params, known)
    service = open_service(registry, http, dataset_id)
    return page_of(http, service, read_table(service.dataset, http.query_params))


def page_of(http: Request, service: DatasetService, table: TableRequest) -> PageRequest:
    """The request of a page about a table that was parsed already."""
    query = http.query_params
    checked = check_request(service, table)
    return PageRequest(
        http, service, checked, read_view(query), read_display_options(query), version_query(query)
    )


def link_parameters(query: QueryParams) -> list[tuple[str, str]]:
    """What links to other tables keep of a URL: the view, unless it names a cell of this table, and the version."""
    view, display = read_view(query), read_display_options(query)
    percent = view.percent if view.percent in BASES else ""
    sort = view.sort if view.sort.removeprefix("-") in ORDERS else ""
    kept = replace(view, percent=percent, sort=sort)
    shown = DisplayOptions(display.labels, show=display.show)
    return [*kept.to_query(), *shown.to_query(), *version_query(query)]
