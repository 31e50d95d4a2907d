"""The first page: an introduction, a live table, and the datasets with a search; and a table alone, for an iframe.

The live table needs no account, so it charges nothing. The search covers all public text of a dataset, including category
labels. Any site may frame the embedded table: its Content-Security-Policy allows no script, no form and no connection, and a
refusal is shown in the iframe.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from fastapi import Request
from starlette.responses import Response

from discreet.errors import BadRequest, Busy, DiscreetError
from discreet.inference.table_view import apply_view
from discreet.model.dataset import Dataset
from discreet.model.messages.text import message
from discreet.model.request import TableRequest
from discreet.model.variable import Variable
from discreet.model.view import VIEW_PARAMETERS
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry, DatasetService
from discreet.release.measures import default_measure
from discreet.web.api.dataset_documents import open_datasets
from discreet.web.i18n.translation import translate_dataset, translate_release
from discreet.web.pages.builder import default_axes
from discreet.web.pages.page_request import PageRequest, parse_page
from discreet.web.pages.table_grid import Layout, grid
from discreet.web.problems import public_error
from discreet.web.responses import conditional, no_store, strong_etag
from discreet.web.templating import FINGERPRINT, render_page
from discreet.web.urls import TABLE_PARAMETERS, page_path, site_url

#: Any site may frame this page; it may load our stylesheet and nothing else.
POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors *"
#: The largest table in an iframe.
MOST_CELLS = 2_000


def embedded_table(registry: DatasetRegistry, request: Request, dataset_id: str) -> Response:
    """A table alone, for an iframe."""
    try:
        page = parse_page(registry, request, dataset_id, (*TABLE_PARAMETERS, *VIEW_PARAMETERS))
        response = page.respond("embed", lambda: _embedded(page))
    except DiscreetError as error:
        shown = public_error(error)
        response = no_store(render_page("embed.html", status=shown.http_status, error=shown))
    response.headers["content-security-policy"] = POLICY
    return response


def _embedded(page: PageRequest) -> Response:
    if page.checked.cells > MOST_CELLS:
        raise BadRequest(
            message(
                "The table has {cells:,} cells, and a frame shows at most {most_cells:,}.",
                cells=page.checked.cells,
                most_cells=MOST_CELLS,
            ),
            message("Choose fewer variables or categories, or link to the page."),
        )
    release = translate_release(apply_view(page.service.answer(page.checked), page.view))
    return render_page(
        "embed.html",
        error=None,
        dataset=release.dataset,
        digest=page.checked.digest,
        title=release.title,
        notes=release.notes,
        grid=grid(Layout(release)),
        address=site_url().base + page_path(page.table, page.items),
    )


#: The live table: the most categories of its rows, and the most and fewest variables to choose from.
MOST_CATEGORIES, MOST_CHOICES, LEAST_CHOICES = 12, 6, 2


def landing_page(registry: DatasetRegistry, request: Request) -> Response:
    """The introduction, a live table, and the datasets that match a search."""
    search, by = (request.query_params.get(name, "").strip() for name in ("search", "by"))
    found = open_datasets(registry)
    tag = strong_etag("landing", FINGERPRINT, search, by, [each.edition for each in found])
    return conditional(request, tag, lambda: _render_home(found, search, by), lasting=True)


def _render_home(found: Sequence[DatasetService], search: str, by: str) -> Response:
    datasets = [translate_dataset(each.dataset) for each in found]
    changeable = sorted(
        found, key=lambda each: len(_choices(each.dataset, default_axes(each.dataset)[1])) < LEAST_CHOICES
    )
    return render_page(
        "landing.html",
        every=len(datasets),
        datasets=matching(datasets, search),
        search=search,
        live=next((live for live in (_live(each, by) for each in changeable) if live), None),
    )


def matching(datasets: Iterable[Dataset], search: str) -> list[Dataset]:
    """The datasets that contain every word; those with more of them in their label come first."""
    words = search.casefold().split()
    found = [each for each in datasets if all(word in _public_text(each) for word in words)]
    return sorted(found, key=lambda each: -sum(word in each.label.casefold() for word in words))


def _public_text(dataset: Dataset) -> str:
    lines = [dataset.id, dataset.label, dataset.description, dataset.population, dataset.source, dataset.unit]
    for variable in dataset.variables:
        lines += [variable.name, variable.label, *(category.label for category in variable.categories)]
    return "\n".join(lines).casefold()


def _live(service: DatasetService, by: str) -> dict[str, Any] | None:
    """The live table of a dataset with the variables that its rows can show; None if it needs an account."""
    dataset, measure = translate_dataset(service.dataset), default_measure(service.dataset)
    rows, columns = default_axes(service.dataset)

    def table(rows: tuple[str, ...], columns: tuple[str, ...]) -> TableRequest:
        return TableRequest(dataset.id, rows, columns, measure=measure)

    choices = []
    for variable in _choices(dataset, columns):
        asked = table((variable.name,), columns)
        offered = service.offer(asked)
        if offered is not None and set(offered.variables) == set(asked.variables):
            choices.append(variable)
    names = [each.name for each in choices]
    chosen = by if by in names else next(iter(names), rows[0])
    checked = _check(service, table((chosen,), columns)) or _check(service, table(rows, ()))
    if checked is None:
        return None
    try:
        release = translate_release(service.answer(checked))
    except Busy:
        raise  # a page without its table must not be cached
    except DiscreetError:
        return None
    return {
        "dataset": dataset,
        "title": release.title,
        "grid": grid(Layout(release), bars=True),
        "note": " ".join(release.notes),
        "href": page_path(checked.request),
        "choices": choices,
        "chosen": chosen,
    }


def _choices(dataset: Dataset, columns: Sequence[str]) -> list[Variable]:
    short = [v for v in dataset.variables if len(v.categories) <= MOST_CATEGORIES and v.name not in columns]
    return short[:MOST_CHOICES]


def _check(service: DatasetService, table: TableRequest) -> CheckedRequest | None:
    try:
        checked = service.check(service.start(table))
    except DiscreetError:
        return None
    return None if checked.metered else checked
