"""Classes of numbers for colours: few, with round limits, and never finer than the noise.

Limits are quantiles of the numbers, rounded to two digits, so that each class has about as many. A class is at least as wide
as the typical interval of a true number (its median): then most true numbers lie in the class that is drawn or in one
beside it. Where that leaves no limit, all numbers have one colour, and the picture says so.

Source: Slocum et al. (2022), Thematic Cartography, chapter 5, on quantiles and the number of classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10
from typing import TYPE_CHECKING

import numpy as np

from discreet.model.told import Text, told
from discreet.pictures.theme import CLASSES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.pictures.shown import Shown


def number_text(value: float) -> str:
    """A number for the eye.

    >>> number_text(-1234), number_text(12.5)
    ('−1,234', '12.5')
    """
    return f"{value:,}".replace("-", "\N{MINUS SIGN}")


@dataclass(frozen=True, slots=True)
class Classes:
    """Classes: number x is in class i where i limits are at or below it.

    Args:
        limits: Rising.
        step: The smallest difference of two numbers: 1, or 0.1 of percentages.
    """

    limits: tuple[float, ...]
    step: float

    @property
    def labels(self) -> tuple[Text, ...]:
        """What each class holds, in words.

        >>> Classes((10, 20), 1).labels
        ('under 10', '10 to 19', '20 or more')
        """
        if not self.limits:
            return (told("all"),)
        ends = [round(limit - self.step, 1) if self.step < 1 else limit - 1 for limit in self.limits]
        pairs = zip(self.limits, ends[1:], strict=False)
        inner = [told("{low:,} to {high:,}", low=low, high=high) for low, high in pairs]
        first, last = (
            told("under {limit:,}", limit=self.limits[0]),
            told("{limit:,} or more", limit=self.limits[-1]),
        )
        return (first, *inner, last)

    @property
    def colours(self) -> tuple[str, ...]:
        """One a class, the smallest numbers lightest."""
        count = len(self.limits) + 1
        return tuple(CLASSES[place * (len(CLASSES) - 1) // max(count - 1, 1)] for place in range(count))

    def of(self, value: float) -> int:
        """The class of a number."""
        return int(np.searchsorted(self.limits, value, side="right"))


def classes_of(shown: Shown) -> Classes:
    """The classes of what is drawn."""
    values = shown.values[~np.isnan(shown.values)]
    step = 1 if shown.percent is None else 0.1
    widths = [record["_high"] - record["_low"] for record in shown.records if "_low" in record]
    return make_classes(values, float(np.median(widths)) if widths else 0.0, step)


def make_classes(values: NDArray[np.float64], width: float, step: float = 1) -> Classes:
    """As many classes as the noise allows, up to five.

    >>> import numpy as np
    >>> make_classes(np.arange(100.0), 5).limits
    (20, 40, 59, 79)
    >>> make_classes(np.arange(100.0), 30).limits
    (33, 66)
    >>> make_classes(np.arange(100.0), 300).limits
    ()
    """
    if values.size:
        for count in range(len(CLASSES), 1, -1):
            cuts = np.quantile(values, np.arange(1, count) / count)
            limits = sorted({_rounded(cut, step) for cut in cuts.tolist()})
            limits = [limit for limit in limits if values.min() < limit <= values.max()]
            if limits and _wide_enough(limits, values, width):
                return Classes(tuple(limits), step)
    return Classes((), step)


def _wide_enough(limits: list[float], values: NDArray[np.float64], width: float) -> bool:
    ends = np.array([values.min(), *limits, values.max()])
    return bool((np.diff(ends) >= width).all())


def _rounded(number: float, step: float) -> float:
    """To two digits, and to a whole number of steps."""
    digits = 1 - floor(log10(abs(number))) if number else 0
    if step >= 1:
        return int(round(number, min(digits, 0)))
    return round(number, min(digits, 1))
