"""A first table that adds up, from the top down: where a table that is no network begins to be fitted.

The grand total stays at its wish (not below zero); one-way margins are the integers nearest to their wishes that add up
to it; two-way margins the nearest that add up to these; and so on to the leaf cells, at every level of a hierarchy. One
way is a split, two ways are a network whose totals are kept, more ways are adjusted towards their margins
(`controlled_adjustment`). The totals of the result are the sums of its leaf cells, so that it adds up exactly whatever
happened on the way. It is not the least change over all cells: `slabs` makes it better.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.additivity.controlled_adjustment import adjust, summed_over
from discreet.additivity.objective import objective
from discreet.additivity.split import split
from discreet.additivity.table_network import nearest, table_network

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

#: A level for each axis; 0 are its roots.
Levels = tuple[int, ...]
#: Where the parts of one whole per axis stand, as `np.ix_` gives it.
Block = tuple["NDArray[np.int64]", ...]


def top_down(
    wish: NDArray[np.int64], structure: Additive, possible: NDArray[np.bool_], *, keep_zeros: bool
) -> NDArray[np.int64]:
    """Non-negative integers near the wished ones, in which every total is the sum of its parts.

    Args:
        wish: Wished cells, totals included; may be negative.
        structure: Which cells are sums of which.
        possible: Which cells may differ from zero.
        keep_zeros: Wished zeros stay zero where the margins can be met without them.
    """
    work = _TopDown(wish, structure, possible, keep_zeros=keep_zeros)
    for levels in _coarse_to_fine(structure):
        work.fit(levels)
    return structure.add_up(work.tables[work.finest])


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
        wish: NDArray[np.int64],
        structure: Additive,
        possible: NDArray[np.bool_],
        *,
        keep_zeros: bool,
    ) -> None:
        self.wish, self.structure, self.possible, self.keep_zeros = wish, structure, possible, keep_zeros
        self.tables: dict[Levels, NDArray[np.int64]] = {}
        self.finest = tuple(tree.height for tree in structure.axes)

    def fit(self, levels: Levels) -> None:
        """Fit the table at these levels to the tables one level above it along each axis."""
        cuts = self._cuts(levels)
        possible = self.possible[cuts]
        self.tables[levels] = table = np.where(possible, np.maximum(self.wish[cuts], 0), 0)
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
        """One way is split, two are a network, more are adjusted."""
        if wish.ndim == 1:
            return split(wish, int(aims[0,]), possible, keep_zeros=self.keep_zeros)
        if wish.ndim == 2:
            return _two_way(wish, aims, possible, keep_zeros=self.keep_zeros)
        return adjust(wish, aims, possible, keep_zeros=self.keep_zeros)


def _two_way(
    wish: NDArray[np.int64],
    aims: dict[tuple[int, ...], NDArray[np.int64]],
    possible: NDArray[np.bool_],
    *,
    keep_zeros: bool,
) -> NDArray[np.int64]:
    """The nearest table whose row and column sums are kept, wherever that is possible."""
    structure = Additive((AxisTree.plain(wish.shape[0]), AxisTree.plain(wish.shape[1])))
    whole = np.block([[wish, aims[1,][:, None]], [aims[0,][None], aims[0, 1].reshape(1, 1)]])
    kept = np.ones(whole.shape, dtype=np.bool_)
    kept[:-1, :-1] = False
    open_ = np.ones(whole.shape, dtype=np.bool_)
    open_[:-1, :-1] = possible
    network = table_network(structure)
    if network is None:
        raise ValueError("a two-way table is a network")
    goal = objective(whole, structure, open_, kept=kept, bounded=True, keep_zeros=keep_zeros)
    return nearest(goal, network).values[:-1, :-1]
