"""The pages: the list of datasets, the table builder, the test of independence, code lists, errors.

Every page is rendered here and works without JavaScript; the address is the whole state. A later builder adds
to these pages and asks the same routes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.errors import BadRequest, DiscreetError, NotFound, Refused, UnknownVersion, VersionClosed
from discreet.inference.cell_targets import refuse_no_counts
from discreet.inference.independence import independence_test
from discreet.inference.interval_document import error_text, interval_texts
from discreet.inference.viewed import check_view
from discreet.model.told import told
from discreet.server import snippets
from discreet.server.address import here, link
from discreet.server.answer import asked_door, check, conditional, strong_tag, tag_of
from discreet.server.assets import FINGERPRINT
from discreet.server.audit.entry import note_refusal
from discreet.server.builder.outlook import outlook
from discreet.server.builder.routes import also_of, builder_router
from discreet.server.catalogue import schema_org
from discreet.server.comparison import add_comparison_page
from discreet.server.embed import add_embed
from discreet.server.form import filled_form, form_parameters, is_raw, read_form, readable_request
from discreet.server.front import ALWAYS, MOMENT
from discreet.server.independence import is_two_way, two_way_release, verdict
from discreet.server.interval import (
    INTERVAL_PARAMETERS,
    LISTED_CELLS,
    asked_interval,
    interval_heading,
    interval_in_words,
    list_of_cells,
    read_interval,
)
from discreet.server.keep import ways_to_keep
from discreet.server.landing import add_landing
from discreet.server.layouts import Layouts
from discreet.server.methodology import add_methodology_page
from discreet.server.problems import explanations, public
from discreet.server.programmers import add_programmers
from discreet.server.query import TABLE_PARAMETERS, asked_version, read_table, read_view, refuse_unknown
from discreet.server.reading import read_reading
from discreet.server.result import shown_table
from discreet.server.seeing import seeing
from discreet.server.spoken import spoken_dataset, spoken_release
from discreet.server.table_routes import table_router
from discreet.server.templating import page
from discreet.server.words import say

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams

    from discreet.answer.door import Door
    from discreet.answer.doors import Doors
    from discreet.answer.question import Question
    from discreet.model.dataset import Dataset
    from discreet.server.interval import AskedInterval
    from discreet.workspace.options import Options


def page_router(doors: Doors, options: Options) -> APIRouter:
    """The routes of the pages."""
    router = APIRouter(include_in_schema=False)
    layouts = Layouts()

    @router.get("/datasets/{dataset_id}")
    def table_builder(request: Request, dataset_id: str) -> Response:
        """The form and the table that it asks for."""
        door, query = doors.door(dataset_id), request.query_params
        try:  # where a version is not answered, the form of the one that is served remains
            door = asked_door(doors, request, dataset_id)
            refuse_unknown(query, form_parameters(door.dataset))
            question, also = check(door, read_form(door.dataset, query, door.start)), _page_also(request)
        except DiscreetError as error:
            return _refused(request, door, error)
        if is_raw(query):
            return RedirectResponse(
                link(snippets.page_path(question.request, also)) + "#table",
                303,
                {"cache-control": "no-store"},
            )
        told = here().base, options.page_cells, options.publisher, options.licence
        left = door.budget_left()
        tag = tag_of(question, "page", FINGERPRINT, *told, left, also)
        try:
            return conditional(
                request,
                tag,
                lambda: _table_page(request, door, question, options, layouts),
                lasting=question.lasting,
                lasts=ALWAYS if left is None else MOMENT,  # what is left changes as others spend
            )
        except (Refused, BadRequest) as error:
            return _refused(request, door, error)

    @router.get("/datasets/{dataset_id}/test/independence")
    def independence(request: Request, dataset_id: str) -> Response:
        """Whether the two variables of a table are independent."""
        refuse_unknown(request.query_params, TABLE_PARAMETERS)
        door = asked_door(doors, request, dataset_id)
        question = check(door, read_table(door.dataset, request.query_params))
        base, also = here().base, asked_version(request.query_params)
        tag = tag_of(question, "independence-page", FINGERPRINT, base, also)
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
    add_programmers(router, doors, options)
    add_embed(router, doors)
    router.include_router(table_router(doors, layouts))
    router.include_router(builder_router(doors))
    _add_interval_page(router, doors)
    add_methodology_page(router, doors)
    add_comparison_page(router, doors, options)
    _add_error_pages(router)
    return router


def _add_interval_page(router: APIRouter, doors: Doors) -> None:
    """The route that says how sure a number is."""

    @router.get("/datasets/{dataset_id}/interval")
    def interval(request: Request, dataset_id: str) -> Response:
        """How sure a sum, a share or a difference of cells is."""
        refuse_unknown(request.query_params, INTERVAL_PARAMETERS)
        door = asked_door(doors, request, dataset_id)
        question = check(door, read_table(door.dataset, request.query_params))
        asked, also = read_interval(request.query_params), asked_version(request.query_params)
        tag = tag_of(question, "interval-page", FINGERPRINT, str(asked), also)
        return conditional(
            request, tag, lambda: _interval_page(door, question, asked, also), lasting=question.lasting
        )


def _add_error_pages(router: APIRouter) -> None:
    """The routes that explain errors."""

    @router.get("/errors")
    def error_list(request: Request) -> Response:
        """Every error by its code."""
        tag = strong_tag("errors", FINGERPRINT)
        kinds = list(explanations().values())
        return conditional(request, tag, lambda: page("errors.html", kinds=kinds))

    @router.get("/errors/{code}")
    def error_meaning(request: Request, code: str) -> Response:
        """What an error means."""
        kinds = explanations()
        if code not in kinds:
            raise NotFound(
                told("There is no error of this code."),
                told("All codes are listed under {link}.", link=link("/errors")),
            )
        tag = strong_tag("error", FINGERPRINT, code)
        kind, meaning = kinds[code]
        return conditional(request, tag, lambda: page("error_meaning.html", kind=kind, meaning=meaning))


def _table_page(
    request: Request, door: Door, question: Question, options: Options, layouts: Layouts
) -> Response:
    """The page with its table."""
    asked = question.request
    view, reading = read_view(request.query_params), read_reading(request.query_params)
    check_view(view, asked, question.shape.dimensions)
    layout = layouts.layout(door, question, view, reading.labels)
    table = shown_table(layout, reading, asked_version(request.query_params), options.page_cells)
    kept = [*view.to_query(), *asked_version(request.query_params)]
    sight = seeing(reading, layout.release, kept)
    return page(
        "table.html",
        **_frame(request, door, question) | table,
        error=None,
        title=layout.release.title,
        seeing=sight,
        facts=snippets.facts(spoken_dataset(question.dataset), asked),
        keep=ways_to_keep(
            question, view.to_query(), reading.to_query(), asked_version(request.query_params), sight.chart
        ),
        interval=snippets.interval_path(asked, asked_version(request.query_params)),
        independence=snippets.independence_path(asked, asked_version(request.query_params))
        if is_two_way(question)
        else None,
        comparison=snippets.comparison_path(asked, asked_version(request.query_params)),
        newest=snippets.page_path(asked, read_view(request.query_params).to_query()),
        json_ld=schema_org(door, options),
    )


def _readable_also(query: QueryParams) -> list[tuple[str, str]]:
    """The view and the version; nothing where they cannot be read."""
    try:
        return also_of(query)
    except BadRequest:
        return []


def _page_also(request: Request) -> list[tuple[str, str]]:
    """The view, how the page is read and the version, as parameters of its own address."""
    query = request.query_params
    return [*read_view(query).to_query(), *read_reading(query).to_query(), *asked_version(query)]


def _budget_page(door: Door) -> Response:
    """The promise, the price of every table, and what is left."""
    found, dataset = door.budget(), spoken_dataset(door.dataset)
    return page(
        "budget.html",
        dataset=dataset,
        found=found,
        left=door.budget_left(),
        promise=door.promise(),
        tables=_labelled(dataset, found["tables"]),
        largest=max(table["epsilon"] for table in found["tables"]),
    )


def _labelled(dataset: Dataset, tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tables of a budget with their labels, the sharpest first, then by label."""

    def label(table: dict[str, Any]) -> str:
        return " × ".join(dataset.variable(name).label for name in table["variables"])

    told = [{**table, "label": label(table)} for table in tables]
    return sorted(told, key=lambda table: (-table["epsilon"], len(table["variables"]), table["label"]))


def _independence_page(door: Door, question: Question, base: str, also: snippets.Also) -> Response:
    """What the test says, the naive test beside it, and why they differ."""
    found = independence_test(two_way_release(door, question))
    asked = question.request
    first, second = (dimension.label for dimension in question.shape.dimensions)
    return page(
        "independence.html",
        dataset=spoken_dataset(question.dataset),
        digest=question.digest,
        first=first,
        second=second,
        title=question.title,
        facts=snippets.facts(spoken_dataset(question.dataset), asked),
        found=found,
        verdict=verdict(found),
        table=snippets.page_path(asked, also),
        json=f"/api{snippets.independence_path(asked, also)}",
        codes={
            say("In Python"): snippets.python_test(asked, base, also),
            say("On the command line"): snippets.command_test(asked, base, also),
        },
    )


def _interval_page(door: Door, question: Question, asked: AskedInterval, also: snippets.Also) -> Response:
    """A form for cells, and the interval of what was asked."""
    release = door.answer(question)
    weighted = release.measure.has_errors
    if not weighted:
        refuse_no_counts(release)
    found, said = None, ""
    if asked.cells:
        found = asked_interval(release, asked)
        texts = interval_texts(found, share=bool(asked.of), ratio=bool(asked.over), minus=bool(asked.minus))
        said = interval_in_words(asked, texts, error_text(found), weighted=weighted)
    dimensions = spoken_release(release).dimensions
    return page(
        "interval.html",
        dataset=spoken_dataset(question.dataset),
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


def _refused(request: Request, door: Door, error: DiscreetError) -> Response:
    """The form as it was left, and why there is no table."""
    note_refusal(error)
    shown = public(error)
    frame = _frame(request, door, None, error)
    response = page("table.html", status=shown.http_status, **frame, error=shown, title="")
    response.headers["cache-control"] = "no-store"
    return response


def _frame(
    request: Request, door: Door, question: Question | None, error: DiscreetError | None = None
) -> dict[str, Any]:
    """What the page has with and without a table."""
    query, dataset = request.query_params, spoken_dataset(door.dataset)
    asked = readable_request(door.dataset, query) if question is None else question.request
    also = _readable_also(query)
    if isinstance(error, UnknownVersion | VersionClosed):  # the form asks the version that is served
        also = [item for item in also if item[0] != "version"]
    return {
        "dataset": dataset,
        "digest": door.digest,
        "form": filled_form(dataset, query, asked, also, door.offer),
        "outlook": outlook(door, asked, also, error, counting=True),
        "notes": [door.note("" if question is None else asked.additivity)],
        "promise": door.promise(),
        "left": door.budget_left(),
    }
