"""Per-cell variances and covariances of consistent margins, in closed form.

An unbiased consistent set of margins is a sum of independent centred parts r_S with covariance
σ_S² ⊗_{j∈S}(I - J/k_j). Hence for cells x of α and y of β

    Cov = Σ_{S ⊆ α∩β} σ_S² Π_{j∈S} (1[x_j = y_j] - 1/k_j) / (Π_{j∈α∖S} k_j · Π_{j∈β∖S} k_j),

and every cell of a margin has the same variance.

Source: Xiao, He, Zhang & Kifer (2023), Theorems 4 and 5, in this basis.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.margins.closure import Axes, MarginSet, subsets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


def kept_share(wanted: MarginSet, part: Axes) -> float:
    """Π_{j∈S} (1 - 1/k_j): the squared length of a centred unit vector."""
    return math.prod(1 - 1 / k for k in wanted.margin_shape(part))


def variance_shares(wanted: MarginSet) -> NDArray[np.float64]:
    """Row α, column S of the closure: what σ_S² = 1 adds to the variance of a cell of α."""
    shares = np.zeros((len(wanted.margins), len(wanted.closure)))
    place = {part: i for i, part in enumerate(wanted.closure)}
    for row, margin in enumerate(wanted.margins):
        for part in subsets(margin):
            shares[row, place[part]] = kept_share(wanted, part) / wanted.rest(margin, part) ** 2
    return shares


@dataclass(frozen=True, slots=True)
class Covariance:
    """The second moments of a consistent set of noisy margins.

    Args:
        wanted: The margins.
        residual_variance: σ_S² of every S of the closure.

    >>> wanted = MarginSet(("A", "B"), (2, 2), ((0, 1),))
    >>> plain = Covariance(wanted, {(): 4.0, (0,): 2.0, (1,): 2.0, (0, 1): 1.0})  # variance 1 a cell
    >>> plain.of_cell((0, 1)), plain.between((0, 1), (0, 0), (0, 1), (0, 1))
    (1.0, 0.0)
    """

    wanted: MarginSet
    residual_variance: Mapping[Axes, float]

    def of_cell(self, margin: Axes) -> float:
        """The variance of any cell of a margin."""
        return sum(
            self.residual_variance[part] * kept_share(self.wanted, part) / self.wanted.rest(margin, part) ** 2
            for part in subsets(margin)
        )

    def between(self, margin: Axes, cell: Sequence[int], other: Axes, other_cell: Sequence[int]) -> float:
        """The covariance of a cell of one margin with a cell of the same or another margin."""
        here, there = dict(zip(margin, cell, strict=True)), dict(zip(other, other_cell, strict=True))
        total = 0.0
        for part in subsets(tuple(j for j in margin if j in there)):
            agreement = math.prod((here[j] == there[j]) - 1 / self.wanted.shape[j] for j in part)
            joined = self.wanted.rest(margin, part) * self.wanted.rest(other, part)
            total += self.residual_variance[part] * agreement / joined
        return total
