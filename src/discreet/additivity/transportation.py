"""Two-way tables: the integers nearest to the wished cells that have the wanted row and column sums.

    minimise Σ |x_ij - wish_ij|   subject to   Σ_j x_ij = row_i,  Σ_i x_ij = column_j,  x_ij >= 0.

With r and c what the rows and columns lack, no table changes less than max(Σ|r|, Σ|c|). A greedy pass gives
each row what it lacks where the columns lack the same; it mostly reaches that bound, and in any case is the
cheapest table with the sums that it has. What is still lacking flows along cheapest paths (`cheapest_paths`),
each of which keeps that property, until nothing lacks: the integer optimum of the transportation problem,
with prices that prove it. All arithmetic is on integers: no solver's version, tolerance or thread decides.

Of equal changes, those of one unit come first, then large cells before small ones, then earlier cells.

Comes from: `fitted`. Goes to: `fitted`.
Source: Shlomo, Krenzke & Li (2019), section 2, option 3; the bound is ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from discreet.additivity.cheapest_paths import Costs, flow_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Raising a wished zero counts as so many units of change.
ZERO = 8


@dataclass(frozen=True, slots=True)
class Transported:
    """A fitted two-way table.

    Args:
        cells: The integers.
        optimal: Whether it is proven that no table with these sums is nearer.
        met: Whether all row and column sums are as wanted; structural zeros can make that impossible.
        paths: How many paths were needed after the greedy pass.
    """

    cells: NDArray[np.int64]
    optimal: bool
    met: bool
    paths: int


def transport(
    wish: NDArray[np.int64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    possible: NDArray[np.bool_],
    *,
    keep_zeros: bool,
) -> Transported:
    """The nearest table of non-negative integers with the given row and column sums.

    Args:
        wish: Non-negative wished cells; zero where not possible.
        rows: Wanted row sums, not negative.
        columns: Wanted column sums, not negative.
        possible: Which cells may differ from zero.
        keep_zeros: Count raising a wished zero as `ZERO` units of change.

    >>> wish = np.array([[3, 1], [0, 2]])
    >>> transport(wish, np.array([5, 2]), np.array([4, 3]), wish >= 0, keep_zeros=True).cells.tolist()
    [[4, 1], [0, 2]]
    """
    lack_rows, lack_columns = rows - wish.sum(axis=1), columns - wish.sum(axis=0)
    costs = Costs(wish, np.where(possible & ((wish > 0) | (not keep_zeros)), 1, ZERO), possible)
    if np.abs(lack_rows).sum() >= np.abs(lack_columns).sum():
        return _transport(costs, lack_rows, lack_columns)
    turned = _transport(costs.turned(), lack_columns, lack_rows)
    return replace(turned, cells=np.ascontiguousarray(turned.cells.T))


def _transport(costs: Costs, lack_rows: NDArray[np.int64], lack_columns: NDArray[np.int64]) -> Transported:
    cells, lack = _row_by_row(costs, lack_rows, lack_columns)
    return Transported(*flow_out(costs, cells, lack))


def _row_by_row(
    costs: Costs, lack_rows: NDArray[np.int64], lack_columns: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give each row what it lacks, all with one sign, where its columns lack the same most.

    Every row's change is as cheap as its sum allows, so the table is the cheapest with its own sums.
    """
    cells, row_lack, lack = costs.wish.copy(), lack_rows.copy(), lack_columns.copy()
    for i in np.argsort(-np.abs(lack_rows), kind="stable"):
        sign = int(np.sign(row_lack[i]))
        while row_lack[i]:
            open_ = costs.cheapest_to_rise(i) if sign > 0 else np.flatnonzero(cells[i] > 0)
            if not open_.size:
                break
            wanted = sign * lack[open_]
            order = open_[np.lexsort((-costs.wish[i, open_], -wanted))]
            units = abs(int(row_lack[i]))
            chosen = order[: min(units, max(1, int((wanted > 0).sum())))]
            # One unit at a time, so that changes spread; more where very many are lacking.
            step = np.full(chosen.size, max(1, units // (2 * open_.size)))
            step = np.where(sign * lack[chosen] > 0, np.minimum(step, sign * lack[chosen]), step)
            step = step if sign > 0 else np.minimum(step, cells[i, chosen])
            cells[i, chosen] += sign * step
            lack[chosen] -= sign * step
            row_lack[i] -= sign * int(step.sum())
    return cells, np.concatenate([row_lack, lack])
