"""Fitting of tables that are no network: a first additive table from the top down, then moves of two-way slabs.

Top down: the grand total stays at its wish (not below zero); one-way margins are the integers nearest to their wishes that
add up to it; two-way margins the nearest that add up to these; and so on to the leaf cells, at every level of a hierarchy.
One way is a split, two ways are a network with fixed totals, more ways are adjusted towards their margins
(`controlled_adjustment`). The totals of the result are the sums of its leaf cells.

Slabs: a slab is a two-way part of a table that can move alone: all rows of one axis by the parts of one whole of a second,
at one place of every other axis. A move changes all cells that contain the slab's cells along the other axes equally, so
all totals still add up. It is a network flow whose arcs have several wishes, one for each cell that moves, and its least
change is found exactly. Slabs are moved while that lowers the total change. Each move lowers an integer, so it ends; the
result is a local optimum, and `fitting.least_possible` bounds its gap. Integers only.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count, permutations, product
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
    """Non-negative parts that add up to a total, as near to the wished ones as possible.

        minimise Σ |x_i - wish_i|   subject to   Σ x_i = total,  x_i >= 0.

    Any x with all changes of one sign is optimal, at |total - Σ wish|. Of these the changes are spread evenly, and the
    remainder goes to the largest cells, the first of equals first. `keep_zeros` leaves wished zeros at zero, unless all are.

    >>> split_total(np.array([5, 3, 0]), 10, np.array([True, True, True]), keep_zeros=True).tolist()
    [6, 4, 0]
    """
    short = total - int(wish.sum())
    if short < 0:
        return _lower_parts(wish, -short)
    parts = wish.copy()
    if short:
        positive = np.flatnonzero(wish > 0)
        places = positive if keep_zeros and positive.size else np.flatnonzero(possible)
        places = places[np.argsort(-wish[places], kind="stable")]
        share, rest = divmod(short, places.size)
        parts[places] += share
        parts[places[:rest]] += 1
    return parts


def _lower_parts(wish: NDArray[np.int64], units: int) -> NDArray[np.int64]:
    """Lower positive parts evenly; once a part reaches zero, the others continue."""
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
#: The indices of the parts of one whole per axis, from `np.ix_`.
Block = tuple["NDArray[np.int64]", ...]


def top_down(
    wish: NDArray[np.int64], structure: Additive, possible: NDArray[np.bool_], *, keep_zeros: bool
) -> NDArray[np.int64]:
    """Non-negative integers near the wished ones, in which every total is the sum of its parts.

    With `keep_zeros` wished zeros stay zero if the margins can be met without them.
    """
    work = _TopDown(wish, structure, possible, keep_zeros=keep_zeros)
    levels = product(*(range(tree.height + 1) for tree in structure.axes))
    for each in sorted(levels, key=lambda levels: (sum(levels), levels)):  # coarse ones first
        work.fit(each)
    return structure.add_up(work.tables[work.finest])


class _Whole(NamedTuple):
    """One whole per axis, whose parts are fitted together.

    Args:
        levels: The level of the parts; an axis at level 0 has a root instead.
        place: The index of each whole (or root) in its cut.
        block: The indices of its parts in theirs.
    """

    levels: Levels
    place: tuple[int, ...]
    block: Block


class _TopDown:
    """The tables fitted so far, one for each choice of levels."""

    def __init__(
        self, wish: NDArray[np.int64], structure: Additive, possible: NDArray[np.bool_], *, keep_zeros: bool
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
        active = [axis for axis, level in enumerate(whole.levels) if level]
        ways = tuple(wish.shape[axis] for axis in active)
        if 1 in ways:  # an only part equals its whole, which is fitted
            return self._aim(whole, (active[ways.index(1)],))
        aims = {
            margin: self._aim(whole, tuple(active[a] for a in margin)).reshape(
                [n for a, n in enumerate(ways) if a not in margin]
            )
            for margin in sum_axes(len(active))
        }
        flat, open_, keep_zeros = wish.reshape(ways), possible.reshape(ways), self.keep_zeros
        if len(ways) == 1:
            found = split_total(flat, int(aims[0,]), open_, keep_zeros=keep_zeros)
        else:
            solve = _two_way if len(ways) == 2 else adjust
            found = solve(flat, aims, open_, keep_zeros=keep_zeros)
        return found.reshape(wish.shape)

    def _aim(self, whole: _Whole, over: tuple[int, ...]) -> NDArray[np.int64]:
        """The fitted sums of the parts over some axes: the cells one level up along these."""
        table = self.tables[tuple(level - (axis in over) for axis, level in enumerate(whole.levels))]
        places = [
            [at] if a in over else part.ravel()
            for a, (at, part) in enumerate(zip(whole.place, whole.block, strict=True))
        ]
        return table[np.ix_(*places)]


def _two_way(
    wish: NDArray[np.int64],
    aims: Mapping[tuple[int, ...], NDArray[np.int64]],
    possible: NDArray[np.bool_],
    *,
    keep_zeros: bool,
) -> NDArray[np.int64]:
    """The nearest table with fixed row and column sums, if that is possible."""
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
    return least_cost_table(goal, network)[0][:-1, :-1]


#: The work limit: cells times wishes, and the fixed cost of a slab. It takes a few seconds, and is a count rather than a
#: time so that the result is the same on every machine.
MOST_WORK, EACH = 250_000, 500
#: Places along an axis that move together, each with the direction: 1, or -1 against the others.
Chain = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Slab:
    """The cells that move: for each axis a list of chains, and the tree of these."""

    chains: tuple[tuple[Chain, ...], ...]
    trees: tuple[AxisTree, ...]


def chain_of(tree: AxisTree, place: int, below: int = -1) -> Chain:
    """A place and its ancestors, up to and without `below`."""
    if place in {-1, below}:
        return ()
    return ((place, 1), *chain_of(tree, tree.parents[place], below))


def exchange(tree: AxisTree, gains: int, gives: int) -> Chain:
    """One leaf gains what another gives, so common ancestors stay unchanged.

    >>> exchange(AxisTree.plain(3), 0, 2)
    ((0, 1), (2, -1))
    """
    up, down = dict(chain_of(tree, gains)), dict(chain_of(tree, gives))
    moving = {place: (place in up) - (place in down) for place in (*up, *down)}
    return tuple((place, sign) for place, sign in moving.items() if sign)


def slabs(structure: Additive, turn: int) -> Iterator[Slab]:
    """All slabs of a table; another `turn` takes other leaves of nested wholes."""
    for (first, one), (second, other) in permutations(enumerate(structure.axes), 2):
        # Each pair of axes once, the deeper one first; two deep ones in both orders.
        if one.height < other.height or (one.height == other.height <= 1 and first > second):
            continue
        lists = [
            [(tuple(((place, 1),) for place in range(len(tree))), tree)]
            if axis == first
            else _families(tree, turn)
            if axis == second
            else _leaves(tree, turn)
            for axis, tree in enumerate(structure.axes)
        ]
        for chosen in product(*lists):
            yield Slab(tuple(chains for chains, _ in chosen), tuple(tree for _, tree in chosen))


def _leaves(tree: AxisTree, turn: int) -> list[tuple[tuple[Chain, ...], AxisTree]]:
    """Each leaf with its ancestors, and each in exchange with another."""
    leaves = tree.leaves.tolist()
    chains = [chain_of(tree, leaf) for leaf in leaves]
    others = [leaves[(at + 1 + turn % max(1, len(leaves) - 1)) % len(leaves)] for at in range(len(leaves))]
    chains += [exchange(tree, *pair) for pair in zip(leaves, others, strict=True) if len(leaves) > 1]
    return [((chain,), AxisTree((-1,))) for chain in chains]


def _families(tree: AxisTree, turn: int) -> list[tuple[tuple[Chain, ...], AxisTree]]:
    """For each whole its parts, each by one of its leaves, and the whole last; roots without parts alone."""
    found = []
    for whole in sorted({parent for parent in tree.parents if parent >= 0}):
        parts = [place for place, parent in enumerate(tree.parents) if parent == whole]
        chains = [chain_of(tree, _leaf_below(tree, part, turn), whole) for part in parts]
        found.append(((*chains, chain_of(tree, whole)), AxisTree.plain(len(parts))))
    lone = [leaf for leaf in tree.leaves.tolist() if tree.parents[leaf] < 0]
    return found + [((((leaf, 1),),), AxisTree((-1,))) for leaf in lone]


def _leaf_below(tree: AxisTree, place: int, turn: int) -> int:
    while parts := [part for part, parent in enumerate(tree.parents) if parent == place]:
        place = parts[turn % len(parts)]
    return place


def move_slabs(values: NDArray[np.int64], structure: Additive, objective: Objective) -> NDArray[np.int64]:
    """An additive table, improved until no slab can move to advantage, or `MOST_WORK` is done."""
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
    """Move one slab to its optimum, in place; returns its number of cells times wishes."""
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
    flow, _ = least_change(network.tail, network.head, network.nodes, wishes)
    np.add.at(values.reshape(-1), moving.ravel(), (sign * flow).ravel())
    return moving.size


def _cells(slab: Slab, shape: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The flat indices of the cells that move, and their directions, by wish and cell of the slab; 0 pads missing wishes."""
    index, sign = np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.int64)
    for length, chains in zip(shape, slab.chains, strict=True):
        most = max(map(len, chains))
        padded = np.array([[*chain, *((0, 0),) * (most - len(chain))] for chain in chains])
        # One more axis: every cell so far by every chain, every wish so far by every place of the chain.
        places, signs = padded[..., 0].T[None, :, None, :], padded[..., 1].T[None, :, None, :]
        index = (index[:, None, :, None] * length + places).reshape(index.shape[0] * most, -1)
        sign = (sign[:, None, :, None] * signs).reshape(index.shape)
    return index, sign
