"""The first page: what this is in three lines, a live table, and the datasets, found by search.

    GET /?search=potato&by=age        datasets that have every word; the live table by another variable

The live table is a table of the first dataset that anybody may ask for, so that it charges nothing. A word is looked for
in all that is public of a dataset, down to the labels of its categories.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fastapi import (
    APIRouter,
    Request,
)
from starlette.responses import Response

from discreet.errors import Busy, DiscreetError
from discreet.model.dataset import Dataset
from discreet.model.request import TableRequest
from discreet.model.variable import Variable
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.dataset_service import DatasetService
from discreet.release.measures import default_measure
from discreet.web.api.dataset_documents import open_datasets
from discreet.web.assets import FINGERPRINT
from discreet.web.i18n.dataset_labels import translate_dataset, translate_release
from discreet.web.pages import links as snippets
from discreet.web.pages.builder import default_axes
from discreet.web.pages.table_grid import Grid, Layout, grid
from discreet.web.responses import conditional, strong_etag
from discreet.web.templating import render_page

#: The live table: how many categories its rows may have, and by how many variables it can be asked.
MOST_CATEGORIES, MOST_CHOICES, LEAST_CHOICES = 12, 6, 2


@dataclass(frozen=True, slots=True)
class LiveTable:
    """A small table that is asked for now.

    Args:
        dataset: What it is of.
        title: What it shows.
        grid: Its numbers.
        note: What every reader must be told.
        href: The page where it can be built further.
        choices: The variables of its rows that can be asked for.
        chosen: The one that is shown.
    """

    dataset: Dataset
    title: str
    grid: Grid
    note: str
    href: str
    choices: tuple[Variable, ...]
    chosen: str


def add_landing(router: APIRouter, doors: DatasetRegistry) -> None:
    """The route of the page."""

    @router.get("/")
    def landing(request: Request) -> Response:
        """What this is, a live table, and all datasets or those that have some words."""
        search, by = (request.query_params.get(name, "").strip() for name in ("search", "by"))
        found = open_datasets(doors)
        tag = strong_etag("landing", FINGERPRINT, search, by, [door.edition for door in found])
        return conditional(request, tag, lambda: _page(found, search, by), lasting=True)


def matching(datasets: Iterable[Dataset], search: str) -> list[Dataset]:
    """The datasets that have every word; those with more of them in their label come first."""
    words = search.casefold().split()
    found = [each for each in datasets if all(word in _searchable_text(each) for word in words)]
    return sorted(found, key=lambda each: -sum(word in each.label.casefold() for word in words))


def _searchable_text(dataset: Dataset) -> str:
    """All that is public of a dataset, to be searched."""
    told = [dataset.id, dataset.label, dataset.description, dataset.population, dataset.source, dataset.unit]
    for variable in dataset.variables:
        told += [variable.name, variable.label, *(category.label for category in variable.categories)]
    return "\n".join(told).casefold()


def _page(found: Sequence[DatasetService], search: str, by: str) -> Response:
    datasets = [translate_dataset(door.dataset) for door in found]
    return render_page(
        "landing.html",
        every=len(datasets),
        datasets=matching(datasets, search),
        search=search,
        live=next((live for live in (_live(door, by) for door in _with_choices_first(found)) if live), None),
    )


def _with_choices_first(found: Sequence[DatasetService]) -> list[DatasetService]:
    """The datasets whose live table can be changed, then the others."""
    return sorted(
        found, key=lambda door: len(_choices(door.dataset, default_axes(door.dataset)[1])) < LEAST_CHOICES
    )


def _live(door: DatasetService, by: str) -> LiveTable | None:
    """The live table of a dataset; None where nobody may ask for it without an account."""
    rows, columns = default_axes(door.dataset)
    choices = tuple(
        each
        for each in _choices(translate_dataset(door.dataset), columns)
        if _is_offered(door, each, columns)
    )
    names = [each.name for each in choices]
    chosen = by if by in names else next(iter(names), rows[0])
    question = _question(door, (chosen,), columns) or _question(door, rows, ())
    if question is None:
        return None
    try:
        release = translate_release(door.answer(question))
    except Busy:
        raise  # a page without its table must not be kept
    except DiscreetError:
        return None
    return LiveTable(
        dataset=translate_dataset(door.dataset),
        title=release.title,
        grid=grid(Layout(release)),
        note=" ".join(release.notes),
        href=snippets.page_path(question.request),
        choices=choices,
        chosen=chosen,
    )


def _choices(dataset: Dataset, columns: Sequence[str]) -> tuple[Variable, ...]:
    short = [v for v in dataset.variables if len(v.categories) <= MOST_CATEGORIES and v.name not in columns]
    return tuple(short[:MOST_CHOICES])


def _is_offered(door: DatasetService, variable: Variable, columns: tuple[str, ...]) -> bool:
    """Whether the table by a variable is offered as it is."""
    asked = TableRequest(door.dataset.id, (variable.name,), columns, measure=default_measure(door.dataset))
    offered = door.offer(asked)
    return offered is not None and set(offered.variables) == set(asked.variables)


def _question(door: DatasetService, rows: tuple[str, ...], columns: tuple[str, ...]) -> CheckedRequest | None:
    asked = TableRequest(door.dataset.id, rows, columns, measure=default_measure(door.dataset))
    try:
        question = door.check(door.start(asked))
    except DiscreetError:
        return None
    return None if question.metered else question
