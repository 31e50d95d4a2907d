"""A picture of a release: which chart, in which colours, and how sure each number is.

    chart   a kind of `pictures/charts`, as bars; the one that fits the table best by default
    theme   light or dark

Like a view it is no part of the question: all that a picture shows follows from released numbers and their public law.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import BadRequest
from discreet.model.nearest import nearest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
