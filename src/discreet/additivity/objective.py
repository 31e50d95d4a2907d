"""What is minimised when a table is fitted: the sum of the absolute changes of all its cells, totals included.

    Σ over all cells  weight · |x - noisy|,      weight 1, and for a cell that is kept more than all others together

Of all tables with the least such sum the ties are decided by a second sum, which never outweighs one unit of the first:

    +3 for each axis along which a cell is a total: leaf cells give way before totals, totals before the grand total
    +64 a unit for raising a noisy zero, where zeros are to stay (cell key method)
    +0, +1, +2 for the first, the next and all further units of change in one cell: changes spread
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.additivity.least_change import FREE, STEEPEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.additivity.axis_tree import Additive

#: Ties, by unit of change.
TOTAL_TIE, ZERO_TIE = 3, 64
#: No path may cost more: 64-bit integers hold every sum.
MOST = 2**60


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """What every cell of a table wishes, what changes cost, and the bounds.

    Args:
        wish: The noisy cells, or where a cell is kept its value.
        weight: The cost of one unit of change.
        rise: What a unit above the wish costs beside.
        step: Units of change in one cell that cost the same.
        lowest: The least value of each cell.
        highest: The most.
        firm: The weight of a kept cell.
    """

    wish: NDArray[np.int64]
    weight: NDArray[np.int64]
    rise: NDArray[np.int64]
    step: int
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]
    firm: int

    @property
    def free(self) -> NDArray[np.bool_]:
        """Which cells are not kept."""
        return self.weight < self.firm

    def change(self, values: NDArray[np.int64]) -> int:
        """How much all cells that are not kept were changed together."""
        return int(np.abs(values - self.wish)[self.free].sum())

    def at(self, place: tuple[int | slice, ...]) -> Objective:
        """The objective of a slice."""
        arrays = (self.wish, self.weight, self.rise, self.lowest, self.highest)
        wish, weight, rise, lowest, highest = (array[place] for array in arrays)
        return replace(self, wish=wish, weight=weight, rise=rise, lowest=lowest, highest=highest)

    def cost(self, values: NDArray[np.int64]) -> int:
        """The cost of a table, its ties by step left aside."""
        away = values - self.wish
        return int((np.abs(away) * self.weight + np.maximum(away, 0) * self.rise).sum())


def objective(
    noisy: NDArray[np.int64],
    structure: Additive,
    possible: NDArray[np.bool_],
    *,
    kept: NDArray[np.bool_],
    bounded: bool,
    keep_zeros: bool,
) -> Objective:
    """The objective of a table.

    Args:
        noisy: Its cells with their noise; kept cells with the value that they keep.
        structure: Which are sums of which.
        possible: Which may differ from zero.
        kept: Cells that keep their value wherever that is possible.
        bounded: No value may be below zero.
        keep_zeros: Raising a noisy zero is avoided among equals.
    """
    floor = np.maximum(noisy, 0) if bounded else noisy
    some = structure.add_up(structure.leaf_cells(np.where(possible, floor, 0)))
    least = int(np.abs(some - noisy).sum())  # the change of a table that adds up and is not the best
    highest_tie = TOTAL_TIE * noisy.ndim + ZERO_TIE + STEEPEST
    nodes = noisy.size + 2
    unit = 1 + highest_tie * least
    firm = nodes * (unit + highest_tie)
    if firm * (nodes if kept.any() else 1) > MOST:
        unit, highest_tie, firm = 1, 0, nodes
    tie = TOTAL_TIE * structure.sums_along() if highest_tie else np.zeros_like(noisy)
    zero = ZERO_TIE if highest_tie and keep_zeros else 0
    return Objective(
        wish=noisy,
        weight=np.where(kept, firm, unit + tie),
        rise=np.where((noisy == 0) & ~kept, zero, 0),
        step=1 + least // noisy.size if highest_tie else 0,
        lowest=np.where(possible & (not bounded), -FREE, 0),
        highest=np.where(possible, FREE, 0),
        firm=firm,
    )
