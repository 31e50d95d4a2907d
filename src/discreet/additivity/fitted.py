"""Additivity `fitted`: totals keep their own noise, and the cells under them are changed to add up to them.

From the top down: the grand total stays at its noisy value (not below zero); one-way margins are the integers
nearest to their noisy values that add up to it; two-way margins the nearest that add up to these; and so on
to the leaf cells, at every level of a hierarchy. One way is a split, two ways are a transportation problem
with a proven optimum, more ways are adjusted towards their margins (`controlled_adjustment`). The totals of
the result are the sums of its leaf cells, so that it adds up exactly whatever happened on the way.

Why from the top down, and not the least change over all cells at once: a total has the noise of one cell, the
sum of its n parts the noise of n. The least total change lets that sum outvote the total; least squares gives
it a share of 1/(n+1), but makes every margin depend on the cells below it. From the top down a margin of one
or two ways depends on its own noisy cells and those above it alone, hence is the same in all tables that show
all of it; leaf cells give up being the same in every table. Structural zeros and tables of three or more ways
can put margins out of reach; the report says whether they were met.

The privacy claim is untouched: only noisy cells and public structure are read (post-processing). In `dp` the
same (ε, δ) holds; in `cellkey` the unfitted cells could be asked for anyway. Fitted values are for display:
inference uses the noisy cells, whose law is known.

Comes from: `protect`. Goes to: the release's values.
Source: Shlomo, Krenzke & Li (2019), section 2, option 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.additivity.controlled_adjustment import adjust, summed_over
from discreet.additivity.split import split
from discreet.additivity.transportation import transport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.additivity.axis_tree import Additive

#: A level for each axis; 0 are its roots.
Levels = tuple[int, ...]
#: Where the parts of one whole per axis stand, as `np.ix_` gives it.
Block = tuple["NDArray[np.int64]", ...]


@dataclass(frozen=True, slots=True)
class FittedReport:
    """What fitting did to a table; it depends on released values only.

    Args:
        method: `split`, `transportation` or `controlled adjustment`, by the number of ways.
        optimal: Whether every step is proven to change as little as possible.
        margins_met: Whether every margin is the one fitted from the top down.
        largest_change: The largest absolute change of a cell, totals included.
        mean_change: The mean absolute change of a cell.
        share_changed: The share of cells that were changed.
        passes: How many passes the longest controlled adjustment took, of at most
            `controlled_adjustment.PASSES`.
    """

    method: str
    optimal: bool
    margins_met: bool
    largest_change: int
    mean_change: float
    share_changed: float
    passes: int

    def sentence(self) -> str:
        """The report for a reader."""
        proof = "the least possible" if self.optimal else "kept small, without proof of the least"
        return (
            f"After the noise, {self.share_changed:.0%} of the cells were changed so that all totals add up, "
            f"by {self.mean_change:.2f} on average over all cells and at most {self.largest_change} "
            f"({proof})."
        )


def fitted(
    noisy: NDArray[np.int64],
    structure: Additive,
    *,
    impossible: NDArray[np.bool_] | None = None,
    keep_zeros: bool = True,
) -> tuple[NDArray[np.int64], FittedReport]:
    """Non-negative integers near the noisy ones, in which every total is the sum of its parts.

    Args:
        noisy: Noisy cells, totals included; may be negative.
        structure: Which cells are sums of which.
        impossible: Structural zeros; they stay zero.
        keep_zeros: Noisy zeros stay zero where the margins can be met without them (`cellkey`).

    >>> from discreet.additivity.axis_tree import Additive, AxisTree
    >>> noisy = np.array([[4, 2, 7], [3, 0, 3], [6, 3, 9]])
    >>> values, report = fitted(noisy, Additive((AxisTree.plain(2), AxisTree.plain(2))))
    >>> values.tolist(), report.optimal
    ([[3, 3, 6], [3, 0, 3], [6, 3, 9]], True)
    """
    structure.check(noisy)
    work = _TopDown(noisy, structure, structure.impossible(impossible), keep_zeros=keep_zeros)
    for levels in _coarse_to_fine(structure):
        work.fit(levels)
    values = structure.add_up(work.tables[work.finest])
    return values, work.report(values)


def _coarse_to_fine(structure: Additive) -> list[Levels]:
    """All choices of a level for each axis, each after all that are coarser."""
    return sorted(
        product(*(range(tree.height + 1) for tree in structure.axes)),
        key=lambda levels: (sum(levels), levels),
    )


class _Whole(NamedTuple):
    """One whole per axis, whose parts are fitted together.

    Args:
        levels: The level of the parts; an axis at level 0 has a root instead.
        place: Where each whole (or root) stands in its cut.
        block: Where its parts stand in theirs.
    """

    levels: Levels
    place: tuple[int, ...]
    block: Block

    @property
    def active(self) -> list[int]:
        """The axes along which there are parts."""
        return [axis for axis, level in enumerate(self.levels) if level]


class _TopDown:
    """The tables fitted so far, one for each choice of levels."""

    def __init__(
        self,
        noisy: NDArray[np.int64],
        structure: Additive,
        impossible: NDArray[np.bool_],
        *,
        keep_zeros: bool,
    ) -> None:
        self.noisy, self.structure, self.keep_zeros = noisy, structure, keep_zeros
        self.possible = ~impossible
        self.tables: dict[Levels, NDArray[np.int64]] = {}
        self.finest = tuple(tree.height for tree in structure.axes)
        self.optimal, self.passes, self.ways = True, 0, 0

    def fit(self, levels: Levels) -> None:
        """Fit the table at these levels to the tables one level above it along each axis."""
        cuts = self._cuts(levels)
        possible = self.possible[cuts]
        self.tables[levels] = table = np.where(possible, np.maximum(self.noisy[cuts], 0), 0)
        for whole in self._wholes(levels):
            table[whole.block] = self._fit_parts(table[whole.block], possible[whole.block], whole)

    def _cuts(self, levels: Levels) -> Block:
        return np.ix_(*(tree.cut(level) for tree, level in zip(self.structure.axes, levels, strict=True)))

    def _wholes(self, levels: Levels) -> Iterator[_Whole]:
        """All choices of one whole per axis at these levels; none at the top, which is kept."""
        if not any(levels):
            return
        groups = [
            tree.groups(level) if level else [np.array([root]) for root in range(tree.cut(0).size)]
            for tree, level in zip(self.structure.axes, levels, strict=True)
        ]
        for place in product(*(range(len(parts)) for parts in groups)):
            block = np.ix_(*(parts[at] for parts, at in zip(groups, place, strict=True)))
            yield _Whole(levels, place, block)

    def _fit_parts(
        self, wish: NDArray[np.int64], possible: NDArray[np.bool_], whole: _Whole
    ) -> NDArray[np.int64]:
        """Fit the parts of one whole to the sums that are already fitted."""
        active = whole.active
        for axis in active:
            if wish.shape[axis] == 1:  # an only part is its whole, and that is fitted
                return self._aim(whole, (axis,))
        ways = tuple(wish.shape[axis] for axis in active)
        aims = {
            margin: self._aim(whole, tuple(active[a] for a in margin)).reshape(
                [n for a, n in enumerate(ways) if a not in margin]
            )
            for margin in summed_over(len(active))
        }
        return self._solve(wish.reshape(ways), possible.reshape(ways), aims).reshape(wish.shape)

    def _aim(self, whole: _Whole, over: tuple[int, ...]) -> NDArray[np.int64]:
        """The fitted sums of the parts over some axes: the cells one level up along these."""
        table = self.tables[tuple(level - (axis in over) for axis, level in enumerate(whole.levels))]
        places = [
            [at] if a in over else part.ravel()
            for a, (at, part) in enumerate(zip(whole.place, whole.block, strict=True))
        ]
        return table[np.ix_(*places)]

    def _solve(
        self,
        wish: NDArray[np.int64],
        possible: NDArray[np.bool_],
        aims: dict[tuple[int, ...], NDArray[np.int64]],
    ) -> NDArray[np.int64]:
        """One way is split, two are transported, more are adjusted."""
        self.ways = max(self.ways, wish.ndim)
        if wish.ndim == 1:
            return split(wish, int(aims[0,]), possible, keep_zeros=self.keep_zeros)
        if wish.ndim == 2:
            moved = transport(wish, aims[1,], aims[0,], possible, keep_zeros=self.keep_zeros)
            self.optimal &= moved.optimal
            return moved.cells
        adjusted = adjust(wish, aims, possible, keep_zeros=self.keep_zeros)
        self.optimal &= adjusted.optimal
        self.passes = max(self.passes, adjusted.passes)
        return adjusted.cells

    def report(self, values: NDArray[np.int64]) -> FittedReport:
        """What was done, in figures."""
        change = np.abs(values - self.noisy)
        return FittedReport(
            method=("none", "split", "transportation", "controlled adjustment")[min(self.ways, 3)],
            optimal=self.optimal,
            margins_met=all((values[self._cuts(at)] == table).all() for at, table in self.tables.items()),
            largest_change=int(change.max()),
            mean_change=float(change.mean()),
            share_changed=float((change > 0).mean()),
            passes=self.passes,
        )
