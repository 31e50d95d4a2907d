"""One table in two versions: read from an address for programs and for people, and the page of it.

    /datasets/{id}/compare?rows=..&columns=..                    a form with the versions that are answered
    /datasets/{id}/compare?rows=..&columns=..&version=..&with=..  the comparison

Both versions are asked through their doors: one that is closed answers 410. Both questions are checked before either
is answered, so that nothing is charged for one where the other is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotations of routes
from starlette.responses import Response  # noqa: TC002 - FastAPI reads the annotations of routes

from discreet.errors import TooManyCells
from discreet.inference.compared import compare
from discreet.model.told import told
from discreet.server import snippets
from discreet.server.address import link
from discreet.server.answer import asked_door, check, conditional, tag_of
from discreet.server.assets import FINGERPRINT
from discreet.server.in_flight import COMPARED, take
from discreet.server.interval import read_level
from discreet.server.query import TABLE_PARAMETERS, asked_version, read_table, read_word, refuse_unknown
from discreet.server.templating import page
from discreet.server.words import say, written

if TYPE_CHECKING:
    from fastapi import APIRouter

    from discreet.answer.door import Door
    from discreet.answer.doors import Doors
    from discreet.answer.question import Question
    from discreet.inference.compared import Compared
    from discreet.workspace.options import Options

#: Cells of a table that is compared: its document is made whole.
MOST_CELLS = 100_000
COMPARE_PARAMETERS = (*TABLE_PARAMETERS, "with", "level")


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two versions of a table that were asked for, each with its checked question."""

    doors: tuple[Door, Door]
    questions: tuple[Question, Question]
    level: float

    @property
    def metered(self) -> bool:
        """Whether one of them is counted by account."""
        return any(question.metered for question in self.questions)

    def tag(self, *parts: object) -> str:
        """The ETag of a document of it."""
        other = self.questions[1]
        return tag_of(self.questions[0], *parts, other.digest, other.request.to_query(), self.level)

    def answer(self) -> Compared:
        """The comparison itself.

        Raises:
            TooManyCells: It is too large to be compared at once.
        """
        cells = max(question.cells for question in self.questions)
        if cells > MOST_CELLS:
            raise TooManyCells(
                told(
                    "The table has {cells:,} cells; at most {most:,} are compared at once.",
                    cells=cells,
                    most=MOST_CELLS,
                ),
                told("Choose fewer categories, or download both versions."),
            )
        take(cells * COMPARED)
        one, two = (door.answer(question) for door, question in zip(self.doors, self.questions, strict=True))
        return compare(one, two, self.level)


def read_comparison(doors: Doors, request: Request, dataset_id: str) -> Comparison | None:
    """What an address compares; None where it names no version to compare with."""
    query = request.query_params
    refuse_unknown(query, COMPARE_PARAMETERS)
    door, level, word = (
        asked_door(doors, request, dataset_id),
        read_level(query),
        read_word(query, "with"),
    )
    if not word:
        return None
    other, asked = doors.door(dataset_id, version=word), read_table(door.dataset, query)
    return Comparison((door, other), (check(door, asked), check(other, asked)), level)


def add_comparison_page(router: APIRouter, doors: Doors, options: Options) -> None:
    """The route of the page."""

    @router.get("/datasets/{dataset_id}/compare")
    def comparison(request: Request, dataset_id: str) -> Response:
        """Two versions of a table, cell by cell."""
        wanted = read_comparison(doors, request, dataset_id)
        if wanted is None:
            return _page(doors, request, dataset_id, None)
        if wanted.questions[0].cells > options.page_cells:
            raise TooManyCells(
                told(
                    "The table has {cells:,} cells; a page compares at most {most:,}.",
                    cells=wanted.questions[0].cells,
                    most=options.page_cells,
                ),
                told(
                    "Take {link}, which gives all of them as JSON.",
                    link=link(f"/api/datasets/{dataset_id}/compare"),
                ),
            )
        versions = [facts.digest for facts in doors.versions(dataset_id)]
        tag = wanted.tag("compare-page", FINGERPRINT, versions)
        return conditional(request, tag, lambda: _page(doors, request, dataset_id, wanted.answer()))


def _page(doors: Doors, request: Request, dataset_id: str, found: Compared | None) -> Response:
    """A form for two versions, and what was asked for."""
    query = request.query_params
    door = asked_door(doors, request, dataset_id)
    question = check(door, read_table(door.dataset, query))
    choices = [facts for facts in doors.versions(dataset_id) if not facts.closed]
    return page(
        "compare.html",
        dataset=question.dataset,
        title=question.title,
        table=snippets.page_path(question.request, asked_version(query)),
        parameters=question.request.to_query(),
        choices=choices[::-1],
        digest=question.digest,
        other="" if found is None else found.other.digest,
        level=read_level(query),
        found=found,
        lines=[] if found is None else _lines(found),
        json=f"/api/datasets/{dataset_id}/compare?{urlencode(query.multi_items())}",
    )


def _lines(found: Compared) -> list[dict[str, Any]]:
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
    return estimate, "" if found["estimate"] is None else say("{low} to {high}", low=low, high=high)


def _number(value: float | None, pattern: str) -> str:
    return "–" if value is None else written(int(value) if pattern.endswith("d") else value, pattern)
