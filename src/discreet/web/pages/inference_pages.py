"""How sure numbers are: noise, confidence intervals, the test of independence, and the comparison of two versions.

    interval?cell=sex=1,age=20-24    of=..    over=..    minus=..    minus_of=..    level=0.95

All parameters but `level` may be repeated: their cells are added up. Without a cell, all cells are answered. Every
answer is a function of the release and its public noise distribution, so it discloses nothing new and has an ETag.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
from fastapi import Request
from starlette.datastructures import QueryParams
from starlette.responses import Response

from discreet.errors import BadRequest, TooManyCells
from discreet.inference.channel import COUNTS_OF_A_DESIGN
from discreet.inference.confidence_intervals import table_intervals
from discreet.inference.confidence_intervals.count_intervals import DEFAULT_LEVEL, Interval, cell_intervals
from discreet.inference.hypothesis_tests.independence import independence_test
from discreet.inference.hypothesis_tests.likelihood_ratio import SURVEY_MODEL, LikelihoodRatio
from discreet.inference.version_comparison import DifferenceDocument, VersionComparison, compare
from discreet.model.messages.text import Message, join_sentences, message
from discreet.model.noise_distribution import CellDistribution, depends_on_count
from discreet.model.release import Release
from discreet.noise.table import NO_NOISE, NoiseTable
from discreet.noise.table_distribution import DistributionWithSums
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry, DatasetService
from discreet.web import responses
from discreet.web.admission import COMPARED, LIMITS, TESTED, TESTED_UNDER_DP, reserve_cells
from discreet.web.i18n.translation import format_number, gettext, translate_release
from discreet.web.pages.downloads import command_test, python
from discreet.web.pages.page_request import PageRequest, parse_page
from discreet.web.pages.table_grid import table_facts
from discreet.web.templating import FINGERPRINT, render_page
from discreet.web.urls import (
    TABLE_PARAMETERS,
    link,
    page_path,
    read_table,
    read_word,
    refuse_unknown,
    site_url,
    table_path,
    version_query,
)
from discreet.workspace.options import Options

#: The most numbers that are listed one by one.
MOST_LINES = 12
#: A table with more noise distributions is not evaluated for a page.
MOST_DISTRIBUTIONS = 40


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """How far the noise may move the counts of a page.

    Args:
        within: The largest half-width of any number's interval, at the level `percent`.
        small: Small numbers may have intervals unlike those of larger ones: number, lowest, highest.
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
    sums = isinstance(release.distribution, DistributionWithSums)  # sums of the areas shown
    if not release.measure.is_count or additivity != "independent" or sums:
        return None
    distributions = [each for each in release.distribution.distributions if each != NO_NOISE]
    if not any(depends_on_count(distribution) for distribution in distributions):
        if not 0 < len(distributions) <= MOST_DISTRIBUTIONS:
            return None
        within = max(
            distribution.distributions[0].half_width(DEFAULT_LEVEL) for distribution in distributions
        )
        return Uncertainty(within, round(100 * DEFAULT_LEVEL), (), None, None)
    return _by_number(release, distributions[0]) if len(distributions) == 1 else None


def _by_number(release: Release, distribution: CellDistribution) -> Uncertainty | None:
    shown = np.unique(release.noisy[release.status == 0])
    try:
        low, high = cell_intervals(shown, distribution, DEFAULT_LEVEL)
    except BadRequest:  # a distribution too wide for inference, or no number at all
        return None
    lines = [*zip(shown.tolist(), low.tolist(), high.tolist(), strict=True)]
    within = max(max(number - first, last - number) for number, first, last in lines)
    return Uncertainty(within, round(100 * DEFAULT_LEVEL), *_split(lines, distribution))


def _split(
    lines: list[tuple[int, int, int]], distribution: CellDistribution
) -> tuple[tuple[tuple[int, int, int], ...], int | None, int | None]:
    """The numbers with an interval unlike that of larger ones, and how far the interval of those reaches."""
    if not isinstance(distribution, NoiseTable) or distribution.repeats > 1:
        return tuple(lines[:MOST_LINES]), None, None
    large = len(distribution.rows) + 2 * distribution.largest  # from here on all intervals are alike
    low, high = cell_intervals([large], distribution, DEFAULT_LEVEL)
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
        return table_intervals.interval_of(
            release, self.cells, self.of, self.minus, self.level, over=self.over, minus_of=self.minus_of
        )


def read_interval(query: QueryParams) -> IntervalQuery:
    """Parse the interval of a query string; one without a cell is refused if it names another parameter."""
    level = read_level(query)
    cells, of, over, minus, minus_of = (tuple(filter(None, query.getlist(name))) for name in _CELLS)
    if not cells and (of or over or minus or minus_of):
        raise BadRequest(
            message("`of`, `over` and `minus` need a cell."), message("Add cell=, as in cell=sex=1.")
        )
    return IntervalQuery(cells, of, over, minus, minus_of, level)


def read_level(query: QueryParams) -> float:
    """Parse the level of a query string."""
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
        return responses.as_json(table_intervals.interval_document(query.interval(release)))
    reserve_cells(release.cells * LIMITS)
    return responses.document_response(
        request, table_intervals.every_piece(release, query.level), responses.JSON
    )


def interval_page(registry: DatasetRegistry, request: Request, dataset_id: str) -> Response:
    """A form for cells, and their interval."""
    page = parse_page(registry, request, dataset_id, INTERVAL_PARAMETERS)
    query = read_interval(request.query_params)
    return page.respond("interval-page", lambda: _interval_page(page, query))


def _interval_page(page: PageRequest, query: IntervalQuery) -> Response:
    release = page.service.answer(page.checked)
    weighted = release.measure.has_errors
    if not weighted:
        table_intervals.refuse_no_counts(release)
    found, said = None, ""
    if query.cells:
        found = query.interval(release)
        texts = table_intervals.interval_texts(
            found, share=bool(query.of), ratio=bool(query.over), minus=bool(query.minus)
        )
        said = interval_in_words(query, texts, table_intervals.error_text(found), weighted=weighted)
    dimensions = translate_release(release).dimensions
    codes = product(*([f"{each.name}={code}" for code in each.codes] for each in dimensions))
    labels = product(*(each.labels for each in dimensions))
    return render_page(
        "interval.html",
        dataset=page.dataset,
        digest=page.checked.digest,
        title=page.checked.title,
        table=page_path(page.table, page.version),
        parameters=[*parse_qsl(page.table.permalink), *page.version],
        dimensions=dimensions,
        cells=[(",".join(cell), ", ".join(names)) for cell, names in zip(codes, labels, strict=True)]
        if release.cells <= LISTED_CELLS
        else [],
        asked=query,
        found=found,
        kind=_KINDS[query.kind][0],
        said=said,
        weighted=weighted,
    )


def interval_in_words(
    query: IntervalQuery, texts: tuple[str, str, str], error: str, *, weighted: bool
) -> str:
    """The estimate, its limits and their level, in words; `error` is empty for counts."""
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


#: The most cells that are tested under `dp`: without an account, and with one.
MOST_TESTED, MOST_FOR_ACCOUNTS = 1_500, 10_000


@dataclass(frozen=True, slots=True)
class NaiveDocument:
    """The test that takes the released counts for exact: G2 and its chi-square p-value."""

    statistic: float
    df: int
    p_value: float


@dataclass(frozen=True, slots=True)
class AssociationDocument:
    """Cramer's V with the noise taken out, as if there were none, and the noise's part of chi-square."""

    corrected: float
    naive: float
    noise_part: float


@dataclass(frozen=True, slots=True)
class IndependenceDocument:
    """The test of independence: a likelihood ratio with the noise, or the corrected X2 of a weighted table."""

    hypothesis: str
    statistic: float
    df: int
    p_value: float
    naive: NaiveDocument
    cramers_v: AssociationDocument | None
    model: str
    method: str
    converged: bool
    spread: float
    why: str
    notes: list[str]


def is_two_way(checked: CheckedRequest) -> bool:
    """Whether independence can be tested: two variables, each with at least two categories."""
    dimensions, measure, survey = checked.shape.dimensions, checked.asked.kind.measure, checked.dataset.survey
    return (
        (measure.has_errors or (measure.is_count and (survey is None or survey.simple)))
        and len(dimensions) == 2
        and all(len(dimension.outputs) > 1 for dimension in dimensions)
    )


def run_independence_test(service: DatasetService, checked: CheckedRequest) -> LikelihoodRatio:
    """The test of a two-way table; under `dp` it sums over many possible counts, so large tables are for accounts."""
    survey, measure = checked.dataset.survey, checked.asked.kind.measure
    if survey is not None and not survey.simple and measure.is_count:
        raise BadRequest(*COUNTS_OF_A_DESIGN)
    if not is_two_way(checked):
        raise BadRequest(
            message("The test of independence needs two variables, each with at least two categories."),
            message("Choose one variable for the rows and one for the columns."),
        )
    dp = checked.dataset.protection.method == "dp"
    most = MOST_TESTED if service.account is None else MOST_FOR_ACCOUNTS
    if dp and checked.cells > most:
        raise BadRequest(
            message(
                "The table has {cells:,} cells; under dp a table of at most {most:,} is tested.",
                cells=checked.cells,
                most=most,
            ),
            message("Choose coarser categories, or sign in with a key to test more cells."),
        )
    reserve_cells(checked.cells * (TESTED_UNDER_DP if dp else TESTED))
    return independence_test(service.answer(checked))


def independence_page(registry: DatasetRegistry, request: Request, dataset_id: str) -> Response:
    """The test, the naive test, and why they differ."""
    page = parse_page(registry, request, dataset_id, TABLE_PARAMETERS)
    return page.respond("independence-page", lambda: _independence_page(page))


def _independence_page(page: PageRequest) -> Response:
    checked, table, base = page.checked, page.table, site_url().base
    found = run_independence_test(page.service, checked)
    first, second = (dimension.label for dimension in checked.shape.dimensions)
    return render_page(
        "independence.html",
        dataset=page.dataset,
        digest=checked.digest,
        first=first,
        second=second,
        title=checked.title,
        facts=table_facts(page.dataset, table),
        found=found,
        verdict=conclusion(found),
        survey=found.model == SURVEY_MODEL,
        table=page_path(table, page.version),
        json=f"/api{table_path(table, 'test/independence', page.version)}",
        codes={
            gettext("In Python"): python(table, base, page.version, "table.test_independence()"),
            gettext("On the command line"): command_test(table, base, page.version),
        },
    )


def conclusion(found: LikelihoodRatio) -> str:
    """The result of the test in one sentence."""
    if not found.converged:
        return message("The computation did not come to an end; do not rely on the result.")
    if not found.df:
        return message("Nothing can be said: too few rows or columns have people in them.")
    p: str = Message("{p:.4f}", {"p": found.p_value})
    if found.p_value < 0.0001:
        p = message("less than {p:.4f}", p=0.0001)
    if found.p_value <= 0.05:
        return message(
            "Such a table would be rare if the two were independent (p-value {p}): noise and chance do not "
            "explain it.",
            p=p,
        )
    return message(
        "The table is compatible with independence (p-value {p}): noise and chance can explain it.", p=p
    )


#: The largest table that is compared: its document is built in memory. Both requests are checked before either is answered,
#: so nothing is charged for one if the other is refused.
MOST_COMPARED = 100_000
COMPARE_PARAMETERS = (*TABLE_PARAMETERS, "with", "level")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two versions of a table, each with its checked request."""

    services: tuple[DatasetService, DatasetService]
    checked: tuple[CheckedRequest, CheckedRequest]
    level: float

    def etag(self, *parts: object) -> str:
        """The ETag of a document of the comparison."""
        one, two = self.checked
        return responses.etag_of(one, *parts, two.digest, two.request.to_query(), self.level)

    def answer(self) -> VersionComparison:
        """The comparison, unless the table is too large."""
        cells = max(each.cells for each in self.checked)
        if cells > MOST_COMPARED:
            raise TooManyCells(
                message(
                    "The table has {cells:,} cells; at most {most:,} are compared at once.",
                    cells=cells,
                    most=MOST_COMPARED,
                ),
                message("Choose fewer categories, or download both versions."),
            )
        reserve_cells(cells * COMPARED)
        one, two = (each.answer(checked) for each, checked in zip(self.services, self.checked, strict=True))
        return compare(one, two, self.level)


def read_comparison(registry: DatasetRegistry, request: Request, dataset_id: str) -> Comparison | None:
    """The comparison of a URL; None if it names no version to compare with."""
    query = request.query_params
    refuse_unknown(query, COMPARE_PARAMETERS)
    one, level = responses.open_service(registry, request, dataset_id), read_level(query)
    word = read_word(query, "with")
    if not word:
        return None
    two, table = registry.open(dataset_id, version=word), read_table(one.dataset, query)
    return Comparison(
        (one, two), (responses.check_request(one, table), responses.check_request(two, table)), level
    )


def comparison_page(
    registry: DatasetRegistry, options: Options, request: Request, dataset_id: str
) -> Response:
    """Two versions of a table, cell by cell."""
    wanted = read_comparison(registry, request, dataset_id)
    if wanted is None:
        return _comparison_page(registry, request, dataset_id, None)
    cells, most = wanted.checked[0].cells, options.page_cells
    if cells > most:
        place = link(f"/api/datasets/{dataset_id}/compare")
        raise TooManyCells(
            message(
                "The table has {cells:,} cells; a page compares at most {most:,}.", cells=cells, most=most
            ),
            message("Take {link}, which gives all of them as JSON.", link=place),
        )
    versions = [facts.digest for facts in registry.versions(dataset_id)]
    tag = wanted.etag("compare-page", FINGERPRINT, versions)
    return responses.conditional(
        request, tag, lambda: _comparison_page(registry, request, dataset_id, wanted.answer())
    )


def _comparison_page(
    registry: DatasetRegistry, request: Request, dataset_id: str, found: VersionComparison | None
) -> Response:
    query = request.query_params
    service = responses.open_service(registry, request, dataset_id)
    checked = responses.check_request(service, read_table(service.dataset, query))
    choices = [facts for facts in registry.versions(dataset_id) if not facts.closed]
    return render_page(
        "compare.html",
        dataset=checked.dataset,
        title=checked.title,
        table=page_path(checked.request, version_query(query)),
        parameters=checked.request.to_query(),
        choices=choices[::-1],
        digest=checked.digest,
        other="" if found is None else found.other.digest,
        level=read_level(query),
        found=found,
        lines=[] if found is None else _lines(found),
        json=f"/api/datasets/{dataset_id}/compare?{urlencode(query.multi_items())}",
    )


def _lines(found: VersionComparison) -> list[dict[str, Any]]:
    def number(value: float | None, pattern: str) -> str:
        if value is None:
            return "–"
        return format_number(int(value) if pattern.endswith("d") else value, pattern)

    def interval(limits: DifferenceDocument, pattern: str) -> tuple[str, str]:
        estimate, low, high = (number(limits[name], pattern) for name in ("estimate", "low", "high"))
        between = "" if limits["estimate"] is None else gettext("{low} to {high}", low=low, high=high)
        return estimate, between

    labels = product(*(dimension.labels for dimension in found.release.dimensions))
    return [
        {
            "labels": names,
            "numbers": (number(cell["value"], ",d"), number(cell["with"], ",d")),
            "difference": interval(cell["difference"], ",.0f"),
            "ratio": interval(cell["ratio"], ".4g"),
        }
        for names, cell in zip(labels, found.document()["cells"], strict=True)
    ]
