"""The parser of query strings, for the API and the pages.

List parameters are comma-separated, repeated, or both; `filter` and `group` follow `model/grammar.py`. An unknown
parameter is refused: a misspelt `column=age` must not silently give another table.
"""

from __future__ import annotations

from collections.abc import Iterable

from starlette.datastructures import QueryParams

from discreet.errors import BadRequest, UnknownCategory
from discreet.model.dataset import Dataset
from discreet.model.messages.text import message, nearest
from discreet.model.request import TableRequest, request_from_text
from discreet.model.view import THEMES, Picture, View, read_top
from discreet.release.measures import default_measure

#: The parameters of a table.
TABLE_PARAMETERS = (
    "rows",
    "columns",
    "layers",
    "filter",
    "group",
    "levels",
    "totals",
    "measure",
    "additivity",
    "fit_to",
    "version",
)
_YES_NO = {"yes": True, "no": False}


def refuse_unknown(query: QueryParams, known: Iterable[str]) -> None:
    """Refuse an unknown parameter, naming the nearest known one."""
    allowed = list(known)
    for name in query:
        if name not in allowed:
            advice = nearest(name, allowed) if allowed else "This address takes no parameters."
            raise BadRequest(message('There is no parameter "{name}" here.', name=name), advice)


def read_table(dataset: Dataset, query: QueryParams) -> TableRequest:
    """The table of a query string; without a measure, the dataset's first."""
    return request_from_text(
        dataset.id,
        rows=query.getlist("rows"),
        columns=query.getlist("columns"),
        layers=query.getlist("layers"),
        filters=query.getlist("filter"),
        groups=query.getlist("group"),
        totals=read_yes_no(query, "totals", default=True),
        levels=query.getlist("levels"),
        measure=read_word(query, "measure") or default_measure(dataset),
        additivity=read_word(query, "additivity"),
        fit_to=query.getlist("fit_to"),
    )


def read_view(query: QueryParams) -> View:
    """The view of a query string: percentages, ranks, and which rows in which order."""
    return View(
        percent=read_word(query, "percent"),
        rank=read_yes_no(query, "rank", default=False),
        top=read_top(read_word(query, "top")),
        hide_empty=read_yes_no(query, "hide_empty", default=False),
        sort=read_word(query, "sort"),
    )


def read_picture(query: QueryParams) -> Picture:
    """The chart and the theme of a query string."""
    return Picture(read_word(query, "chart"), read_word(query, "theme") or THEMES[0])


def version_query(query: QueryParams) -> list[tuple[str, str]]:
    """The version of a query string as a parameter of further links; empty for the current version."""
    word = read_word(query, "version")
    return [("version", word)] if word else []


def read_single(name: str, given: list[str], default: str = "") -> str:
    """A parameter that is given at most once, empty or not."""
    if len(given) > 1:
        raise BadRequest(f'The parameter "{name}" is given {len(given)} times.', "Give it once.")
    return given[0] if given else default


def read_word(query: QueryParams, name: str) -> str:
    """A parameter that is given at most once; empty ones are ignored, as browsers send them."""
    given = [text for text in query.getlist(name) if text]
    if len(given) > 1:
        raise BadRequest(
            message("{name} is given {given} times.", name=name, given=len(given)), message("Give it once.")
        )
    return given[0] if given else ""


def read_yes_no(query: QueryParams, name: str, *, default: bool) -> bool:
    """A parameter that is yes or no, given at most once."""
    given = [text for text in query.getlist(name) if text]
    if not given:
        return default
    if len(given) > 1 or given[0] not in _YES_NO:
        raise BadRequest(
            message('{name} is "{given:comma}".', name=name, given=tuple(given)), message("Write yes or no.")
        )
    return _YES_NO[given[0]]


def explain_plus(error: UnknownCategory, request: TableRequest) -> UnknownCategory:
    """The error with advice for a plus that was not encoded and arrived as a blank."""
    if not any(" " in code for _, groups in request.groups for group in groups for code in group):
        return error
    advice = message("{advice} In a URL, write + as %2B.", advice=error.advice)
    return UnknownCategory(error.message, advice)
