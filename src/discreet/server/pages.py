"""The pages: the list of datasets, the table builder, the test of independence, code lists, errors.

Every page is rendered here and works without JavaScript; the address is the whole state. A later builder adds
to these pages and asks the same routes.

Comes from: the reader's browser. Goes to: `answer` for the table, `templates/` for the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.errors import BadRequest, DiscreetError, NotFound, Refused, nearest
from discreet.inference.cell_targets import error_text, interval_texts, refuse_no_counts
from discreet.inference.independence import independence_test
from discreet.inference.viewed import viewed
from discreet.server import snippets
from discreet.server.address import here, link
from discreet.server.answer import asked_door, check, conditional, strong_tag, tag_of
from discreet.server.catalogue import schema_org
from discreet.server.certainty import certainty
from discreet.server.datasets import usable
from discreet.server.form import filled_form, form_parameters, is_raw, read_form
from discreet.server.grid import grid
from discreet.server.independence import is_two_way, two_way_release, verdict
from discreet.server.interval import INTERVAL_PARAMETERS, asked_interval, read_interval
from discreet.server.methodology import add_methodology_page
from discreet.server.problems import explanations, public
from discreet.server.query import TABLE_PARAMETERS, asked_version, read_table, read_view, refuse_unknown
from discreet.server.templating import FINGERPRINT, page

if TYPE_CHECKING:
    from discreet.answer.door import Door, Doors
    from discreet.answer.question import Question
    from discreet.server.interval import AskedInterval
    from discreet.workspace.options import Options


def page_router(doors: Doors, options: Options) -> APIRouter:
    """The routes of the pages."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    def landing(request: Request) -> Response:
        """All datasets, as cards."""
        found = usable(doors)
        tag = strong_tag("landing", FINGERPRINT, [door.digest for door in found])
        return conditional(
            request, tag, lambda: page("landing.html", datasets=[door.dataset for door in found])
        )

    @router.get("/datasets/{dataset_id}")
    def table_builder(request: Request, dataset_id: str) -> Response:
        """The form and the table that it asks for."""
        door, query = doors.door(dataset_id), request.query_params
        try:  # where a version is not answered, the form of the one that is served remains
            door = asked_door(doors, request, dataset_id)
            refuse_unknown(query, form_parameters(door.dataset))
            question, also = check(door, read_form(door.dataset, query)), _also(request)
        except DiscreetError as error:
            return _refused(request, door, error)
        if is_raw(query):
            return RedirectResponse(
                link(snippets.page_path(question.request, also)) + "#table",
                303,
                {"cache-control": "no-store"},
            )
        told = here().base, options.page_cells, options.publisher, options.licence
        tag = tag_of(question, "page", FINGERPRINT, *told, door.budget_left(), also)
        try:
            return conditional(request, tag, lambda: _table_page(request, door, question, options))
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
        return conditional(request, tag, lambda: _independence_page(door, question, base, also))

    @router.get("/datasets/{dataset_id}/variables/{name}")
    def code_list(request: Request, dataset_id: str, name: str) -> Response:
        """The codes of one variable, to look up and copy."""
        door = asked_door(doors, request, dataset_id)
        names = [variable.name for variable in door.dataset.variables]
        if name not in names:
            raise NotFound(f'The dataset "{dataset_id}" has no variable "{name}".', nearest(name, names))
        variable = door.dataset.variable(name)
        tag = strong_tag("codes", FINGERPRINT, door.digest, name)
        return conditional(request, tag, lambda: page("codes.html", dataset=door.dataset, variable=variable))

    @router.get("/datasets/{dataset_id}/budget")
    def budget(request: Request, dataset_id: str) -> Response:
        """What a dataset under `dp` promises and costs, table by table."""
        refuse_unknown(request.query_params, ())
        response = _budget_page(doors.door(dataset_id))
        response.headers["cache-control"] = "no-store"
        return response

    _add_interval_page(router, doors)
    add_methodology_page(router, doors)
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
        return conditional(request, tag, lambda: _interval_page(door, question, asked, also))


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
                "There is no error of this code.", f"All codes are listed under {link('/errors')}."
            )
        tag = strong_tag("error", FINGERPRINT, code)
        kind, meaning = kinds[code]
        return conditional(request, tag, lambda: page("error_meaning.html", kind=kind, meaning=meaning))


def _table_page(request: Request, door: Door, question: Question, options: Options) -> Response:
    """The page with its table, or with downloads only when the table is too large for a page."""
    base, asked, also = here().base, question.request, _also(request)
    release = None
    if question.cells <= options.page_cells:
        release = viewed(door.answer(question), read_view(request.query_params))
    if release is None:
        door.refuse_unreleased(asked)
    sure = None if release is None else certainty(release)
    told = {} if release is None else {"notes": release.notes, "promise": release.promise}
    return page(
        "table.html",
        **_frame(request, door, question) | told,
        error=None,
        title=question.title if release is None else release.title,
        grid=None if release is None else grid(release, sure.titles if sure else None),
        certainty=sure,
        cells=question.cells,
        page_cells=options.page_cells,
        facts=snippets.facts(question.dataset, asked),
        downloads=snippets.downloads(asked, also),
        interval=snippets.interval_path(asked, asked_version(request.query_params)),
        independence=snippets.independence_path(asked, asked_version(request.query_params))
        if is_two_way(question)
        else None,
        newest=snippets.page_path(asked, read_view(request.query_params).to_query()),
        permalink=base + snippets.page_path(asked, _naming_version(request, question)),
        codes={
            "From a shell": snippets.curl(asked, base, also),
            "In Python": snippets.python(asked, base, also),
            "On the command line": snippets.command(asked, base, also),
        },
        citation=snippets.citation(question, base, read_view(request.query_params).to_query()),
        json_ld=schema_org(door, options),
    )


def _also(request: Request) -> list[tuple[str, str]]:
    """The view and the version that an address names, as parameters of further links."""
    query = request.query_params
    return [*read_view(query).to_query(), *asked_version(query)]


def _naming_version(request: Request, question: Question) -> list[tuple[str, str]]:
    """The view, and the version that answered: a link that shows the same numbers for as long as it is kept."""
    return [*read_view(request.query_params).to_query(), snippets.named_version(question.digest)]


def _budget_page(door: Door) -> Response:
    """The promise, the price of every table, and what is left."""
    found, dataset = door.budget(), door.dataset
    return page(
        "budget.html",
        dataset=dataset,
        found=found,
        left=door.budget_left(),
        promise=door.promise(),
        labels=[
            " x ".join(dataset.variable(name).label for name in table["variables"])
            for table in found["tables"]
        ],
        largest=max(table["epsilon"] for table in found["tables"]),
    )


def _instead(request: Request, door: Door) -> tuple[str, str] | None:
    """The title and address of the nearest table that is allowed."""
    found = door.suggestion(read_form(door.dataset, request.query_params))
    return (
        None
        if found is None
        else (found[0], snippets.page_path(found[1], asked_version(request.query_params)))
    )


def _independence_page(door: Door, question: Question, base: str, also: snippets.Also) -> Response:
    """What the test says, the naive test beside it, and why they differ."""
    found = independence_test(two_way_release(door, question))
    asked = question.request
    first, second = (dimension.label for dimension in question.shape.dimensions)
    return page(
        "independence.html",
        dataset=question.dataset,
        digest=question.digest,
        first=first,
        second=second,
        title=question.title,
        facts=snippets.facts(question.dataset, asked),
        found=found,
        verdict=verdict(found),
        table=snippets.page_path(asked, also),
        json=f"/api{snippets.independence_path(asked, also)}",
        codes={
            "In Python": snippets.python_test(asked, base, also),
            "On the command line": snippets.command_test(asked, base, also),
        },
    )


def _interval_page(door: Door, question: Question, asked: AskedInterval, also: snippets.Also) -> Response:
    """A form for cells, and the interval of what was asked."""
    release = door.answer(question)
    weighted = release.measure.has_errors
    if not weighted:
        refuse_no_counts(release)
    found = texts = None
    if asked.cells:
        found = asked_interval(release, asked)
        texts = interval_texts(found, share=bool(asked.of), ratio=bool(asked.over), minus=bool(asked.minus))
    return page(
        "interval.html",
        dataset=question.dataset,
        digest=question.digest,
        title=question.title,
        table=snippets.page_path(question.request, also),
        parameters=[*parse_qsl(question.request.permalink), *also],
        dimensions=release.dimensions,
        asked=asked,
        found=found,
        texts=texts,
        error="" if found is None else error_text(found),
        weighted=weighted,
    )


def _refused(request: Request, door: Door, error: DiscreetError) -> Response:
    """The form as it was left, and why there is no table."""
    shown = public(error)
    instead = _instead(request, door) if isinstance(error, Refused) else None
    frame = _frame(request, door, None)
    response = page("table.html", status=shown.http_status, **frame, error=shown, title="", instead=instead)
    response.headers["cache-control"] = "no-store"
    return response


def _frame(request: Request, door: Door, question: Question | None) -> dict[str, Any]:
    """What the page has with and without a table."""
    asked = None if question is None else question.request
    return {
        "dataset": door.dataset,
        "digest": door.digest,
        "form": filled_form(door.dataset, request.query_params, asked),
        "notes": [door.note("" if asked is None else asked.additivity)],
        "promise": door.promise(),
        "left": door.budget_left(),
    }
