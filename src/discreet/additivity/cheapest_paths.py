"""Cheapest paths: units flow from where a table has too much to where it lacks, at the least total change.

A table is a network: raising cell (i, j) is an arc from row i to column j, lowering it the arc back. An arc
costs what it adds to Σ |x - wish|: +1 away from the wish, -1 towards it. If a table is the cheapest with its
own sums, then so it is after a unit has moved along a cheapest path (successive shortest paths). Prices of
the lines, under which no arc gains, prove the optimum:

    cost(i -> j) + price_i - price_j >= 0   for every arc that is open.

Comes from: `transportation`. Goes to: `transportation`. Everything is integers; the first of equals is taken.
Source: Ford & Fulkerson (1962), chapter III; Ahuja, Magnanti & Orlin (1993), section 9.7.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The price of what cannot be reached; far above any path, and far from overflow.
CLOSED = 2**40


@dataclass(frozen=True, slots=True)
class Costs:
    """What a two-way table wishes, and what changes cost.

    Args:
        wish: The wished cells.
        rise: The cost of each unit above the wish; a unit below costs 1.
        possible: Which cells may be raised at all.
    """

    wish: NDArray[np.int64]
    rise: NDArray[np.int64]
    possible: NDArray[np.bool_]

    def turned(self) -> Costs:
        """The same with rows and columns exchanged."""
        return Costs(
            np.ascontiguousarray(self.wish.T),
            np.ascontiguousarray(self.rise.T),
            np.ascontiguousarray(self.possible.T),
        )

    def cheapest_to_rise(self, row: int) -> NDArray[np.int64]:
        """Which cells of a row rise at the least cost; none if none may."""
        open_ = np.flatnonzero(self.possible[row])
        cost = self.rise[row, open_]
        return open_[cost == cost.min()] if open_.size else open_

    def raising(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """What the next unit up costs in each cell."""
        return np.where(cells < self.wish, -1, np.where(self.possible, self.rise, CLOSED))

    def lowering(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """What the next unit down costs in each cell."""
        return np.where(cells > self.wish, -self.rise, np.where(cells > 0, 1, CLOSED))


def flow_out(
    costs: Costs, cells: NDArray[np.int64], lack: NDArray[np.int64]
) -> tuple[NDArray[np.int64], bool, bool, int]:
    """Move units along cheapest paths until no line lacks any or has too many.

    Args:
        costs: What changes cost.
        cells: The cheapest table with its own sums; changed in place.
        lack: What each row and then each column lacks; negative where it has too much.

    Returns:
        The table, whether it is proven the cheapest with these sums, whether all are met, and the paths.
    """
    network = _Network(costs, cells, lack)
    moved = 0
    while network.advance():
        moved += 1
    met = not lack.any()
    return cells, met and network.proven(), met, moved


class _Network:
    """The arcs of a table and the prices of its lines, kept up to date as units move."""

    def __init__(self, costs: Costs, cells: NDArray[np.int64], lack: NDArray[np.int64]) -> None:
        self.costs, self.cells, self.lack = costs, cells, lack
        self.up, self.down = costs.raising(cells), costs.lowering(cells)
        self.prices = np.zeros(lack.size, dtype=np.int64)

    def advance(self) -> bool:
        """Move units along a cheapest path; False when no line that lacks can be reached."""
        rows = self.cells.shape[0]
        # A row that lacks must send more, a column that has too much must give back: both are sources.
        gives = np.concatenate([self.lack[:rows] > 0, self.lack[rows:] < 0])
        takes = np.concatenate([self.lack[:rows] < 0, self.lack[rows:] > 0])
        if not gives.any() or not takes.any():
            return False
        prices, before = self._prices_from(gives)
        ends = np.flatnonzero(takes)
        end = int(ends[np.argmin(prices[ends])])
        if prices[end] >= CLOSED // 2:
            return False
        self._move(end, before)
        return True

    def _prices_from(self, gives: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The cheapest way to each line from any source, and the line before it on that way.

        A way has no more arcs than there are lines, unless some circle gains for ever; so it ends.
        """
        rows, columns = self.cells.shape
        prices = np.where(gives, 0, CLOSED)
        before = np.full(prices.size, -1)
        for _ in range(prices.size):
            to_columns = prices[:rows, None] + self.up
            from_row = to_columns.argmin(axis=0)
            column_prices = to_columns[from_row, np.arange(columns)]
            better = column_prices < prices[rows:]
            prices[rows:][better], before[rows:][better] = column_prices[better], from_row[better]
            to_rows = prices[None, rows:] + self.down
            from_column = to_rows.argmin(axis=1)
            row_prices = to_rows[np.arange(rows), from_column]
            better = row_prices < prices[:rows]
            if not better.any():
                break
            prices[:rows][better], before[:rows][better] = row_prices[better], rows + from_column[better]
        return prices, before

    def _move(self, end: int, before: NDArray[np.int64]) -> None:
        """Move as many units along the way that ends here as cost the same each."""
        rows = self.cells.shape[0]
        arcs, line = [], end
        while before[line] >= 0:
            last, line = line, int(before[line])
            arcs.append(((line, last - rows), 1) if line < rows else ((last, line - rows), -1))
        units = min(abs(int(self.lack[line])), abs(int(self.lack[end])))
        units = min([units, *(self._room(place, sign) for place, sign in arcs)])
        for place, sign in arcs:
            self.cells[place] += sign * units
            self._update(place)
        self.lack[line] -= units if line < rows else -units
        self.lack[end] += units if end < rows else -units

    def _room(self, place: tuple[int, int], sign: int) -> int:
        """How many units a cell can move before its cost changes."""
        wish, cell = int(self.costs.wish[place]), int(self.cells[place])
        if sign > 0:
            return wish - cell if cell < wish else CLOSED
        return cell - wish if cell > wish else cell

    def _update(self, place: tuple[int, int]) -> None:
        wish, cell, rise = self.costs.wish[place], self.cells[place], self.costs.rise[place]
        self.up[place] = -1 if cell < wish else rise if self.costs.possible[place] else CLOSED
        self.down[place] = -rise if cell > wish else 1 if cell > 0 else CLOSED

    def proven(self) -> bool:
        """Whether there are prices under which no arc gains, so that no table with these sums is cheaper."""
        prices, _ = self._prices_from(np.ones(self.lack.size, dtype=np.bool_))
        rows = self.cells.shape[0]
        across = prices[:rows, None] - prices[None, rows:]
        return bool((self.up + across >= 0).all() and (self.down - across >= 0).all())
