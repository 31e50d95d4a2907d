"""The test of independence of a two-way table: what the API answers, and its page.

Whether a table can be tested follows from its shape, before anything is counted. The result is a function of the
release alone, so it has an ETag like the table itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Request
from starlette.responses import Response

from discreet.errors import BadRequest
from discreet.inference.hypothesis_tests.independence import independence_test
from discreet.inference.hypothesis_tests.likelihood_ratio import LikelihoodRatio
from discreet.model.messages.text import Message, message
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.dataset_service import DatasetService
from discreet.web.admission import TESTED, TESTED_UNDER_DP, reserve_cells
from discreet.web.i18n.messages import gettext
from discreet.web.pages.downloads import command_test, python
from discreet.web.pages.links import page_path, table_path
from discreet.web.pages.page_request import PageRequest, parse_page
from discreet.web.pages.table_grid import table_facts
from discreet.web.templating import render_page
from discreet.web.urls import TABLE_PARAMETERS, site_url

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
    """The likelihood-ratio test of independence with the noise in the likelihood."""

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
    dimensions = checked.shape.dimensions
    return (
        checked.asked.kind.measure.is_count
        and len(dimensions) == 2
        and all(len(dimension.outputs) > 1 for dimension in dimensions)
    )


def run_independence_test(service: DatasetService, checked: CheckedRequest) -> LikelihoodRatio:
    """The test of a table.

    Under `dp` a test sums over many possible counts of each cell, so large tables are for accounts.

    Raises:
        BadRequest: The table is no two-way table, or too large under `dp`.
    """
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
            message("Choose coarser categories. Whoever asks with a key may test more cells."),
        )
    reserve_cells(checked.cells * (TESTED_UNDER_DP if dp else TESTED))
    return independence_test(service.answer(checked))


def add_independence_page(router: APIRouter, registry: DatasetRegistry) -> None:
    """Add the route of the page."""

    @router.get("/datasets/{dataset_id}/test/independence")
    def independence(request: Request, dataset_id: str) -> Response:
        """The test, the naive test, and why they differ."""
        page = parse_page(registry, request, dataset_id, TABLE_PARAMETERS)
        return page.respond("independence-page", lambda: _render(page))


def _render(page: PageRequest) -> Response:
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
