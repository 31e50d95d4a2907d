"""Controlled adjustment of tables of three or more ways: integers near the wished cells with sums near the wanted ones.

Integers with given two-way margins in three ways need not exist, and deciding it is hard; so the wanted sums
(of all orders) are aims, and the objective, lowered step by step in integers, is

    Σ_margins weight · |aim - sum| + Σ_cells cost(|x - wish|).

First every line along one axis gets the units that it lacks, where the other margins lack the same. Then a
unit moves within a line whenever that lowers the objective (the cost grows a little faster than the change). Every
move lowers a non-negative integer, so it ends; the margins of the result are its own sums, so they add up
exactly. The first of equals is taken; nothing is a float.

Source: after Cox & Dandekar (2004), controlled tabular adjustment; De Loera & Onn (2004) for the hardness.
"""

from collections.abc import Mapping
from itertools import chain, combinations
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: The weight of a unit missing in a sum over one axis, in units of change of a cell. Sums over more axes weigh, for each
#: further axis, 0, 1 and then 2 times as much: firm from the start, totals would block the moves that fit the margins
#: below them.
MARGIN, STAGES = 4, (0, 1, 2)
#: The cost of raising a wished zero, in units of change.
ZERO = 8
#: In one cell the first SPREAD units of change cost 1 each, the next 2, all further ones 3, so that changes are spread.
#: SPREAD is multiplied by 1 + the missing units per cell.
SPREAD, STEEPEST = 3, 2
#: Passes over all axes, all stages together; most tables need fewer than twenty.
PASSES = 100
NEVER = 2**40


def sum_axes(axes: int) -> list[tuple[int, ...]]:
    """The axes over which each margin of a table is a sum.

    >>> sum_axes(2)
    [(0,), (1,), (0, 1)]
    """
    return list(chain.from_iterable(combinations(range(axes), n) for n in range(1, axes + 1)))


def adjust(
    wish: NDArray[np.int64],
    aims: Mapping[tuple[int, ...], NDArray[np.int64]],
    possible: NDArray[np.bool_],
    *,
    keep_zeros: bool,
) -> NDArray[np.int64]:
    """Integers near the wish with sums near the aims, given for each choice of axes summed over (`sum_axes`).

    With `keep_zeros` raising a wished zero counts as `ZERO` units of change.
    """
    work = _Work(wish, aims, possible, keep_zeros=keep_zeros)
    axes = range(wish.ndim)
    work.fill(int(np.argmax([np.abs(work.lacking(axis)).sum() for axis in axes])))
    passes = 0
    for stage in STAGES:
        work.weigh(stage)
        while passes < PASSES and sum(work.improve(axis) for axis in axes) > 0:
            passes += 1
    return work.cells


class _Work:
    """The cells and what every margin lacks, in one flat buffer so that a line is one lookup.

    What margin m lacks at a cell's place is at `first[m] + strides[m] · place`; a stride is 0 along the axes that the margin
    sums over.
    """

    def __init__(
        self,
        wish: NDArray[np.int64],
        aims: Mapping[tuple[int, ...], NDArray[np.int64]],
        possible: NDArray[np.bool_],
        *,
        keep_zeros: bool,
    ) -> None:
        self.wish, self.cells = wish, wish.copy()
        zero = (wish == 0) & keep_zeros
        self.rise = np.where(possible, np.where(zero, ZERO, 1), NEVER)
        self.margins = sum_axes(wish.ndim)
        lacks = [aims[margin] - wish.sum(axis=margin) for margin in self.margins]
        self.lack = np.concatenate([np.ravel(lack) for lack in lacks])
        self.first = np.cumsum([0, *(np.size(lack) for lack in lacks[:-1])])
        self.strides = np.array([_strides(wish.shape, margin) for margin in self.margins])
        self.weigh(STAGES[0])
        lacking = max(int(np.abs(lack).sum()) for lack in lacks)
        self.spread = SPREAD * (1 + lacking // wish.size)

    def weigh(self, stage: int) -> None:
        """Set the weight of a unit missing in each margin."""
        self.weights = np.array([MARGIN * stage ** (len(margin) - 1) for margin in self.margins])

    def lacking(self, m: int) -> NDArray[np.int64]:
        """What one margin lacks, shaped to broadcast over the cells."""
        shape = tuple(1 if a in self.margins[m] else n for a, n in enumerate(self.wish.shape))
        return self.lack[self.first[m] : self.first[m] + prod(shape)].reshape(shape)

    def fill(self, axis: int) -> None:
        """Give every line along an axis the units that it lacks."""
        lines = self.lacking(axis).take(0, axis=axis)
        for place in np.argsort(-np.abs(lines), axis=None, kind="stable"):
            line = _Line(self, axis, np.unravel_index(int(place), lines.shape), everything=True)
            line.fill(int(lines.flat[place]))

    def improve(self, axis: int) -> int:
        """Move units within the lines along an axis while that helps; how many were moved."""
        up, down = self._gains(axis)
        best = up.max(axis=axis) + down.max(axis=axis)
        moved = 0
        for place in np.flatnonzero(best > 0):
            moved += _Line(self, axis, np.unravel_index(int(place), best.shape), everything=False).improve()
        return moved

    def _gains(self, axis: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The gain of one unit more, and of one less, in each cell, without sums along the axis."""
        up = -raising(self.cells, self.wish, self.rise, self.spread)
        down = -lowering(self.cells, self.wish, self.rise, self.spread)
        for m, margin in enumerate(self.margins):
            if axis not in margin and self.weights[m]:
                lacking = self.lacking(m)
                up = up + np.where(lacking > 0, self.weights[m], -self.weights[m])
                down = down + np.where(lacking < 0, self.weights[m], -self.weights[m])
        return up, down


class _Line:
    """One line of cells along an axis, and the indices of its margins in the buffer."""

    def __init__(self, work: _Work, axis: int, place: tuple[np.intp, ...], *, everything: bool) -> None:
        across = tuple(place[:axis]), tuple(place[axis:])
        index: Any = (*across[0], slice(None), *across[1])
        self.cells, self.wish, self.rise = work.cells[index], work.wish[index], work.rise[index]
        self.lack, self.spread = work.lack, work.spread
        start = np.array([*across[0], 0, *across[1]])
        chosen = np.array([everything or axis not in margin for margin in work.margins])
        first = work.first[chosen] + work.strides[chosen] @ start
        along = work.strides[chosen, axis]
        self.places = first[:, None] + along[:, None] * np.arange(self.cells.size)
        self.weights = work.weights[chosen]
        self.varies = along > 0

    def fill(self, units: int) -> None:
        """Change the line's sum by some units, where the other margins lack them most."""
        sign = 1 if units > 0 else -1
        left = abs(units)
        while left:
            lack = sign * self.lack[self.places[self.varies]]
            gain = self.weights[self.varies] @ np.sign(lack) - self._cost(sign)
            open_ = np.flatnonzero(gain > -NEVER // 2)
            if not open_.size:
                return
            order = open_[np.lexsort((-self.wish[open_], -gain[open_]))]
            chosen = order[: min(left, max(1, int((gain[open_] > 0).sum())))]
            # One unit at a time, so that changes are spread; more if many are lacking.
            step, most = np.full(chosen.size, max(1, left // (2 * open_.size))), lack[:, chosen].max(axis=0)
            step = np.where(most > 0, np.minimum(step, most), step)
            step = step if sign > 0 else np.minimum(step, self.cells[chosen])
            self._change(chosen, sign * step)
            left -= int(step.sum())

    def improve(self) -> int:
        """Move units from one cell to another while that lowers the sum."""
        moved = 0
        while True:
            lack = self.lack[self.places]
            up = self.weights @ np.where(lack > 0, 1, -1) - self._cost(1)
            down = self.weights @ np.where(lack < 0, 1, -1) - self._cost(-1)
            to, from_ = int(up.argmax()), int(down.argmax())
            if to == from_ or up[to] + down[from_] <= 0:
                return moved
            units = min(self._room(to, 1, lack[:, to]), self._room(from_, -1, -lack[:, from_]))
            self._change(np.array([to, from_]), np.array([units, -units]))
            moved += units

    def _cost(self, sign: int) -> NDArray[np.int64]:
        cost = raising if sign > 0 else lowering
        return cost(self.cells, self.wish, self.rise, self.spread)

    def _room(self, place: int, sign: int, lack: NDArray[np.int64]) -> int:
        """How many units a cell can move at least before the gain of the next one changes."""
        away = sign * int(self.cells[place] - self.wish[place])
        step = self.spread - away % self.spread if away >= 0 else (-away - 1) % self.spread + 1
        wanted = int(lack[lack > 0].min()) if (lack > 0).any() else step
        return min(step, wanted) if sign > 0 else min(step, wanted, int(self.cells[place]))

    def _change(self, chosen: NDArray[np.int64], units: NDArray[np.int64]) -> None:
        self.cells[chosen] += units
        # A margin that sums over the axis has one place for all: subtract.at counts each unit. Indices and
        # units are flat, since NumPy (2.4) reads beyond units that are to be broadcast to indices.
        places = self.places[:, chosen]
        np.subtract.at(self.lack, places.ravel(), np.tile(units, places.shape[0]))


def raising(
    cells: NDArray[np.int64], wish: NDArray[np.int64], rise: NDArray[np.int64], spread: int
) -> NDArray[np.int64]:
    """The cost of the next unit up in each cell; negative towards the wish."""
    away = cells - wish
    towards = 1 + np.minimum((-away - 1) // spread, STEEPEST)
    cost: NDArray[np.int64] = np.where(away < 0, -towards, rise + np.minimum(away // spread, STEEPEST))
    return cost


def lowering(
    cells: NDArray[np.int64], wish: NDArray[np.int64], rise: NDArray[np.int64], spread: int
) -> NDArray[np.int64]:
    """The cost of the next unit down in each cell; negative towards the wish.

    >>> lowering(np.array([9, 6, 5, 2, 0]), np.full(5, 5), np.ones(5, dtype=np.int64), 3).tolist()
    [-2, -1, 1, 2, 1099511627776]
    """
    away = cells - wish
    further = np.where(cells > 0, 1 + np.minimum(-away // spread, STEEPEST), NEVER)
    return np.where(away > 0, -rise - np.minimum((away - 1) // spread, STEEPEST), further)


def _strides(shape: tuple[int, ...], margin: tuple[int, ...]) -> list[int]:
    """The strides of each axis in a margin; 0 along axes that are summed over."""
    kept = [1 if axis in margin else length for axis, length in enumerate(shape)]
    return [0 if axis in margin else prod(kept[axis + 1 :]) for axis in range(len(shape))]
