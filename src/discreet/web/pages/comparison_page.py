"""One table in two versions: read from an address for programs and for people, and the page of it.

    /datasets/{id}/compare?rows=..&columns=..                    a form with the versions that are answered
    /datasets/{id}/compare?rows=..&columns=..&version=..&with=..  the comparison

Both versions are asked through their doors: one that is closed answers 410. Both questions are checked before either
is answered, so that nothing is charged for one where the other is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from discreet.errors import TooManyCells
from discreet.inference.version_comparison import VersionComparison, compare
from discreet.model.messages.text import message
from discreet.release.checked_request import CheckedRequest
from discreet.release.dataset_registry import DatasetRegistry
from discreet.release.dataset_service import DatasetService
from discreet.web.admission import COMPARED, reserve_cells
from discreet.web.assets import FINGERPRINT
from discreet.web.i18n.messages import format_number, gettext
from discreet.web.pages import links as snippets
from discreet.web.pages.interval_page import read_level
from discreet.web.query import TABLE_PARAMETERS, read_table, read_word, refuse_unknown, version_query
from discreet.web.responses import check_request, conditional, etag_of, open_service
from discreet.web.templating import render_page
from discreet.web.urls import link
from discreet.workspace.options import Options

#: Cells of a table that is compared: its document is made whole.
MOST_CELLS = 100_000
COMPARE_PARAMETERS = (*TABLE_PARAMETERS, "with", "level")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two versions of a table that were asked for, each with its checked question."""

    doors: tuple[DatasetService, DatasetService]
    questions: tuple[CheckedRequest, CheckedRequest]
    level: float

    @property
    def metered(self) -> bool:
        """Whether one of them is counted by account."""
        return any(question.metered for question in self.questions)

    def tag(self, *parts: object) -> str:
        """The ETag of a document of it."""
        other = self.questions[1]
        return etag_of(self.questions[0], *parts, other.digest, other.request.to_query(), self.level)

    def answer(self) -> VersionComparison:
        """The comparison itself.

        Raises:
            TooManyCells: It is too large to be compared at once.
        """
        cells = max(question.cells for question in self.questions)
        if cells > MOST_CELLS:
            raise TooManyCells(
                message(
                    "The table has {cells:,} cells; at most {most:,} are compared at once.",
                    cells=cells,
                    most=MOST_CELLS,
                ),
                message("Choose fewer categories, or download both versions."),
            )
        reserve_cells(cells * COMPARED)
        one, two = (door.answer(question) for door, question in zip(self.doors, self.questions, strict=True))
        return compare(one, two, self.level)


def read_comparison(doors: DatasetRegistry, request: Request, dataset_id: str) -> Comparison | None:
    """What an address compares; None where it names no version to compare with."""
    query = request.query_params
    refuse_unknown(query, COMPARE_PARAMETERS)
    door, level, word = (
        open_service(doors, request, dataset_id),
        read_level(query),
        read_word(query, "with"),
    )
    if not word:
        return None
    other, asked = doors.door(dataset_id, version=word), read_table(door.dataset, query)
    return Comparison((door, other), (check_request(door, asked), check_request(other, asked)), level)


def add_comparison_page(router: APIRouter, doors: DatasetRegistry, options: Options) -> None:
    """The route of the page."""

    @router.get("/datasets/{dataset_id}/compare")
    def comparison(request: Request, dataset_id: str) -> Response:
        """Two versions of a table, cell by cell."""
        wanted = read_comparison(doors, request, dataset_id)
        if wanted is None:
            return _page(doors, request, dataset_id, None)
        if wanted.questions[0].cells > options.page_cells:
            raise TooManyCells(
                message(
                    "The table has {cells:,} cells; a page compares at most {most:,}.",
                    cells=wanted.questions[0].cells,
                    most=options.page_cells,
                ),
                message(
                    "Take {link}, which gives all of them as JSON.",
                    link=link(f"/api/datasets/{dataset_id}/compare"),
                ),
            )
        versions = [facts.digest for facts in doors.versions(dataset_id)]
        tag = wanted.tag("compare-page", FINGERPRINT, versions)
        return conditional(request, tag, lambda: _page(doors, request, dataset_id, wanted.answer()))


def _page(
    doors: DatasetRegistry, request: Request, dataset_id: str, found: VersionComparison | None
) -> Response:
    """A form for two versions, and what was asked for."""
    query = request.query_params
    door = open_service(doors, request, dataset_id)
    question = check_request(door, read_table(door.dataset, query))
    choices = [facts for facts in doors.versions(dataset_id) if not facts.closed]
    return render_page(
        "compare.html",
        dataset=question.dataset,
        title=question.title,
        table=snippets.page_path(question.request, version_query(query)),
        parameters=question.request.to_query(),
        choices=choices[::-1],
        digest=question.digest,
        other="" if found is None else found.other.digest,
        level=read_level(query),
        found=found,
        lines=[] if found is None else _lines(found),
        json=f"/api/datasets/{dataset_id}/compare?{urlencode(query.multi_items())}",
    )


def _lines(found: VersionComparison) -> list[dict[str, Any]]:
    """The cells with their labels, numbers as people read them."""
    labels = product(*(dimension.labels for dimension in found.release.dimensions))
    return [
        {
            "labels": names,
            "numbers": (_number(cell["value"], ",d"), _number(cell["with"], ",d")),
            "difference": _interval(cell["difference"], ",.0f"),
            "ratio": _interval(cell["ratio"], ".4g"),
        }
        for names, cell in zip(labels, found.document()["cells"], strict=True)
    ]


def _interval(found: dict[str, float | None], pattern: str) -> tuple[str, str]:
    """An estimate, and between which limits the truth lies."""
    estimate, low, high = (_number(found[name], pattern) for name in ("estimate", "low", "high"))
    return estimate, "" if found["estimate"] is None else gettext("{low} to {high}", low=low, high=high)


def _number(value: float | None, pattern: str) -> str:
    return "–" if value is None else format_number(int(value) if pattern.endswith("d") else value, pattern)
