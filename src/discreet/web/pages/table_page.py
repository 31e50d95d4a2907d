"""The page of a table: the builder's form, the table with its chart and downloads, or why there is no table.

All pages are rendered on the server and work without JavaScript; the URL is the whole state. A table of at most
`page_cells` cells is drawn at once; a larger one in parts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.errors import BadRequest, DiscreetError, Refused, UnknownVersion, VersionClosed
from discreet.inference.table_view import check_view
from discreet.model.messages.text import sentences_of
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.dataset_service import DatasetService
from discreet.web.api.dcat import schema_org
from discreet.web.cache import ALWAYS, MOMENT
from discreet.web.i18n.translation import translate_dataset
from discreet.web.pages.api_guide import add_api_guide
from discreet.web.pages.builder import fill_form, form_parameters, is_browser_form, lenient_request, read_form
from discreet.web.pages.charts_tab import chart_tabs
from discreet.web.pages.comparison_page import add_comparison_page
from discreet.web.pages.custodian import add_error_pages
from discreet.web.pages.downloads import download_panel
from discreet.web.pages.independence_page import add_independence_page, is_two_way
from discreet.web.pages.interval_page import add_interval_page, noise_uncertainty
from discreet.web.pages.landing import add_embed, add_landing
from discreet.web.pages.links import QueryItems, page_path, table_path
from discreet.web.pages.methodology_page import add_budget_page, add_methodology_page
from discreet.web.pages.page_request import (
    ALL_LAYERS,
    DisplayOptions,
    PageRequest,
    layer_rows,
    link_parameters,
    page_of,
)
from discreet.web.pages.picker import add_picker
from discreet.web.pages.preview import preview_table
from discreet.web.pages.print_layout import SHEET_COLUMNS, add_blocks, add_print_page, paginate, print_sheets
from discreet.web.pages.table_grid import Layout, grid, table_facts
from discreet.web.pages.toolbar import Toolbar
from discreet.web.problems import note_refusal, public_error
from discreet.web.release_cache import GridCache, ReleaseCache
from discreet.web.responses import open_service
from discreet.web.templating import render_page
from discreet.web.urls import link, refuse_unknown
from discreet.workspace.options import Options


def page_router(registry: DatasetRegistry, options: Options, releases: ReleaseCache) -> APIRouter:
    """The routes of all pages."""
    router = APIRouter(include_in_schema=False)
    grids = GridCache(releases)

    @router.get("/datasets/{dataset_id}")
    def table_page(request: Request, dataset_id: str) -> Response:
        """The form and its table."""
        service, query = registry.door(dataset_id), request.query_params
        try:  # for an unavailable version, the form of the current version remains
            service = open_service(registry, request, dataset_id)
            refuse_unknown(query, form_parameters(service.dataset))
            page = page_of(request, service, read_form(service.dataset, query, service.start))
        except DiscreetError as error:
            return _refusal(request, service, error)
        if is_browser_form(query):
            place = link(page_path(page.table, page.page_items))
            return RedirectResponse(f"{place}#table", 303, {"cache-control": "no-store"})
        left = service.budget_left()
        shown_by = options.page_cells, options.publisher, options.licence, left
        lasts = ALWAYS if left is None else MOMENT  # the remaining budget changes as others spend
        try:
            return page.respond("page", lambda: _render(page, options, grids), *shown_by, lasts=lasts)
        except (Refused, BadRequest) as error:
            return _refusal(request, service, error)

    add_landing(router, registry)
    add_api_guide(router, registry, options)
    add_embed(router, registry)
    add_blocks(router, registry, grids)
    add_print_page(router, registry, grids)
    add_picker(router, registry)
    add_independence_page(router, registry)
    add_interval_page(router, registry)
    add_budget_page(router, registry)
    add_methodology_page(router, registry)
    add_comparison_page(router, registry, options)
    add_error_pages(router)
    return router


def _render(page: PageRequest, options: Options, grids: GridCache) -> Response:
    table, checked = page.table, page.checked
    check_view(page.view, table, checked.shape.dimensions)
    layout = grids.layout(page.service, checked, page.view, page.display.labels)
    tabs = chart_tabs(page.display, layout.release, page.items)
    view, display = page.view.to_query(), page.display.to_query()
    return render_page(
        "table.html",
        **_form_context(page.http, page.service, checked)
        | table_context(layout, page.display, page.version, options.page_cells),
        error=None,
        title=layout.release.title,
        seeing=tabs,
        facts=table_facts(page.dataset, table),
        keep=download_panel(checked, view, display, page.version, tabs.chart),
        interval=table_path(table, "interval", page.version),
        independence=table_path(table, "test/independence", page.version) if is_two_way(checked) else None,
        comparison=table_path(table, "compare", page.version),
        newest=page_path(table, view),
        json_ld=schema_org(page.service, options),
    )


def table_context(
    layout: Layout, display: DisplayOptions, version: QueryItems, page_cells: int
) -> dict[str, Any]:
    """The template's variables that draw a table.

    Raises:
        BadRequest: There is no such layer or page.
    """
    release = layout.release
    if display.show and not display.layer:  # a chart shows all layers, and so does the table behind it
        display = replace(display, layer=ALL_LAYERS)
    rows, width = layer_rows(layout, display.layer), layout.lengths[1]
    part = paginate(rows, width, page_cells, display.page) if len(rows) * width > page_cells else None
    first, *rest = sentences_of(release.notes[0])
    return {
        "grid": grid(layout, rows, None) if part is None else grid(layout, part.rows, part.columns),
        "toolbar": Toolbar(release.request, release.view, display, version, layout, rows),
        "part": part,
        "height": len(rows),
        "width": width,
        "beside": len(release.derived) + 2 * (release.errors is not None),
        "sheets": print_sheets(layout, rows) if part is None and width > SHEET_COLUMNS else [],
        "certainty": noise_uncertainty(release),
        "first_note": first,
        "notes": [*([" ".join(rest)] if rest else []), *release.notes[1:]],
        "promise": release.promise,
    }


def _refusal(request: Request, service: DatasetService, error: DiscreetError) -> Response:
    """The form as the reader left it, and why there is no table."""
    note_refusal(error)
    shown = public_error(error)
    context = _form_context(request, service, None, error)
    response = render_page("table.html", status=shown.http_status, **context, error=shown, title="")
    response.headers["cache-control"] = "no-store"
    return response


def _form_context(
    request: Request,
    service: DatasetService,
    checked: CheckedRequest | None,
    error: DiscreetError | None = None,
) -> dict[str, Any]:
    """The template's variables with and without a table."""
    query, dataset = request.query_params, translate_dataset(service.dataset)
    table = lenient_request(service.dataset, query) if checked is None else checked.request
    try:
        items = link_parameters(query)
    except BadRequest:
        items = []
    if isinstance(error, UnknownVersion | VersionClosed):  # the form asks for the current version
        items = [item for item in items if item[0] != "version"]
    return {
        "dataset": dataset,
        "digest": service.digest,
        "form": fill_form(dataset, query, table, items, service.offer),
        "outlook": preview_table(service, table, items, error, counting=True),
        "notes": [service.note("" if checked is None else table.additivity)],
        "promise": service.promise(),
        "left": service.budget_left(),
    }
