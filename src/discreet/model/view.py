"""A view: what is shown beside the numbers of a release, and which of its rows.

    percent      `row`, `column` or `table`: of that total; or of one cell, named as `sex=1,age=_T`
    rank         the place of each number among the rows of its column
    top          the n categories of the first row variable with the largest numbers
    hide_empty   rows whose numbers are all zero are left out
    sort         the order of the first row variable: `label`, `value`, or a column named as `sex=1`; `-` before it turns it

A view is no part of the question. The release is the same, and it is charged once; all that a view shows follows from
released numbers (`inference/table_view.py`).

A picture of a release: which chart, in which colours, and how sure each number is.

    chart   a kind of `pictures/charts`, as bars; the one that fits the table best by default
    theme   light or dark

Like a view it is no part of the question: all that a picture shows follows from released numbers and their public law.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import BadRequest
from discreet.model.messages.text import message, nearest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: The totals of which percentages are taken by a word.
BASES = ("row", "column", "table")
#: The parameters of a view, in every face.
VIEW_PARAMETERS = ("percent", "rank", "top", "hide_empty", "sort")
#: What a page takes beside them: how it names categories, which layer and which part it shows.
READING_PARAMETERS = ("labels", "layer", "page", "show", "chart")
#: The orders of rows that have a word; another is the name of a column.
ORDERS = ("label", "value")


@dataclass(frozen=True, slots=True)
class View:
    """What is shown of a release.

    Args:
        percent: A word of `BASES`, or the name of a cell; empty for no percentages.
        rank: Whether each number has its rank.
        top: How many categories of the first row variable are shown, the largest first; 0 for all.
        hide_empty: Whether empty rows are left out.
        sort: A word of `ORDERS` or the name of a column, descending after a minus; empty for the declared order.

    >>> View(percent="row", top=10).to_query()
    [('percent', 'row'), ('top', '10')]
    """

    percent: str = ""
    rank: bool = False
    top: int = 0
    hide_empty: bool = False
    sort: str = ""

    def __post_init__(self) -> None:
        if self.percent and self.percent not in BASES and "=" not in self.percent:
            raise BadRequest(
                message('There is no percent of "{percent}".', percent=self.percent),
                message(
                    "{nearest} Or name a cell, as in sex=1,age=_T.", nearest=nearest(self.percent, BASES)
                ),
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
        """The view as parameters of an address."""
        texts = (self.percent, "yes" * self.rank, str(self.top or ""), "yes" * self.hide_empty, self.sort)
        return [(name, text) for name, text in zip(VIEW_PARAMETERS, texts, strict=True) if text]


#: The release as it is.
NO_VIEW = View()


def read_top(text: str) -> int:
    """A number of rows from text; 0 for no text.

    Raises:
        BadRequest: It is no whole number above zero.
    """
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and int(text[:9]) > 0 and len(text) <= 9):
        raise BadRequest(
            message('top is "{text}".', text=text[:40]), message("Give a whole number of rows, as in 10.")
        )
    return int(text)


if TYPE_CHECKING:
    #: The smallest and the largest true number of every cell.
    Limits = tuple[NDArray[np.generic], NDArray[np.generic]]

#: The parameters of a picture, in every face.
PICTURE_PARAMETERS = ("chart", "theme")
THEMES = ("light", "dark")
DEFAULT_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Picture:
    """What is drawn of a release.

    Args:
        chart: The kind; empty for the one that fits best.
        theme: The colours.
        level: The chance that the limits hold the true number, at least.
        limits: Of every cell, in the shape of the table; below zero or not a number where a cell has none; None where
            none are known.
        bare: Whether title and note stand elsewhere, as on a page.

    >>> Picture(chart="bars").to_query()
    [('chart', 'bars')]
    """

    chart: str = ""
    theme: str = THEMES[0]
    level: float = DEFAULT_LEVEL
    limits: Limits | None = None
    bare: bool = False

    def __post_init__(self) -> None:
        if self.theme not in THEMES:
            raise BadRequest(f'There is no theme "{self.theme}".', nearest(self.theme, THEMES))

    def to_query(self) -> list[tuple[str, str]]:
        """The picture as parameters of an address."""
        theme = "" if self.theme == THEMES[0] else self.theme
        return [
            (name, text) for name, text in zip(PICTURE_PARAMETERS, (self.chart, theme), strict=True) if text
        ]
