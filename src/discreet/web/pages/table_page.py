"""What the page says of a table: the grid, what can be changed about it, and how sure it is.

A table of at most `page_cells` cells is drawn at once. A larger one is drawn in parts: with scripts in a window that
moves over it, without them page by page.

The pages: the list of datasets, the table builder, the test of independence, code lists, errors.

Every page is rendered here and works without JavaScript; the address is the whole state. A later builder adds
to these pages and asks the same routes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from starlette.datastructures import QueryParams
from starlette.responses import RedirectResponse, Response

from discreet.errors import BadRequest, DiscreetError, NotFound, Refused, UnknownVersion, VersionClosed
from discreet.inference.confidence_intervals.table_intervals import (
    error_text,
    interval_texts,
    refuse_no_counts,
)
from discreet.inference.hypothesis_tests.independence import independence_test
from discreet.inference.table_view import check_view
from discreet.model.dataset import Dataset
from discreet.model.messages.text import message
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.dataset_service import DatasetService
from discreet.web.api.dcat import schema_org
from discreet.web.assets import FINGERPRINT
from discreet.web.audit.entry import note_refusal
from discreet.web.cache import ALWAYS, MOMENT
from discreet.web.i18n.dataset_labels import translate_dataset, translate_release
from discreet.web.i18n.messages import gettext
from discreet.web.pages import links as snippets
from discreet.web.pages.api_guide import add_api_guide
from discreet.web.pages.builder import fill_form, form_parameters, is_browser_form, lenient_request, read_form
from discreet.web.pages.charts_tab import chart_tabs
from discreet.web.pages.comparison_page import add_comparison_page
from discreet.web.pages.display_options import ALL_LAYERS, DisplayOptions, layer_rows, read_display_options
from discreet.web.pages.downloads import download_panel
from discreet.web.pages.embed import add_embed
from discreet.web.pages.independence_page import conclusion, is_two_way, two_way_release
from discreet.web.pages.interval_page import (
    INTERVAL_PARAMETERS,
    LISTED_CELLS,
    IntervalQuery,
    find_interval,
    interval_heading,
    interval_in_words,
    list_of_cells,
    read_interval,
)
from discreet.web.pages.landing import add_landing
from discreet.web.pages.links import QueryItems
from discreet.web.pages.methodology_page import add_methodology_page
from discreet.web.pages.picker import builder_router, link_parameters
from discreet.web.pages.preview import preview_table
from discreet.web.pages.print_layout import SHEET_COLUMNS, paginate, print_sheets, table_router
from discreet.web.pages.table_grid import Layout, grid
from discreet.web.pages.toolbar import Toolbar
from discreet.web.pages.uncertainty import noise_uncertainty
from discreet.web.problems import error_explanations, public_error
from discreet.web.query import TABLE_PARAMETERS, read_table, read_view, refuse_unknown, version_query
from discreet.web.release_cache import GridCache
from discreet.web.responses import check_request, conditional, etag_of, open_service, strong_etag
from discreet.web.templating import render_page
from discreet.web.urls import link, site_url
from discreet.workspace.options import Options


def table_context(
    layout: Layout, reading: DisplayOptions, version: QueryItems, page_cells: int
) -> dict[str, Any]:
    """All that the page draws of a table.

    Raises:
        BadRequest: There is no such layer or page.
    """
    release = layout.release
    if reading.show and not reading.layer:  # a picture shows all layers, and so does the table behind it
        reading = replace(reading, layer=ALL_LAYERS)
    rows, width = layer_rows(layout, reading.layer), layout.lengths[1]
    here = paginate(rows, width, page_cells, reading.page) if len(rows) * width > page_cells else None
    first, *rest = release.notes[0].split(". ", 1)
    return {
        "grid": grid(layout, rows, None) if here is None else grid(layout, here.rows, here.columns),
        "toolbar": Toolbar(release.request, release.view, reading, version, layout, rows),
        "part": here,
        "height": len(rows),
        "width": width,
        "beside": len(release.derived) + 2 * (release.errors is not None),
        "sheets": print_sheets(layout, rows) if here is None and width > SHEET_COLUMNS else [],
        "certainty": noise_uncertainty(release),
        "first_note": first.removesuffix(".") + ".",
        "notes": [*rest, *release.notes[1:]],
        "promise": release.promise,
    }


def page_router(doors: DatasetRegistry, options: Options) -> APIRouter:
    """The routes of the pages."""
    router = APIRouter(include_in_schema=False)
    layouts = GridCache()

    @router.get("/datasets/{dataset_id}")
    def table_builder(request: Request, dataset_id: str) -> Response:
        """The form and the table that it asks for."""
        door, query = doors.door(dataset_id), request.query_params
        try:  # where a version is not answered, the form of the one that is served remains
            door = open_service(doors, request, dataset_id)
            refuse_unknown(query, form_parameters(door.dataset))
            question, also = (
                check_request(door, read_form(door.dataset, query, door.start)),
                _page_also(request),
            )
        except DiscreetError as error:
            return _refusal_page(request, door, error)
        if is_browser_form(query):
            return RedirectResponse(
                link(snippets.page_path(question.request, also)) + "#table",
                303,
                {"cache-control": "no-store"},
            )
        told = site_url().base, options.page_cells, options.publisher, options.licence
        left = door.budget_left()
        tag = etag_of(question, "page", FINGERPRINT, *told, left, also)
        try:
            return conditional(
                request,
                tag,
                lambda: _table_page(request, door, question, options, layouts),
                lasting=question.lasting,
                lasts=ALWAYS if left is None else MOMENT,  # what is left changes as others spend
            )
        except (Refused, BadRequest) as error:
            return _refusal_page(request, door, error)

    @router.get("/datasets/{dataset_id}/test/independence")
    def independence(request: Request, dataset_id: str) -> Response:
        """Whether the two variables of a table are independent."""
        refuse_unknown(request.query_params, TABLE_PARAMETERS)
        door = open_service(doors, request, dataset_id)
        question = check_request(door, read_table(door.dataset, request.query_params))
        base, also = site_url().base, version_query(request.query_params)
        tag = etag_of(question, "independence-page", FINGERPRINT, base, also)
        return conditional(
            request, tag, lambda: _independence_page(door, question, base, also), lasting=question.lasting
        )

    @router.get("/datasets/{dataset_id}/budget")
    def budget(request: Request, dataset_id: str) -> Response:
        """What a dataset under `dp` promises and costs, table by table."""
        refuse_unknown(request.query_params, ())
        response = _budget_page(doors.door(dataset_id))
        response.headers["cache-control"] = "no-store"
        return response

    add_landing(router, doors)
    add_api_guide(router, doors, options)
    add_embed(router, doors)
    router.include_router(table_router(doors, layouts))
    router.include_router(builder_router(doors))
    _add_interval_page(router, doors)
    add_methodology_page(router, doors)
    add_comparison_page(router, doors, options)
    _add_error_pages(router)
    return router


def _add_interval_page(router: APIRouter, doors: DatasetRegistry) -> None:
    """The route that says how sure a number is."""

    @router.get("/datasets/{dataset_id}/interval")
    def interval(request: Request, dataset_id: str) -> Response:
        """How sure a sum, a share or a difference of cells is."""
        refuse_unknown(request.query_params, INTERVAL_PARAMETERS)
        door = open_service(doors, request, dataset_id)
        question = check_request(door, read_table(door.dataset, request.query_params))
        asked, also = read_interval(request.query_params), version_query(request.query_params)
        tag = etag_of(question, "interval-page", FINGERPRINT, str(asked), also)
        return conditional(
            request, tag, lambda: _interval_page(door, question, asked, also), lasting=question.lasting
        )


def _add_error_pages(router: APIRouter) -> None:
    """The routes that explain errors."""

    @router.get("/errors")
    def error_list(request: Request) -> Response:
        """Every error by its code."""
        tag = strong_etag("errors", FINGERPRINT)
        kinds = list(error_explanations().values())
        return conditional(request, tag, lambda: render_page("errors.html", kinds=kinds))

    @router.get("/errors/{code}")
    def error_meaning(request: Request, code: str) -> Response:
        """What an error means."""
        kinds = error_explanations()
        if code not in kinds:
            raise NotFound(
                message("There is no error of this code."),
                message("All codes are listed under {link}.", link=link("/errors")),
            )
        tag = strong_etag("error", FINGERPRINT, code)
        kind, meaning = kinds[code]
        return conditional(
            request, tag, lambda: render_page("error_meaning.html", kind=kind, meaning=meaning)
        )


def _table_page(
    request: Request, door: DatasetService, question: CheckedRequest, options: Options, layouts: GridCache
) -> Response:
    """The page with its table."""
    asked = question.request
    view, reading = read_view(request.query_params), read_display_options(request.query_params)
    check_view(view, asked, question.shape.dimensions)
    layout = layouts.layout(door, question, view, reading.labels)
    table = table_context(layout, reading, version_query(request.query_params), options.page_cells)
    kept = [*view.to_query(), *version_query(request.query_params)]
    sight = chart_tabs(reading, layout.release, kept)
    return render_page(
        "table.html",
        **_frame(request, door, question) | table,
        error=None,
        title=layout.release.title,
        seeing=sight,
        facts=snippets.table_facts(translate_dataset(question.dataset), asked),
        keep=download_panel(
            question, view.to_query(), reading.to_query(), version_query(request.query_params), sight.chart
        ),
        interval=snippets.interval_path(asked, version_query(request.query_params)),
        independence=snippets.independence_path(asked, version_query(request.query_params))
        if is_two_way(question)
        else None,
        comparison=snippets.comparison_path(asked, version_query(request.query_params)),
        newest=snippets.page_path(asked, read_view(request.query_params).to_query()),
        json_ld=schema_org(door, options),
    )


def _readable_also(query: QueryParams) -> list[tuple[str, str]]:
    """The view and the version; nothing where they cannot be read."""
    try:
        return link_parameters(query)
    except BadRequest:
        return []


def _page_also(request: Request) -> list[tuple[str, str]]:
    """The view, how the page is read and the version, as parameters of its own address."""
    query = request.query_params
    return [*read_view(query).to_query(), *read_display_options(query).to_query(), *version_query(query)]


def _budget_page(door: DatasetService) -> Response:
    """The promise, the price of every table, and what is left."""
    found, dataset = door.budget(), translate_dataset(door.dataset)
    return render_page(
        "budget.html",
        dataset=dataset,
        found=found,
        left=door.budget_left(),
        promise=door.promise(),
        tables=_label_tables(dataset, found["tables"]),
        largest=max(table["epsilon"] for table in found["tables"]),
    )


def _label_tables(dataset: Dataset, tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tables of a budget with their labels, the sharpest first, then by label."""

    def label(table: dict[str, Any]) -> str:
        return " × ".join(dataset.variable(name).label for name in table["variables"])

    told = [{**table, "label": label(table)} for table in tables]
    return sorted(told, key=lambda table: (-table["epsilon"], len(table["variables"]), table["label"]))


def _independence_page(
    door: DatasetService, question: CheckedRequest, base: str, also: snippets.QueryItems
) -> Response:
    """What the test says, the naive test beside it, and why they differ."""
    found = independence_test(two_way_release(door, question))
    asked = question.request
    first, second = (dimension.label for dimension in question.shape.dimensions)
    return render_page(
        "independence.html",
        dataset=translate_dataset(question.dataset),
        digest=question.digest,
        first=first,
        second=second,
        title=question.title,
        facts=snippets.table_facts(translate_dataset(question.dataset), asked),
        found=found,
        verdict=conclusion(found),
        table=snippets.page_path(asked, also),
        json=f"/api{snippets.independence_path(asked, also)}",
        codes={
            gettext("In Python"): snippets.python_test(asked, base, also),
            gettext("On the command line"): snippets.command_test(asked, base, also),
        },
    )


def _interval_page(
    door: DatasetService, question: CheckedRequest, asked: IntervalQuery, also: snippets.QueryItems
) -> Response:
    """A form for cells, and the interval of what was asked."""
    release = door.answer(question)
    weighted = release.measure.has_errors
    if not weighted:
        refuse_no_counts(release)
    found, said = None, ""
    if asked.cells:
        found = find_interval(release, asked)
        texts = interval_texts(found, share=bool(asked.of), ratio=bool(asked.over), minus=bool(asked.minus))
        said = interval_in_words(asked, texts, error_text(found), weighted=weighted)
    dimensions = translate_release(release).dimensions
    return render_page(
        "interval.html",
        dataset=translate_dataset(question.dataset),
        digest=question.digest,
        title=question.title,
        table=snippets.page_path(question.request, also),
        parameters=[*parse_qsl(question.request.permalink), *also],
        dimensions=dimensions,
        cells=list_of_cells(dimensions) if release.cells <= LISTED_CELLS else [],
        asked=asked,
        found=found,
        kind=interval_heading(asked),
        said=said,
        weighted=weighted,
    )


def _refusal_page(request: Request, door: DatasetService, error: DiscreetError) -> Response:
    """The form as it was left, and why there is no table."""
    note_refusal(error)
    shown = public_error(error)
    frame = _frame(request, door, None, error)
    response = render_page("table.html", status=shown.http_status, **frame, error=shown, title="")
    response.headers["cache-control"] = "no-store"
    return response


def _frame(
    request: Request,
    door: DatasetService,
    question: CheckedRequest | None,
    error: DiscreetError | None = None,
) -> dict[str, Any]:
    """What the page has with and without a table."""
    query, dataset = request.query_params, translate_dataset(door.dataset)
    asked = lenient_request(door.dataset, query) if question is None else question.request
    also = _readable_also(query)
    if isinstance(error, UnknownVersion | VersionClosed):  # the form asks the version that is served
        also = [item for item in also if item[0] != "version"]
    return {
        "dataset": dataset,
        "digest": door.digest,
        "form": fill_form(dataset, query, asked, also, door.offer),
        "outlook": preview_table(door, asked, also, error, counting=True),
        "notes": [door.note("" if question is None else asked.additivity)],
        "promise": door.promise(),
        "left": door.budget_left(),
    }
