"""Tables that are no network: a fitted table made better, slab by slab, each as well as it can be.

A slab is a two-way part of a table that can move by itself: all rows of one axis by the parts of one whole of a second,
at one place of every other axis. What moves in a cell of the slab moves every cell that holds it along the other axes
by as much, so that all totals go on to add up. Such a move is a network (`table_network`) whose arcs have several
wishes, one for each cell that moves, and its least change over all these cells is found exactly (`least_change`).

Slab after slab is moved while that lowers the total change. Each move lowers a whole number or nothing, so it ends; in
the end no move of any slab can lower it. That is no proof of the least change of the whole table: `gap` bounds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count, product
from typing import TYPE_CHECKING

import numpy as np

from discreet.additivity.axis_tree import Additive, AxisTree
from discreet.additivity.least_change import FREE, Wishes, least_change
from discreet.additivity.table_network import table_network

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from discreet.additivity.objective import Objective

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
