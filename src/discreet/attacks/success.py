"""How well an attack did, with the uncertainty of having tried it on so many targets.

share of right answers    exact interval of a binomial probability (Clopper & Pearson, 1934)
root mean squared error   mean of squares +- z standard errors, as a root
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.stats import beta, norm

if TYPE_CHECKING:
    from numpy.typing import NDArray

CONFIDENCE = 0.95


class Measured(NamedTuple):
    """A measured figure with its interval."""

    value: float
    low: float
    high: float


def share(hits: int, of: int, confidence: float = CONFIDENCE) -> Measured:
    """A share with its Clopper-Pearson interval, which covers at least as often as it says.

    >>> [round(float(x), 4) for x in share(8, 10)]
    [0.8, 0.4439, 0.9748]
    """
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, of - hits + 1))
    high = 1.0 if hits == of else float(beta.ppf(1 - tail, hits + 1, of - hits))
    return Measured(hits / of, low, high)


def root_mean_square(errors: NDArray[np.float64], confidence: float = CONFIDENCE) -> Measured:
    """The root mean squared error; its interval is that of the mean of squares, by the normal law."""
    squares = np.square(errors)
    mean = float(squares.mean())
    half = float(norm.ppf((1 + confidence) / 2)) * float(squares.std()) / math.sqrt(errors.size)
    return Measured(math.sqrt(mean), math.sqrt(max(0.0, mean - half)), math.sqrt(mean + half))
