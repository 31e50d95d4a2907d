"""Intervals of cells, sums, shares and differences: what an address asks for and what is answered.

    cell=sex=1,age=20-24    of=..    over=..    minus=..    minus_of=..    level=0.95

Each of them but `level` may be repeated: their cells are added up. Without a cell every cell is answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from discreet.errors import BadRequest
from discreet.inference.cell_targets import interval_of
from discreet.inference.interval_document import every_piece, interval_document
from discreet.inference.intervals import DEFAULT_LEVEL
from discreet.model.told import Text, joined, told
from discreet.server.answer import JSON, as_json
from discreet.server.in_flight import LIMITS, take
from discreet.server.query import TABLE_PARAMETERS, read_word
from discreet.server.streaming import document_response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.datastructures import QueryParams
    from starlette.requests import Request
    from starlette.responses import Response

    from discreet.inference.intervals import Interval
    from discreet.model.release import Release
    from discreet.model.shape import Dimension

#: What names cells.
_CELLS = ("cell", "of", "over", "minus", "minus_of")
INTERVAL_PARAMETERS = (*TABLE_PARAMETERS, *_CELLS, "level")
#: The largest table whose cells the page proposes by their labels.
LISTED_CELLS = 200


@dataclass(frozen=True, slots=True)
class AskedInterval:
    """Which interval of a table is asked for."""

    cells: tuple[str, ...]
    of: tuple[str, ...]
    over: tuple[str, ...]
    minus: tuple[str, ...]
    minus_of: tuple[str, ...]
    level: float


def read_interval(query: QueryParams) -> AskedInterval:
    """The interval that a query string asks for.

    Raises:
        BadRequest: A level that is no number, or no cell beside the others.
    """
    level = read_level(query)
    cells, of, over, minus, minus_of = (tuple(filter(None, query.getlist(name))) for name in _CELLS)
    if not cells and (of or over or minus or minus_of):
        raise BadRequest(told("`of`, `over` and `minus` need a cell."), told("Add cell=, as in cell=sex=1."))
    return AskedInterval(cells, of, over, minus, minus_of, level)


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
            told('The level is "{text}".', text=text), told("It lies between 0 and 1, as in 0.95.")
        ) from None


def asked_interval(release: Release, asked: AskedInterval) -> Interval:
    """The interval of the cells that were named."""
    return interval_of(
        release, asked.cells, asked.of, asked.minus, asked.level, over=asked.over, minus_of=asked.minus_of
    )


def interval_response(request: Request, release: Release, asked: AskedInterval) -> Response:
    """The interval as JSON, or those of all cells."""
    if asked.cells:
        return as_json(interval_document(asked_interval(release, asked)))
    take(release.cells * LIMITS)
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
    "number": (told("Number."), told("the true number")),
    "ratio": (told("Ratio."), told("the true ratio")),
    "share": (told("Share."), told("the true share")),
    "difference": (told("Difference."), told("the true number")),
    "of shares": (told("Difference of shares."), told("the true difference")),
}


def interval_in_words(
    asked: AskedInterval, texts: tuple[str, str, str], error: str, *, weighted: bool
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
    chance = told("about {percent:g} %", percent=percent)
    if not weighted:
        chance = told("at least {percent:g} %", percent=percent)
    sentence = told(
        "{estimate} by the released numbers{error}; {true} lies between {low} and {high}, with a probability of "
        "{chance}.",
        estimate=texts[0],
        error=Text(", {error}", {"error": error}) if error else "",
        true=true,
        low=texts[1],
        high=texts[2],
        chance=chance,
    )
    both, alone = told("It allows for sampling and noise together."), told("It allows for the noise alone.")
    return joined([sentence, both if weighted else alone])


def _kind(asked: AskedInterval) -> str:
    if asked.over:
        return "ratio"
    if asked.minus:
        return "of shares" if asked.of else "difference"
    return "share" if asked.of else "number"


def interval_heading(asked: AskedInterval) -> str:
    """Of what the interval is, for a page."""
    return _KINDS[_kind(asked)][0]
