"""Intervals of cells, sums, shares and differences: what an address asks for and what is answered.

    cell=sex=1,age=20-24    of=..    over=..    minus=..    minus_of=..    level=0.95

Each of them but `level` may be repeated: their cells are added up. Without a cell every cell is answered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from discreet.errors import BadRequest
from discreet.inference.confidence_intervals.count_intervals import DEFAULT_LEVEL, Interval
from discreet.inference.confidence_intervals.table_intervals import (
    every_piece,
    interval_document,
    interval_of,
)
from discreet.model.messages.text import Message, join_sentences, message
from discreet.model.release import Release
from discreet.model.shape import Dimension
from discreet.web.admission import LIMITS, reserve_cells
from discreet.web.query import TABLE_PARAMETERS, read_word
from discreet.web.responses import JSON, as_json, document_response

#: What names cells.
_CELLS = ("cell", "of", "over", "minus", "minus_of")
INTERVAL_PARAMETERS = (*TABLE_PARAMETERS, *_CELLS, "level")
#: The largest table whose cells the page proposes by their labels.
LISTED_CELLS = 200


@dataclass(frozen=True, slots=True)
class IntervalQuery:
    """Which interval of a table is asked for."""

    cells: tuple[str, ...]
    of: tuple[str, ...]
    over: tuple[str, ...]
    minus: tuple[str, ...]
    minus_of: tuple[str, ...]
    level: float


def read_interval(query: QueryParams) -> IntervalQuery:
    """The interval that a query string asks for.

    Raises:
        BadRequest: A level that is no number, or no cell beside the others.
    """
    level = read_level(query)
    cells, of, over, minus, minus_of = (tuple(filter(None, query.getlist(name))) for name in _CELLS)
    if not cells and (of or over or minus or minus_of):
        raise BadRequest(
            message("`of`, `over` and `minus` need a cell."), message("Add cell=, as in cell=sex=1.")
        )
    return IntervalQuery(cells, of, over, minus, minus_of, level)


def read_level(query: QueryParams) -> float:
    """The level that a query string asks for.

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


def find_interval(release: Release, asked: IntervalQuery) -> Interval:
    """The interval of the cells that were named."""
    return interval_of(
        release, asked.cells, asked.of, asked.minus, asked.level, over=asked.over, minus_of=asked.minus_of
    )


def interval_response(request: Request, release: Release, asked: IntervalQuery) -> Response:
    """The interval as JSON, or those of all cells."""
    if asked.cells:
        return as_json(interval_document(find_interval(release, asked)))
    reserve_cells(release.cells * LIMITS)
    return document_response(request, every_piece(release, asked.level), JSON)


def list_of_cells(dimensions: Sequence[Dimension]) -> list[tuple[str, str]]:
    """Each cell as an address names it, with its labels: what a field proposes while somebody types."""
    lines = product(*(zip(each.codes, each.labels, strict=True) for each in dimensions))
    names = [each.name for each in dimensions]
    return [
        (
            ",".join(f"{name}={code}" for name, (code, _label) in zip(names, line, strict=True)),
            ", ".join(label for _code, label in line),
        )
        for line in lines
    ]


_KINDS = {
    "number": (message("Number."), message("the true number")),
    "ratio": (message("Ratio."), message("the true ratio")),
    "share": (message("Share."), message("the true share")),
    "difference": (message("Difference."), message("the true number")),
    "of shares": (message("Difference of shares."), message("the true difference")),
}


def interval_in_words(
    asked: IntervalQuery, texts: tuple[str, str, str], error: str, *, weighted: bool
) -> str:
    """What was found, for a page: the estimate, its limits, and how sure they are.

    Args:
        asked: Which interval.
        texts: The estimate and the limits.
        error: The relative standard error in words; empty for counts.
        weighted: Whether the limits allow for sampling, too.
    """
    true = _KINDS[_kind(asked)][1]
    percent = 100 * asked.level
    chance = message("about {percent:g} %", percent=percent)
    if not weighted:
        chance = message("at least {percent:g} %", percent=percent)
    sentence = message(
        "{estimate} by the released numbers{error}; {true} lies between {low} and {high}, with a probability of "
        "{chance}.",
        estimate=texts[0],
        error=Message(", {error}", {"error": error}) if error else "",
        true=true,
        low=texts[1],
        high=texts[2],
        chance=chance,
    )
    both, alone = (
        message("It allows for sampling and noise together."),
        message("It allows for the noise alone."),
    )
    return join_sentences([sentence, both if weighted else alone])


def _kind(asked: IntervalQuery) -> str:
    if asked.over:
        return "ratio"
    if asked.minus:
        return "of shares" if asked.of else "difference"
    return "share" if asked.of else "number"


def interval_heading(asked: IntervalQuery) -> str:
    """Of what the interval is, for a page."""
    return _KINDS[_kind(asked)][0]
