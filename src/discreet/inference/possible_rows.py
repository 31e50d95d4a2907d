"""Which noise may lie behind a released cell: the laws that serve its possible true counts.

A reader sees x and not n. The counts n with P(x | n) > 0 are possible, and the true one is always among them. Some
of them have the same law, so a cell is a short list of laws, each with the counts that it serves:

    law r:  chances of the noise,  least and most of the counts.

A cell with one law has known noise. In a difference a cell counts against the sum: its noise and its counts change
sign, and nothing else does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from discreet.inference.channel import channel_of, whole_numbers
from discreet.inference.law import Law

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from discreet.model.noise_law import CellLaw


@dataclass(frozen=True, slots=True, eq=False)
class PossibleRows:
    """The laws that may serve some cells with the same released count.

    Args:
        first: The smallest noise value.
        laws: One line a law: the chances of first, first + 1, ...
        least: The smallest count that each law serves here.
        most: The largest.
        times: How many cells these are.
    """

    first: int
    laws: NDArray[np.float64]
    least: NDArray[np.int64]
    most: NDArray[np.int64]
    times: int

    @property
    def known(self) -> bool:
        """Whether one law serves every possible count."""
        return len(self.laws) == 1

    @property
    def last(self) -> int:
        """The largest noise value."""
        return self.first + int(self.laws.shape[1]) - 1

    @property
    def law(self) -> Law:
        """The law of known noise."""
        return Law(self.first, self.laws[0])

    def negative(self) -> Self:
        """The same cells, counted against the sum."""
        return type(self)(-self.last, self.laws[:, ::-1], -self.most, -self.least, self.times)

    def noise_reflected(self) -> Self:
        """The same counts with the negative of their noise."""
        return type(self)(-self.last, self.laws[:, ::-1], self.least, self.most, self.times)

    def moments(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and variance of each law."""
        values = np.arange(self.first, self.last + 1)
        mean = self.laws @ values
        return mean, self.laws @ values**2 - mean**2


def possible_rows(cells: ArrayLike, noise: CellLaw) -> Iterator[PossibleRows]:
    """The possible rows of each released count, counts that occur often together.

    >>> from discreet.noise import maxent
    >>> [(rows.times, len(rows.laws)) for rows in possible_rows([0, 20, 0], maxent(D=5, V=3, js=2))]
    [(2, 6), (1, 1)]
    """
    channel = channel_of(noise)
    values, times = np.unique(whole_numbers(cells), return_counts=True)
    evidence = channel.evidence(values)
    index = channel.law_index(evidence.counts)
    for place, often in enumerate(times.tolist()):
        possible = evidence.chance[place] > 0
        counts, served = evidence.counts[place][possible], index[place][possible]
        rows = np.unique(served)
        least = np.array([counts[served == row].min() for row in rows])
        most = np.array([counts[served == row].max() for row in rows])
        yield PossibleRows(channel.lowest, channel.laws[rows], least, most, often)
