"""How far the noise alone may move each count of a page, from the release and its noise distribution.

Every number has an interval (`inference/intervals`) that covers the true count with probability 95 % or more. It
depends on the released number and the public distribution only, so it discloses nothing new. Large numbers share one
half-width; small ones may differ, for example a zero that stays zero. The page names the widest.

Confidence intervals of cells, sums, shares, ratios and differences: the query, the JSON and the page.

    cell=sex=1,age=20-24    of=..    over=..    minus=..    minus_of=..    level=0.95

All but `level` may be repeated: their cells are added up. Without a cell, all cells are answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from urllib.parse import parse_qsl

import numpy as np
from fastapi import APIRouter, Request
from starlette.datastructures import QueryParams
from starlette.responses import Response

from discreet.errors import BadRequest
from discreet.inference.confidence_intervals.count_intervals import DEFAULT_LEVEL, Interval, cell_intervals
from discreet.inference.confidence_intervals.table_intervals import (
    error_text,
    every_interval,
    every_piece,
    interval_document,
    interval_of,
    interval_texts,
    refuse_no_counts,
)
from discreet.inference.table_view import bonferroni_level, percent_limits
from discreet.model.messages.text import Message, join_sentences, message
from discreet.model.noise_distribution import CellDistribution, depends_on_count
from discreet.model.release import Release
from discreet.model.shape import Dimension
from discreet.noise.table import NO_NOISE, NoiseTable
from discreet.noise.table_distribution import DistributionWithSums
from discreet.release.dataset_registry import DatasetRegistry
from discreet.web.admission import LIMITS, reserve_cells
from discreet.web.i18n.translation import translate_release
from discreet.web.pages.links import page_path
from discreet.web.pages.page_request import PageRequest, parse_page
from discreet.web.pages.table_grid import Limits, Shares
from discreet.web.responses import JSON, as_json, document_response
from discreet.web.templating import render_page
from discreet.web.urls import TABLE_PARAMETERS, read_word

LEVEL = 0.95
#: The most numbers that are listed one by one.
MOST_LINES = 12
#: A table with more noise distributions is not evaluated for a page.
MOST_LAWS = 40


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """What a page says about the noise of its counts.

    Args:
        within: The largest half-width of any number's interval.
        percent: The level in percent.
        small: Numbers with an interval unlike that of the larger ones: number, lowest, highest.
        below, above: How far the interval of a larger number reaches; None where it varies.
    """

    within: int
    percent: int
    small: tuple[tuple[int, int, int], ...]
    below: int | None
    above: int | None


def noise_uncertainty(release: Release) -> Uncertainty | None:
    """The uncertainty of the counts; None where the released numbers carry no independent noise."""
    additivity = release.request.additivity or release.dataset.protection.additivity
    sums = isinstance(release.law, DistributionWithSums)  # sums of the areas shown
    if not release.measure.is_count or additivity != "independent" or sums:
        return None
    laws = [law for law in release.law.laws if law != NO_NOISE]
    if not any(depends_on_count(law) for law in laws):
        return _widest(laws)
    return _by_number(release, laws[0]) if len(laws) == 1 else None


def cell_limits(release: Release) -> Limits | None:
    """The smallest and largest true count of every cell, negative where there is none; None without any."""
    try:
        return every_interval(release, LEVEL)
    except BadRequest:  # fitted numbers, or a distribution too wide for inference
        return None


def share_limits(release: Release) -> Shares | None:
    """The smallest and largest true percentage of every cell, rounded outwards; None without percentages."""
    if not release.view.percent:
        return None
    try:
        low, high = percent_limits(release, every_interval(release, bonferroni_level(LEVEL)))
    except BadRequest:  # as above
        return None
    return None if low is None or high is None else (np.floor(10 * low) / 10, np.ceil(10 * high) / 10)


def _widest(laws: Sequence[CellDistribution]) -> Uncertainty | None:
    """Noise that does not depend on the count: the widest distribution."""
    if not 0 < len(laws) <= MOST_LAWS:
        return None
    within = max(law.laws[0].half_width(LEVEL) for law in laws)
    return Uncertainty(within, round(100 * LEVEL), (), None, None)


def _by_number(release: Release, law: CellDistribution) -> Uncertainty | None:
    """Noise that depends on the count: the interval of each number shown."""
    shown = np.unique(release.noisy[release.status == 0])
    try:
        low, high = cell_intervals(shown, law, LEVEL)
    except BadRequest:  # a distribution too wide for inference, or no number at all
        return None
    lines = [*zip(shown.tolist(), low.tolist(), high.tolist(), strict=True)]
    within = max(max(number - first, last - number) for number, first, last in lines)
    return Uncertainty(within, round(100 * LEVEL), *_split(lines, law))


def _split(
    lines: list[tuple[int, int, int]], law: CellDistribution
) -> tuple[tuple[tuple[int, int, int], ...], int | None, int | None]:
    """The numbers with an interval unlike that of larger ones, and how far the interval of those reaches."""
    if not isinstance(law, NoiseTable) or law.repeats > 1:
        return tuple(lines[:MOST_LINES]), None, None
    large = len(law.rows) + 2 * law.largest  # from here on all intervals are alike
    low, high = cell_intervals([large], law, LEVEL)
    below, above = large - int(low[0]), int(high[0]) - large
    small = [(n, first, last) for n, first, last in lines if (n - first, last - n) != (below, above)]
    return tuple(small[:MOST_LINES]), below, above


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
