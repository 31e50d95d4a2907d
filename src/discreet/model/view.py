"""A view: what is shown beside the numbers of a release, and which of its rows.

    percent      `row`, `column` or `table`: of that total; or of one cell, named as `sex=1,age=_T`
    rank         the place of each number among the rows of its column
    top          the n categories of the first row variable with the largest numbers
    hide_empty   rows whose numbers are all zero are left out
    sort         the order of the first row variable: `label`, `value`, or a column named as `sex=1`; `-` before it turns it

A view is no part of the question. The release is the same, and it is charged once; all that a view shows follows from
released numbers (`inference/viewed.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import BadRequest
from discreet.model.nearest import nearest
from discreet.model.told import told

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
                told('There is no percent of "{percent}".', percent=self.percent),
                told("{nearest} Or name a cell, as in sex=1,age=_T.", nearest=nearest(self.percent, BASES)),
            )
        if self.top < 0 or isinstance(self.top, bool) or not isinstance(self.top, int):
            raise BadRequest(
                told("top is {top}.", top=self.top), told("Give a whole number of rows, as in 10.")
            )
        order = self.sort.removeprefix("-")
        if self.sort and order not in ORDERS and "=" not in order:
            raise BadRequest(
                told('Rows cannot be sorted by "{sort}".', sort=self.sort),
                told(
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
            told('top is "{text}".', text=text[:40]), told("Give a whole number of rows, as in 10.")
        )
    return int(text)
