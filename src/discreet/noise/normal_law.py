"""The law of a normal variable rounded to whole numbers: what the noise of a joint cell is, as it is shown.

    P(noise = z) = Φ((z + 1/2)/σ) - Φ((z - 1/2)/σ)

A cell of a joint universe is a linear function of many discrete Gaussian noises on fine grids, and the true count is whole:
rounding the value is rounding the noise. Where the coarsest of the noises spans s steps a standard deviation, the sum over
its grid differs from this law by about 1/(24 s²), the error of the midpoint rule.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadRequest
from discreet.model.one_line import one_line

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The law is kept up to so many standard deviations: what lies beyond has a chance below 1e-14.
KEPT = 8.0
_BEYOND = 1e-14


@dataclass(frozen=True, slots=True)
class NormalLaw:
    """A rounded normal law.

    Args:
        unrounded: The variance before rounding.
        steps: How many steps of its grid the coarsest noise spans.

    >>> NormalLaw(100.0, 80.0).half_width(0.95), float(NormalLaw(100.0, 80.0).variance) > 100
    (20, True)
    """

    unrounded: float
    steps: float

    @property
    def mean(self) -> Fraction:
        """It is symmetric."""
        return Fraction(0)

    @property
    def variance(self) -> Fraction:
        """The variance of the whole number: rounding adds 1/12."""
        return Fraction(self.unrounded) + Fraction(1, 12)

    @property
    def laws(self) -> tuple[NormalLaw]:
        """The law of a cell with this noise: itself, whatever the count."""
        return (self,)

    def law_index(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Every count has the same law."""
        return np.zeros(np.shape(counts), dtype=np.int64)

    @property
    def reach(self) -> tuple[int, int]:
        """The smallest and the largest value that is kept."""
        widest = math.ceil(KEPT * math.sqrt(self.unrounded)) + 1
        return -widest, widest

    @property
    def error(self) -> float:
        """How far `law` may be from the true law, in total variation."""
        return _BEYOND + 1 / (24 * self.steps**2)

    def law(self) -> tuple[int, NDArray[np.float64]]:
        """The smallest value and the chances from there on."""
        return self.reach[0], _chances(self.unrounded, self.reach[1])

    def half_width(self, level: float) -> int:
        """The smallest h with P(|noise| <= h) >= level, the error counted against it."""
        if not 0 < level < 1:
            raise BadRequest(f"The level is {level}.", "Give a number between 0 and 1.")
        first, chances = self.law()
        inside = np.cumsum(chances[-first:] * 2) - chances[-first]
        reached = np.flatnonzero(inside >= level + self.error)
        return int(reached[0]) if reached.size else -first

    def __repr__(self) -> str:
        return one_line(self, f"of standard deviation {math.sqrt(self.unrounded):.4g}, rounded")


@lru_cache(maxsize=256)
def _chances(variance: float, widest: int) -> NDArray[np.float64]:
    from scipy.special import ndtr  # noqa: PLC0415 - slow to import, and few tables need it

    ends = (np.arange(-widest, widest + 2) - 0.5) / math.sqrt(variance)
    # From the nearer tail, so that small chances keep their digits.
    chances = np.where(ends[1:] <= 0, ndtr(ends[1:]) - ndtr(ends[:-1]), ndtr(-ends[:-1]) - ndtr(-ends[1:]))
    chances.flags.writeable = False
    return np.asarray(chances)
