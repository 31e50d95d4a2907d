"""From a URL to a table request, the same for the API and the page.

List parameters are comma-separated, repeated, or both; `filter` and `group` follow `model/grammar.py`. A
parameter that has no meaning is refused: a misspelt `column=age` must never give another table silently.
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

#: The parameters of a table, in every address that shows one.
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
    """Refuse a parameter that the address does not have, naming the nearest that it has."""
    allowed = list(known)
    for name in query:
        if name not in allowed:
            advice = nearest(name, allowed) if allowed else "This address takes no parameters."
            raise BadRequest(message('There is no parameter "{name}" here.', name=name), advice)


def read_table(dataset: Dataset, query: QueryParams) -> TableRequest:
    """The table that a query string asks for; without a measure, the first that the dataset has."""
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
    """What a query string wants to see beside the numbers, and which rows."""
    return View(
        percent=read_word(query, "percent"),
        rank=read_yes_no(query, "rank", default=False),
        top=read_top(read_word(query, "top")),
        hide_empty=read_yes_no(query, "hide_empty", default=False),
        sort=read_word(query, "sort"),
    )


def read_picture(query: QueryParams) -> Picture:
    """What a query string wants to be drawn."""
    return Picture(read_word(query, "chart"), read_word(query, "theme") or THEMES[0])


def version_query(query: QueryParams) -> list[tuple[str, str]]:
    """The version that a query string names, as a parameter of further links; none for the one that is served."""
    word = read_word(query, "version")
    return [("version", word)] if word else []


def read_single(name: str, given: list[str], default: str = "") -> str:
    """A parameter that is given at most once; the default where it is not given."""
    if len(given) > 1:
        raise BadRequest(f'The parameter "{name}" is given {len(given)} times.', "Give it once.")
    return given[0] if given else default


def read_word(query: QueryParams, name: str) -> str:
    """A parameter that is one word, given at most once; empty where it is not given."""
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
    """A plus that was not encoded arrives as a blank: say so where that is the likely mistake."""
    blank = any(" " in code for _, groups in request.groups for group in groups for code in group)
    return (
        UnknownCategory(error.message, message("{advice} In a URL, write + as %2B.", advice=error.advice))
        if blank
        else error
    )
