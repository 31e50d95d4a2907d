"""A view of a release: percentages, ranks, the rows to show and their order; and a picture of it.

    percent      `row`, `column` or `table`: of that total; or of one cell, named as `sex=1,age=_T`
    rank         the rank of each number among the rows of its column
    top          the n categories of the first row variable with the largest numbers
    hide_empty   omit rows whose numbers are all zero
    sort         the order of the first row variable: `label`, `value`, or a column named as `sex=1`; `-` before it reverses
    ratio        each number over that of one category of a row, column or layer, named as `sex=1`, all else equal
    difference   each number less that of one category
    alone        percentages, ratios and differences in place of the numbers where a table is shown as it reads
    chart        a chart of `pictures/charts`, as bars; by default the one that fits the table best
    theme        light or dark

A view is no part of the request: the release is the same and is charged once, and all that is shown is computed from
released numbers and the public distribution of their noise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest
from discreet.model.messages.text import message, nearest

#: The bases of percentages that have a name.
BASES = ("row", "column", "table")
#: The URL parameters of a view.
VIEW_PARAMETERS = ("percent", "rank", "top", "hide_empty", "sort", "ratio", "difference", "alone")
#: Further parameters of a page: labels, layer, page, chart, the range next to each number, and the area of a map.
READING_PARAMETERS = ("labels", "layer", "page", "show", "chart", "range", "zoom")
#: The sort orders that have a name; others name a column.
ORDERS = ("label", "value")


@dataclass(frozen=True, slots=True)
class View:
    """What to show of a release; the module describes the fields."""

    percent: str = ""
    rank: bool = False
    top: int = 0
    hide_empty: bool = False
    sort: str = ""
    ratio: str = ""
    difference: str = ""
    alone: bool = False

    def __post_init__(self) -> None:
        if self.percent and self.percent not in BASES and "=" not in self.percent:
            raise BadRequest(
                message('There is no percent of "{percent}".', percent=self.percent),
                message(
                    "{nearest} Or name a cell, as in sex=1,age=_T.", nearest=nearest(self.percent, BASES)
                ),
            )
        for name in ("ratio", "difference"):
            named = getattr(self, name)
            if named and "=" not in named:
                raise BadRequest(
                    message('{name} is "{named}".', name=name, named=named),
                    message("Name a category of the table, as in sex=1."),
                )
        if self.top < 0 or isinstance(self.top, bool) or not isinstance(self.top, int):
            raise BadRequest(
                message("top is {top}.", top=self.top), message("Give a whole number of rows, as in 10.")
            )
        order = self.sort.removeprefix("-")
        if self.sort and order not in ORDERS and "=" not in order:
            raise BadRequest(
                message('Rows cannot be sorted by "{sort}".', sort=self.sort),
                message(
                    "{nearest} Or name a column, as in sex=1; -sex=1 for the largest first.",
                    nearest=nearest(order, ORDERS),
                ),
            )

    def __bool__(self) -> bool:
        return self != NO_VIEW

    def to_query(self) -> list[tuple[str, str]]:
        """The view as URL parameters."""
        texts = [self.percent, "yes" * self.rank, str(self.top or ""), "yes" * self.hide_empty, self.sort]
        texts += [self.ratio, self.difference, "yes" * self.alone]
        return [(name, text) for name, text in zip(VIEW_PARAMETERS, texts, strict=True) if text]


#: The release without changes.
NO_VIEW = View()


def read_word(name: str, given: Sequence[str]) -> str:
    """A parameter of a URL that is given at most once; empty ones are ignored, as browsers send them."""
    words = [text for text in given if text]
    if len(words) > 1:
        times = message("{name} is given {given} times.", name=name, given=len(words))
        raise BadRequest(times, message("Give it once."))
    return "".join(words)


def read_yes_no(name: str, given: Sequence[str], *, default: bool = False) -> bool:
    """A parameter of a URL that is yes or no, given at most once."""
    words = tuple(text for text in given if text)
    if len(words) > 1 or not {"yes", "no"}.issuperset(words):
        text = message('{name} is "{given:comma}".', name=name, given=words)
        raise BadRequest(text, message("Write yes or no."))
    return words[0] == "yes" if words else default


def view_from_query(texts: Callable[[str], Sequence[str]]) -> View:
    """The view of a URL; `texts` are those of one parameter."""
    return View(
        percent=read_word("percent", texts("percent")),
        rank=read_yes_no("rank", texts("rank")),
        top=read_top(read_word("top", texts("top"))),
        hide_empty=read_yes_no("hide_empty", texts("hide_empty")),
        sort=read_word("sort", texts("sort")),
        ratio=read_word("ratio", texts("ratio")),
        difference=read_word("difference", texts("difference")),
        alone=read_yes_no("alone", texts("alone")),
    )


def read_top(text: str) -> int:
    """Parse a number of rows; 0 for an empty text."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and int(text[:9]) > 0 and len(text) <= 9):
        raise BadRequest(
            message('top is "{text}".', text=text[:40]), message("Give a whole number of rows, as in 10.")
        )
    return int(text)


#: The interval of every cell.
Limits = tuple[NDArray[np.generic], NDArray[np.generic]]
#: The URL parameters of a picture.
PICTURE_PARAMETERS = ("chart", "theme")
THEMES = ("light", "dark")
DEFAULT_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Picture:
    """What to draw of a release.

    Args:
        chart: Empty for the one that fits best.
        level: The minimum coverage of the limits.
        limits: The interval of every cell; negative or NaN where a cell has none; None where unknown.
        bare: Whether title and note are shown elsewhere, as on a page.
        zoom: The area that a map shows, as `region=R01`; empty for all.
        outlines: The URL below which a page has the outlines of areas; empty for a picture that holds them.
    """

    chart: str = ""
    theme: str = THEMES[0]
    level: float = DEFAULT_LEVEL
    limits: Limits | None = None
    bare: bool = False
    zoom: str = ""
    outlines: str = ""

    def __post_init__(self) -> None:
        if self.theme not in THEMES:
            raise BadRequest(f'There is no theme "{self.theme}".', nearest(self.theme, THEMES))

    def to_query(self) -> list[tuple[str, str]]:
        """The picture as URL parameters."""
        texts = (self.chart, "" if self.theme == THEMES[0] else self.theme)
        return [(name, text) for name, text in zip(PICTURE_PARAMETERS, texts, strict=True) if text]
