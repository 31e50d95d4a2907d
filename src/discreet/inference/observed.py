"""What a test looks at: the released counts of a table without totals, and the noise table that is their law.

A `Release` gives its unadjusted noisy cells; rounded, clipped or fitted values are for display and never
enter. Totals and coarser levels are left out: they say the same thing twice, with noise of their own or
(under `dp`) as sums of the cells below. Cells that cannot occur (status z) are no part of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import BadRequest
from discreet.inference.channel import whole_numbers
from discreet.inference.noise_by_cell import NoiseByCell, by_cell, of_cells
from discreet.model.release import NOT_APPLICABLE, WITHHELD, Release
from discreet.model.told import told

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.model.noise_law import CellLaw
    from discreet.noise.table import NoiseTable

#: The most cells of one table that a test takes.
MOST_CELLS = 50_000


@dataclass(frozen=True, slots=True)
class Observed:
    """Released counts of the inner cells, their noise, and which of them can occur at all."""

    counts: NDArray[np.int64]
    noise: NoiseTable | NoiseByCell
    possible: NDArray[np.bool_]

    @property
    def batch(self) -> NDArray[np.int64]:
        """The counts as a batch of one table; cells that cannot occur hold 0."""
        return np.where(self.possible, self.counts, 0)[None]


def observed(table: Release | ArrayLike, noise: CellLaw | NoiseByCell | None = None) -> Observed:
    """The released counts of a table and their law.

    Args:
        table: A release, or an array of released counts without totals.
        noise: The noise table of an array, or the laws of its cells; a release knows its own.

    >>> from discreet.noise import laplace
    >>> observed([[3, 4], [5, -1]], laplace(epsilon=1.0, m=5)).counts.shape
    (2, 2)
    """
    if isinstance(table, Release):
        return _released(table)
    if noise is None:
        raise BadRequest(
            told("A plain array has no noise table."), told("Give `noise`, the law of its noise.")
        )
    counts = whole_numbers(table)
    if isinstance(noise, NoiseByCell) and noise.kind.shape != counts.shape:
        raise BadRequest(told("The laws do not fit the table."), told("Give the law of each of its cells."))
    return _checked(Observed(counts, by_cell(noise, counts.shape), np.ones(counts.shape, dtype=np.bool_)))


def _released(release: Release) -> Observed:
    if release.request.measure != "count":
        raise BadRequest(
            told("The noise of weighted counts has no table to be tested by."),
            told("Ask for the measure count."),
        )
    # Coarser levels, like totals, would say the same thing twice.
    inner = np.ix_(*(dimension.leaves for dimension in release.dimensions))
    status = release.status[inner]
    if (status == WITHHELD).any():
        raise BadRequest(
            told("Some cells of the table are withheld."),
            told("Choose categories of which every cell is released."),
        )
    possible = status != NOT_APPLICABLE
    possible &= ~release.law.impossible[inner]
    return _checked(Observed(release.noisy[inner], of_cells(release.law.for_tests(), inner), possible))


def _checked(found: Observed) -> Observed:
    if found.counts.size > MOST_CELLS:
        raise BadRequest(
            told("The table has {size:,} cells.", size=found.counts.size),
            told("A test takes at most {most_cells:,}: group some.", most_cells=MOST_CELLS),
        )
    if not found.possible.any():
        raise BadRequest(told("No cell of this table can occur."), told("Choose other categories."))
    return found
