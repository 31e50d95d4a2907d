"""The pages: the list of datasets, the table builder, the test of independence, code lists, errors.

Every page is rendered here and works without JavaScript; the address is the whole state. A later builder adds
to these pages and asks the same routes.

Comes from: the reader's browser. Goes to: `answer` for the table, `templates/` for the page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from discreet.answer.budgets import budget_left, budget_of
from discreet.answer.dry_run import suggestion
from discreet.answer.pipeline import answer, perturbed_note
from discreet.errors import DiscreetError, NotFound, Refused, nearest
from discreet.inference.independence import independence_test
from discreet.model.release import table_title
from discreet.model.shape import table_shape
from discreet.server import snippets
from discreet.server.answer import checked, conditional, strong_tag, tag_of
from discreet.server.certainty import certainty
from discreet.server.datasets import usable
from discreet.server.form import filled_form, form_parameters, is_raw, read_form
from discreet.server.grid import grid
from discreet.server.independence import is_two_way, two_way_release, verdict
from discreet.server.problems import explanations, meaning, public
from discreet.server.query import TABLE_PARAMETERS, read_table, refuse_unknown
from discreet.server.templating import FINGERPRINT, page

if TYPE_CHECKING:
    from discreet.answer.pipeline import Question
    from discreet.workspace.options import Options
    from discreet.workspace.workspace import StoredDataset, Workspace


def page_router(workspace: Workspace, options: Options) -> APIRouter:
    """The routes of the pages."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    def landing(request: Request) -> Response:
        """All datasets, as cards."""
        stored = usable(workspace)
        tag = strong_tag("landing", FINGERPRINT, [item.digest for item in stored])
        return conditional(
            request, tag, lambda: page("landing.html", datasets=[item.dataset for item in stored])
        )

    @router.get("/datasets/{dataset_id}")
    def table_builder(request: Request, dataset_id: str) -> Response:
        """The form and the table that it asks for."""
        stored = workspace.stored(dataset_id)
        query = request.query_params
        try:
            refuse_unknown(query, form_parameters(stored.dataset))
            question = checked(stored, read_form(stored.dataset, query))
        except DiscreetError as error:
            return _refused(request, stored, error)
        if is_raw(query):
            return RedirectResponse(
                snippets.page_path(question.request) + "#table", 303, {"cache-control": "no-store"}
            )
        base = str(request.base_url).rstrip("/")
        tag = tag_of(question, "page", FINGERPRINT, base, options.page_cells, budget_left(stored))
        try:
            return conditional(request, tag, lambda: _table_page(request, question, base, options))
        except Refused as error:
            return _refused(request, stored, error)

    @router.get("/datasets/{dataset_id}/test/independence")
    def independence(request: Request, dataset_id: str) -> Response:
        """Whether the two variables of a table are independent."""
        refuse_unknown(request.query_params, TABLE_PARAMETERS)
        question = checked(workspace.stored(dataset_id), read_table(dataset_id, request.query_params))
        tag = tag_of(question, "independence-page", FINGERPRINT)
        return conditional(request, tag, lambda: _independence_page(question))

    @router.get("/datasets/{dataset_id}/variables/{name}")
    def code_list(request: Request, dataset_id: str, name: str) -> Response:
        """The codes of one variable, to look up and copy."""
        stored = workspace.stored(dataset_id)
        names = [variable.name for variable in stored.dataset.variables]
        if name not in names:
            raise NotFound(f'The dataset "{dataset_id}" has no variable "{name}".', nearest(name, names))
        variable = stored.dataset.variable(name)
        tag = strong_tag("codes", FINGERPRINT, stored.digest, name)
        return conditional(
            request, tag, lambda: page("codes.html", dataset=stored.dataset, variable=variable)
        )

    @router.get("/datasets/{dataset_id}/budget")
    def budget(request: Request, dataset_id: str) -> Response:
        """What a dataset under `dp` promises and costs, table by table."""
        refuse_unknown(request.query_params, ())
        response = _budget_page(workspace.stored(dataset_id))
        response.headers["cache-control"] = "no-store"
        return response

    _add_error_pages(router)
    return router


def _add_error_pages(router: APIRouter) -> None:
    """The routes that explain errors."""

    @router.get("/errors")
    def error_list(request: Request) -> Response:
        """Every error by its code."""
        tag = strong_tag("errors", FINGERPRINT)
        kinds = [(kind, meaning(kind)) for kind in explanations().values()]
        return conditional(request, tag, lambda: page("errors.html", kinds=kinds))

    @router.get("/errors/{code}")
    def error_meaning(request: Request, code: str) -> Response:
        """What an error means."""
        kinds = explanations()
        if code not in kinds:
            raise NotFound("There is no error of this code.", "All codes are listed under /errors.")
        tag = strong_tag("error", FINGERPRINT, code)
        kind = kinds[code]
        return conditional(request, tag, lambda: page("error_meaning.html", kind=kind, meaning=meaning(kind)))


def _table_page(request: Request, question: Question, base: str, options: Options) -> Response:
    """The page with its table, or with downloads only when the table is too large for a page."""
    release = answer(question) if question.cells <= options.page_cells else None
    asked = question.request
    sure = None if release is None else certainty(release)
    told = {} if release is None else {"notes": release.notes, "promise": release.promise}
    return page(
        "table.html",
        **_frame(request, question.stored, question) | told,
        error=None,
        title=question.title,
        grid=None if release is None else grid(release, sure.titles if sure else None),
        certainty=sure,
        cells=question.cells,
        page_cells=options.page_cells,
        facts=snippets.facts(question.stored.dataset, asked),
        downloads=snippets.downloads(asked),
        independence=snippets.independence_path(asked) if is_two_way(question) else None,
        permalink=base + snippets.page_path(asked),
        codes={
            "From a shell": snippets.curl(asked, base),
            "In Python": snippets.python(asked),
            "On the command line": snippets.command(asked),
        },
        citation=snippets.citation(question, base),
    )


def _budget_page(stored: StoredDataset) -> Response:
    """The promise, the price of every table, and what is left."""
    found, dataset = budget_of(stored), stored.dataset
    return page(
        "budget.html",
        dataset=dataset,
        found=found,
        left=budget_left(stored),
        promise=stored.promise(),
        labels=[
            " x ".join(dataset.variable(name).label for name in table["variables"])
            for table in found["tables"]
        ],
        largest=max(table["epsilon"] for table in found["tables"]),
    )


def _instead(request: Request, stored: StoredDataset) -> tuple[str, str] | None:
    """The title and address of the nearest table that is allowed."""
    found = suggestion(stored, read_form(stored.dataset, request.query_params))
    if found is None:
        return None
    title = table_title(stored.dataset, table_shape(found, stored.dataset).dimensions, found)
    return title, snippets.page_path(found)


def _independence_page(question: Question) -> Response:
    """What the test says, the naive test beside it, and why they differ."""
    found = independence_test(two_way_release(question))
    asked = question.request
    first, second = (dimension.label for dimension in question.shape.dimensions)
    return page(
        "independence.html",
        dataset=question.stored.dataset,
        digest=question.stored.digest,
        first=first,
        second=second,
        title=question.title,
        facts=snippets.facts(question.stored.dataset, asked),
        found=found,
        verdict=verdict(found),
        table=snippets.page_path(asked),
        json=f"/api{snippets.independence_path(asked)}",
        codes={
            "In Python": snippets.python_test(asked),
            "On the command line": snippets.command_test(asked),
        },
    )


def _refused(request: Request, stored: StoredDataset, error: DiscreetError) -> Response:
    """The form as it was left, and why there is no table."""
    shown = public(error)
    instead = _instead(request, stored) if isinstance(error, Refused) else None
    frame = _frame(request, stored, None)
    response = page("table.html", status=shown.http_status, **frame, error=shown, title="", instead=instead)
    response.headers["cache-control"] = "no-store"
    return response


def _frame(request: Request, stored: StoredDataset, question: Question | None) -> dict[str, Any]:
    """What the page has with and without a table."""
    asked = None if question is None else question.request
    return {
        "dataset": stored.dataset,
        "digest": stored.digest,
        "form": filled_form(stored.dataset, request.query_params, asked),
        "notes": [perturbed_note(stored.dataset, "" if asked is None else asked.additivity)],
        "promise": stored.promise(),
        "left": budget_left(stored),
    }
