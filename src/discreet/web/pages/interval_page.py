"""Confidence intervals of cells, sums, shares, ratios and differences: the query, the JSON and the page.

    cell=sex=1,age=20-24    of=..    over=..    minus=..    minus_of=..    level=0.95

All but `level` may be repeated: their cells are added up. Without a cell, all cells are answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from starlette.datastructures import QueryParams
from starlette.responses import Response

from discreet.errors import BadRequest
from discreet.inference.confidence_intervals.count_intervals import DEFAULT_LEVEL, Interval
from discreet.inference.confidence_intervals.table_intervals import (
    error_text,
    every_piece,
    interval_document,
    interval_of,
    interval_texts,
    refuse_no_counts,
)
from discreet.model.messages.text import Message, join_sentences, message
from discreet.model.release import Release
from discreet.model.shape import Dimension
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.admission import LIMITS, reserve_cells
from discreet.web.i18n.dataset_labels import translate_release
from discreet.web.pages.links import page_path
from discreet.web.pages.page_request import PageRequest, parse_page
from discreet.web.query import TABLE_PARAMETERS, read_word
from discreet.web.responses import JSON, as_json, document_response
from discreet.web.templating import render_page

#: Parameters that name cells.
_CELLS = ("cell", "of", "over", "minus", "minus_of")
INTERVAL_PARAMETERS = (*TABLE_PARAMETERS, *_CELLS, "level")
#: The largest table whose cells the page suggests by their labels.
LISTED_CELLS = 200
_KINDS = {
    "number": (message("Number."), message("the true number")),
    "ratio": (message("Ratio."), message("the true ratio")),
    "share": (message("Share."), message("the true share")),
    "difference": (message("Difference."), message("the true number")),
    "of shares": (message("Difference of shares."), message("the true difference")),
}


@dataclass(frozen=True, slots=True)
class IntervalQuery:
    """The cells and the level of an interval."""

    cells: tuple[str, ...]
    of: tuple[str, ...]
    over: tuple[str, ...]
    minus: tuple[str, ...]
    minus_of: tuple[str, ...]
    level: float

    @property
    def kind(self) -> str:
        """A key of `_KINDS`."""
        if self.over:
            return "ratio"
        if self.minus:
            return "of shares" if self.of else "difference"
        return "share" if self.of else "number"

    def interval(self, release: Release) -> Interval:
        """The interval of these cells."""
        return interval_of(
            release, self.cells, self.of, self.minus, self.level, over=self.over, minus_of=self.minus_of
        )


def read_interval(query: QueryParams) -> IntervalQuery:
    """Parse the interval of a query string.

    Raises:
        BadRequest: The level is no number, or there is no cell.
    """
    level = read_level(query)
    cells, of, over, minus, minus_of = (tuple(filter(None, query.getlist(name))) for name in _CELLS)
    if not cells and (of or over or minus or minus_of):
        raise BadRequest(
            message("`of`, `over` and `minus` need a cell."), message("Add cell=, as in cell=sex=1.")
        )
    return IntervalQuery(cells, of, over, minus, minus_of, level)


def read_level(query: QueryParams) -> float:
    """Parse the level of a query string.

    Raises:
        BadRequest: It is no number.
    """
    text = read_word(query, "level")
    try:
        return float(text) if text else DEFAULT_LEVEL
    except ValueError:
        raise BadRequest(
            message('The level is "{text}".', text=text), message("It lies between 0 and 1, as in 0.95.")
        ) from None


def interval_response(request: Request, release: Release, query: IntervalQuery) -> Response:
    """The interval of the named cells as JSON, or the intervals of all cells."""
    if query.cells:
        return as_json(interval_document(query.interval(release)))
    reserve_cells(release.cells * LIMITS)
    return document_response(request, every_piece(release, query.level), JSON)


def add_interval_page(router: APIRouter, registry: DatasetRegistry) -> None:
    """Add the route of the page."""

    @router.get("/datasets/{dataset_id}/interval")
    def interval(request: Request, dataset_id: str) -> Response:
        """A form for cells, and their interval."""
        page = parse_page(registry, request, dataset_id, INTERVAL_PARAMETERS)
        query = read_interval(request.query_params)
        return page.respond("interval-page", lambda: _render(page, query))


def _render(page: PageRequest, query: IntervalQuery) -> Response:
    release = page.service.answer(page.checked)
    weighted = release.measure.has_errors
    if not weighted:
        refuse_no_counts(release)
    found, said = None, ""
    if query.cells:
        found = query.interval(release)
        texts = interval_texts(found, share=bool(query.of), ratio=bool(query.over), minus=bool(query.minus))
        said = interval_in_words(query, texts, error_text(found), weighted=weighted)
    dimensions = translate_release(release).dimensions
    return render_page(
        "interval.html",
        dataset=page.dataset,
        digest=page.checked.digest,
        title=page.checked.title,
        table=page_path(page.table, page.version),
        parameters=[*parse_qsl(page.table.permalink), *page.version],
        dimensions=dimensions,
        cells=list_of_cells(dimensions) if release.cells <= LISTED_CELLS else [],
        asked=query,
        found=found,
        kind=_KINDS[query.kind][0],
        said=said,
        weighted=weighted,
    )


def list_of_cells(dimensions: Sequence[Dimension]) -> list[tuple[str, str]]:
    """Each cell as a URL names it, with its labels."""
    lines = product(*(zip(each.codes, each.labels, strict=True) for each in dimensions))
    names = [each.name for each in dimensions]
    return [
        (
            ",".join(f"{name}={code}" for name, (code, _label) in zip(names, line, strict=True)),
            ", ".join(label for _code, label in line),
        )
        for line in lines
    ]


def interval_in_words(
    query: IntervalQuery, texts: tuple[str, str, str], error: str, *, weighted: bool
) -> str:
    """The estimate, its limits and their level, in words.

    Args:
        query: Which interval.
        texts: The estimate and the limits.
        error: The relative standard error in words; empty for counts.
        weighted: Whether the limits allow for sampling, too.
    """
    percent = 100 * query.level
    chance = message("about {percent:g} %", percent=percent)
    if not weighted:
        chance = message("at least {percent:g} %", percent=percent)
    sentence = message(
        "{estimate} by the released numbers{error}; {true} lies between {low} and {high}, with a probability of "
        "{chance}.",
        estimate=texts[0],
        error=Message(", {error}", {"error": error}) if error else "",
        true=_KINDS[query.kind][1],
        low=texts[1],
        high=texts[2],
        chance=chance,
    )
    both = message("It allows for sampling and noise together.")
    return join_sentences([sentence, both if weighted else message("It allows for the noise alone.")])
