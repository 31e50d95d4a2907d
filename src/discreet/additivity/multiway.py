"""A total split among its parts: the parts nearest to what was wished that add up to it.

    minimise Σ |x_i - wish_i|   subject to   Σ x_i = total,  x_i >= 0.

Any x with all changes of one sign is optimal, at |total - Σ wish|. Of these the changes are spread evenly,
and what does not divide goes to the largest cells, the first of equals first.

A first table that adds up, from the top down: where a table that is no network begins to be fitted.

The grand total stays at its wish (not below zero); one-way margins are the integers nearest to their wishes that add up
to it; two-way margins the nearest that add up to these; and so on to the leaf cells, at every level of a hierarchy. One
way is a split, two ways are a network whose totals are kept, more ways are adjusted towards their margins
(`controlled_adjustment`). The totals of the result are the sums of its leaf cells, so that it adds up exactly whatever
happened on the way. It is not the least change over all cells: `slabs` makes it better.

Tables that are no network: a fitted table made better, slab by slab, each as well as it can be.

A slab is a two-way part of a table that can move by itself: all rows of one axis by the parts of one whole of a second,
at one place of every other axis. What moves in a cell of the slab moves every cell that holds it along the other axes
by as much, so that all totals go on to add up. Such a move is a network (`table_network`) whose arcs have several
wishes, one for each cell that moves, and its least change over all these cells is found exactly (`least_change`).

Slab after slab is moved while that lowers the total change. Each move lowers a whole number or nothing, so it ends; in
the end no move of any slab can lower it. That is no proof of the least change of the whole table: `gap` bounds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.additivity.controlled_adjustment import adjust, sum_axes
from discreet.additivity.network_flow import (
    FREE,
    Objective,
    Wishes,
    least_change,
    least_cost_table,
    objective,
    table_network,
)


def split_total(
    wish: NDArray[np.int64], total: int, possible: NDArray[np.bool_], *, keep_zeros: bool
) -> NDArray[np.int64]:
    """Parts that add up to a total, as near to the wished ones as can be.

    Args:
        wish: Non-negative wished parts; zero where not possible.
        total: What they must add up to, not negative.
        possible: Which parts may differ from zero; at least one, unless the total is zero.
        keep_zeros: Leave wished zeros at zero, unless all are zero.

    >>> split(np.array([5, 3, 0]), 10, np.array([True, True, True]), keep_zeros=True).tolist()
    [6, 4, 0]
    """
    short = total - int(wish.sum())
    if short >= 0:
        return _raise_parts(wish, short, _open_to_rise(wish, possible, keep_zeros=keep_zeros))
    return _lower_parts(wish, -short)


def _open_to_rise(
    wish: NDArray[np.int64], possible: NDArray[np.bool_], *, keep_zeros: bool
) -> NDArray[np.int64]:
    """Where a part may rise, the largest first."""
    positive = np.flatnonzero(wish > 0)
    places = positive if keep_zeros and positive.size else np.flatnonzero(possible)
    return places[np.argsort(-wish[places], kind="stable")]


def _raise_parts(wish: NDArray[np.int64], units: int, places: NDArray[np.int64]) -> NDArray[np.int64]:
    parts = wish.copy()
    if units:
        share, rest = divmod(units, places.size)
        parts[places] += share
        parts[places[:rest]] += 1
    return parts


def _lower_parts(wish: NDArray[np.int64], units: int) -> NDArray[np.int64]:
    """Evenly lower what is positive; a part that reaches zero leaves the rest to the others."""
    parts = wish.copy()
    while units:
        places = np.flatnonzero(parts > 0)
        share = min(units // places.size, int(parts[places].min()))
        if share:
            parts[places] -= share
            units -= share * places.size
        else:
            parts[places[np.argsort(-parts[places], kind="stable")][:units]] -= 1
            units = 0
    return parts


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
            for margin in sum_axes(len(active))
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
            return split_total(wish, int(aims[0,]), possible, keep_zeros=self.keep_zeros)
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
    return least_cost_table(goal, network).values[:-1, :-1]


#: How many cells are moved at most, each as often as it has wishes, and what a slab counts beside: a few seconds. It is
#: a count and no time, so that the same table is fitted alike on every machine.
MOST_WORK, EACH = 250_000, 500
#: Places along an axis that move together, each with the direction: 1, or -1 against the others.
Chain = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Slab:
    """What moves: for each axis a list of chains, and whether the last one is the sum of the others."""

    chains: tuple[tuple[Chain, ...], ...]
    trees: tuple[AxisTree, ...]


def chain_of(tree: AxisTree, place: int, below: int = -1) -> Chain:
    """A place and all that hold it, up to but without `below`."""
    chain = []
    while place not in {-1, below}:
        chain.append((place, 1))
        place = tree.parents[place]
    return tuple(chain)


def exchange(tree: AxisTree, gains: int, gives: int) -> Chain:
    """One leaf gains what another gives: what holds both stays as it is.

    >>> exchange(AxisTree.plain(3), 0, 2)
    ((0, 1), (2, -1))
    """
    up, down = dict(chain_of(tree, gains)), dict(chain_of(tree, gives))
    moving = {place: (place in up) - (place in down) for place in (*up, *down)}
    return tuple((place, sign) for place, sign in moving.items() if sign)


def slabs(structure: Additive, turn: int) -> Iterator[Slab]:
    """All slabs of a table; another `turn` takes other leaves where a whole has wholes for parts."""
    axes = range(len(structure.axes))
    for first, second in ((a, b) for a in axes for b in axes if a != b and _suits(structure, a, b)):
        lists = [
            [_everything(tree)]
            if axis == first
            else _families(tree, turn)
            if axis == second
            else _leaves(tree, turn)
            for axis, tree in enumerate(structure.axes)
        ]
        for chosen in product(*lists):
            yield Slab(tuple(chains for chains, _ in chosen), tuple(tree for _, tree in chosen))


def _suits(structure: Additive, first: int, second: int) -> bool:
    """Each pair of axes once, the deeper one first; two deep ones both ways round."""
    one, other = structure.axes[first].height, structure.axes[second].height
    return one > other or (one == other and (first < second or one > 1))


def _everything(tree: AxisTree) -> tuple[tuple[Chain, ...], AxisTree]:
    return tuple(((place, 1),) for place in range(len(tree))), tree


def _leaves(tree: AxisTree, turn: int) -> list[tuple[tuple[Chain, ...], AxisTree]]:
    """Each leaf with all that hold it, and each in exchange with another."""
    leaves = tree.leaves.tolist()
    chains = [chain_of(tree, leaf) for leaf in leaves]
    others = [leaves[(at + 1 + turn % max(1, len(leaves) - 1)) % len(leaves)] for at in range(len(leaves))]
    chains += [exchange(tree, *pair) for pair in zip(leaves, others, strict=True) if len(leaves) > 1]
    return [((chain,), AxisTree((-1,))) for chain in chains]


def _families(tree: AxisTree, turn: int) -> list[tuple[tuple[Chain, ...], AxisTree]]:
    """For each whole its parts, each by one of its leaves, and the whole last; roots without parts by themselves."""
    found = []
    for whole in sorted({parent for parent in tree.parents if parent >= 0}):
        parts = [place for place, parent in enumerate(tree.parents) if parent == whole]
        chains = [chain_of(tree, _leaf_below(tree, part, turn), whole) for part in parts]
        found.append(((*chains, chain_of(tree, whole)), AxisTree.plain(len(parts))))
    lone = [leaf for leaf in tree.leaves.tolist() if tree.parents[leaf] < 0]
    return found + [((((leaf, 1),),), AxisTree((-1,))) for leaf in lone]


def _leaf_below(tree: AxisTree, place: int, turn: int) -> int:
    while True:
        parts = [part for part, parent in enumerate(tree.parents) if parent == place]
        if not parts:
            return place
        place = parts[turn % len(parts)]


def move_slabs(values: NDArray[np.int64], structure: Additive, objective: Objective) -> NDArray[np.int64]:
    """A table that adds up, made better until no slab can move to advantage, or `MOST_WORK` is done.

    Args:
        values: Adds up and lies within the bounds of the objective.
        structure: Which cells are sums of which.
        objective: What every cell wishes and costs.
    """
    best, done = values.copy(), 0
    for turn in count():
        before = objective.cost(best)
        for slab in slabs(structure, turn):
            done += EACH + _move(best, slab, objective)
            if done > MOST_WORK:
                return best
        if objective.cost(best) == before:
            return best
    raise AssertionError("turns do not end")


def _move(values: NDArray[np.int64], slab: Slab, objective: Objective) -> int:
    """Move one slab to the best place for it, in place; how many cells it has, each as often as it has wishes."""
    network = table_network(Additive(slab.trees))
    if network is None:
        raise ValueError("a slab is two-way")
    cells, signs = _cells(slab, values.shape)
    sign = np.where(network.places >= 0, signs[:, network.places], 0)
    moving = cells[:, network.places]
    now = values.ravel()[moving]
    down, up = objective.lowest.ravel()[moving] - now, objective.highest.ravel()[moving] - now
    rise = objective.rise.ravel()[moving]
    wishes = Wishes(
        sign * (objective.wish.ravel()[moving] - now),
        np.abs(sign) * objective.weight.ravel()[moving],
        np.where(sign > 0, rise, 0),
        np.where(sign < 0, rise, 0),
        objective.step,
        np.select([sign > 0, sign < 0], [down, -up], -FREE).max(axis=0),
        np.select([sign > 0, sign < 0], [up, -down], FREE).min(axis=0),
    )
    flow = least_change(network.tail, network.head, network.nodes, wishes).x
    np.add.at(values.reshape(-1), moving.ravel(), (sign * flow).ravel())
    return moving.size


def _cells(slab: Slab, shape: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the cells that move stand in the flattened table, and their directions, by wish and cell of the slab.

    Where a cell has fewer wishes than another, the direction 0 fills up.
    """
    index, sign = np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.int64)
    for length, chains in zip(shape, slab.chains, strict=True):
        most = max(map(len, chains))
        padded = np.array([[*chain, *((0, 0),) * (most - len(chain))] for chain in chains])
        # One more axis: every cell so far by every chain, every wish so far by every place of the chain.
        places, signs = padded[..., 0].T[None, :, None, :], padded[..., 1].T[None, :, None, :]
        index = (index[:, None, :, None] * length + places).reshape(index.shape[0] * most, -1)
        sign = (sign[:, None, :, None] * signs).reshape(index.shape)
    return index, sign
