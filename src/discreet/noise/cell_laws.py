"""The law of the noise of every cell of a table whose cells are sums of released cells.

A cell that adds up K cells of a margin has K independent terms of that margin's noise. Cells that are public, such as
a known total, have none.

Comes from: `protect/described_noise.py`. Goes to: the release, `inference`, sampling errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.noise.sum_law import SumLaw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.noise.table import NoiseTable

#: In place of a margin: the cell is public and has no noise.
PUBLIC = -1


@dataclass(frozen=True, eq=False)
class CellLaws:
    """How many terms of which margin's noise each cell has.

    Args:
        terms: How many noisy base cells each one adds up; 0 for cells that are public (known total, nobody).
        margin: For each cell its place in `margins`, or `PUBLIC`.
        margins: The margins that answered, each with its noise table.
    """

    terms: NDArray[np.int64]
    margin: NDArray[np.int16]
    margins: tuple[tuple[tuple[str, ...], NoiseTable], ...]

    def at(self, *place: int) -> SumLaw | None:
        """The law of the noise of one cell; None where it has none."""
        answered = int(self.margin[place])
        terms = int(self.terms[place])
        if answered == PUBLIC or terms == 0:
            return None
        return SumLaw(self.margins[answered][1].rows[0], terms)

    @property
    def impossible(self) -> NDArray[np.bool_]:
        """Cells that nobody can be in: they add up structural zeros alone."""
        return np.asarray((self.terms == 0) & (self.margin != PUBLIC))

    def variances(self) -> NDArray[np.float64]:
        """The variance of the noise of every cell."""
        each = np.array([float(table.rows[0].variance()) for _, table in self.margins] + [0.0])
        spread: NDArray[np.float64] = each[self.margin] * self.terms
        return spread

    def kinds(self) -> Iterator[tuple[NDArray[np.bool_], Fraction]]:
        """The cells of each kind of noise, as a mask, and the exact variance of that kind."""
        pairs = np.stack([self.margin.ravel().astype(np.int64), self.terms.ravel()])
        found, place = np.unique(pairs, axis=1, return_inverse=True)
        for number, (margin, terms) in enumerate(found.T.tolist()):
            row_variance = self.margins[margin][1].rows[0].variance() if margin != PUBLIC else Fraction(0)
            yield (place == number).reshape(self.terms.shape), terms * row_variance
