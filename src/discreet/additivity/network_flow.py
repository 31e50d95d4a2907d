"""Least-cost network flow in integers: how tables are fitted with a proven optimum.

A two-way table, of which one axis may be a hierarchy, is a network. A cell takes part in two sums: along its row, and along
its column with the parts of one whole. So it is an arc between two nodes, one for each sum, and "in = out" says that
the sum holds:

    a leaf row h                    Σ_j x(h, j) = x(h, total)
    a whole P in a column j         Σ_parts x(c, j) = x(P, j),       the total column included
    the whole table                 Σ_j x(root, j) = x(root, total)

With two hierarchies it is no network: its cells take part in three sums. A cell costs its distance from its noisy value:

    minimise  Σ cost(x)   subject to   in = out at every node,   lowest <= x <= highest;
    cost(x) = Σ over wishes of   weight · |x - wish|  +  ties,  which are smaller than any weight together.

The weight is 1, and for a published cell more than all others together. Ties are decided by a second sum:

    +3 for each axis along which a cell is a total: leaf cells change before totals, totals before the grand total
    +64 per unit for raising a noisy zero, if zeros are to stay (cell key method)
    +0, +1, +2 for the first, the next and all further units of change in one cell: changes are spread

All cells start at their wishes. Then the excess at some nodes flows to where it is missing along cheapest paths, many at a
time (primal-dual method). The prices of the nodes prove the optimum:

    cost of one more on an arc + price of its tail - price of its head >= 0,  and the same of one less, reversed.

Everything is in integers and the first of equals is taken: no solver version, tolerance or thread decides.

Source: Ahuja, Magnanti & Orlin (1993), sections 9.7, 9.8 and 14.5 (convex costs); Castro (2012), "Recent advances in
optimization techniques for statistical tabular data protection", section 2: 1H2D tables are networks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.additivity.axis_tree import Additive, AxisTree

#: The cost of an impossible move; far above any path, and far from overflow.
CLOSED = 2**61
#: No bound.
FREE = 2**50
#: Ties: within one cell the first few units cost nothing more, the next 1 more each, all further ones 2 more.
STEEPEST = 2


@dataclass(frozen=True, slots=True, eq=False)
class Wishes:
    """The wished values of every arc and the cost of differing; one or more wishes per arc.

    Args:
        wish: By wish and arc.
        weight: The cost of each unit away from the wish; 0 for no wish.
        rise: The additional cost of each unit above the wish.
        fall: The same below it.
        step: The number of units of equal cost before ties raise it; 0 for no such ties.
        lowest: By arc, the lower bound.
        highest: The upper bound.
    """

    wish: NDArray[np.int64]
    weight: NDArray[np.int64]
    rise: NDArray[np.int64]
    fall: NDArray[np.int64]
    step: int
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]

    def raising(self, x: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cost of one unit more on each arc."""
        away = x - self.wish
        cost = np.where(away < 0, -self._unit(-away - 1, self.fall), self._unit(away, self.rise)).sum(axis=0)
        return np.where(x < self.highest, cost, CLOSED)

    def lowering(self, x: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cost of one unit less on each arc."""
        away = x - self.wish
        cost = np.where(away > 0, -self._unit(away - 1, self.rise), self._unit(-away, self.fall)).sum(axis=0)
        return np.where(x > self.lowest, cost, CLOSED)

    def _unit(self, away: NDArray[np.int64], more: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cost of the next unit for a value that is `away` from its wish."""
        ties = np.minimum(away // self.step, STEEPEST) if self.step else 0
        return self.weight + more + np.where(self.weight > 0, ties, 0)

    def room(self, x: NDArray[np.int64], *, up: bool) -> NDArray[np.int64]:
        """How many units each arc can move before the cost of the next one changes."""
        sign = 1 if up else -1
        away = sign * (x - self.wish)
        step = self.step or FREE
        further = np.where(away < STEEPEST * step, step - away % step, FREE)
        near = -away - STEEPEST * step
        back = np.where(near > 0, near, (-away - 1) % step + 1)
        units = np.where(away >= 0, further, np.minimum(back, -away))
        bound = self.highest - x if up else x - self.lowest
        room: NDArray[np.int64] = np.minimum(np.where(self.weight > 0, units, FREE).min(axis=0), bound)
        return room

    def start(self) -> NDArray[np.int64]:
        """For each arc its cheapest value."""
        middle = np.sort(self.wish, axis=0)[self.wish.shape[0] // 2]
        x: NDArray[np.int64] = np.clip(middle, self.lowest, self.highest)
        while True:
            up, down = self.raising(x) < 0, self.lowering(x) < 0
            if not (up | down).any():
                return x
            x = np.where(up, x + self.room(x, up=True), np.where(down, x - self.room(x, up=False), x))


def least_change(
    tail: NDArray[np.int64], head: NDArray[np.int64], nodes: int, wishes: Wishes
) -> tuple[NDArray[np.int64], bool]:
    """The cheapest balanced flow through arcs from tail to head, and whether prices prove that it is.

    A cycle of three arcs with the wishes 3, 5 and 4; one unit must move.

    >>> wish = np.array([[3, 5, 4]])
    >>> bounds = np.zeros(3, dtype=np.int64), np.full(3, FREE)
    >>> none = np.zeros_like(wish)
    >>> wishes = Wishes(wish, np.ones_like(wish), none, none, 0, *bounds)
    >>> least_change(np.array([0, 1, 2]), np.array([1, 2, 0]), 3, wishes)[0].tolist()
    [4, 4, 4]
    """
    work = _Work(tail, head, nodes, wishes)
    while work.left_over.any() and work.advance():
        pass
    return work.x, not work.left_over.any() and bool((work.costs_at_prices() >= 0).all())


class _Work:
    """The flow, the excess at each node, and the prices of the nodes."""

    def __init__(self, tail: NDArray[np.int64], head: NDArray[np.int64], nodes: int, wishes: Wishes) -> None:
        self.wishes, self.x = wishes, wishes.start()
        # Each arc twice: one unit more from tail to head, one unit less from head to tail.
        self.from_, self.to = np.concatenate([tail, head]), np.concatenate([head, tail])
        self.left_over = np.zeros(nodes, dtype=np.int64)
        np.add.at(self.left_over, head, self.x)
        np.subtract.at(self.left_over, tail, self.x)
        self.prices = np.zeros(nodes, dtype=np.int64)

    def advance(self) -> bool:
        """Find the cheapest paths from all nodes with an excess, and send it along them."""
        reduced = self.costs_at_prices()
        open_ = np.flatnonzero(reduced < CLOSED)
        from_, to, cost = self.from_[open_], self.to[open_], reduced[open_]
        # The cheapest path to each node from any excess.
        ways, nearer = None, np.where(self.left_over > 0, 0, CLOSED)
        while ways is None or (nearer != ways).any():
            ways = nearer
            known = ways[from_] < CLOSED
            nearer = ways.copy()
            np.minimum.at(nearer, to[known], ways[from_[known]] + cost[known])
        reached = ways < CLOSED
        if not (reached & (self.left_over < 0)).any():
            return False
        ways = np.where(reached, ways, ways[reached].max())
        self.prices += ways
        self._send(np.flatnonzero(reduced + ways[self.from_] - ways[self.to] == 0))
        return True

    def costs_at_prices(self) -> NDArray[np.int64]:
        """The cost of each arc under the prices; never below zero where it is open."""
        cost = np.concatenate([self.wishes.raising(self.x), self.wishes.lowering(self.x)])
        return np.where(cost < CLOSED, cost + self.prices[self.from_] - self.prices[self.to], CLOSED)

    def _send(self, open_: NDArray[np.int64]) -> None:
        """Send units along arcs of reduced cost 0, level by level, until every path is blocked."""
        arcs = self.x.size
        room = np.concatenate([self.wishes.room(self.x, up=True), self.wishes.room(self.x, up=False)])
        from_, to = self.from_[open_], self.to[open_]
        levels, level = np.where(self.left_over > 0, 0, -2), 0  # open arcs from any node with an excess
        while (found := to[(levels[from_] == level) & (levels[to] == -2)]).size:
            level += 1
            levels[found] = level
        forward = open_[levels[self.to[open_]] == levels[self.from_[open_]] + 1]
        large = np.concatenate([self.x, self.x])[forward]
        forward = forward[np.lexsort((forward, -large, self.from_[forward]))]
        moved = _blocking_flow(
            self.from_[forward].tolist(), self.to[forward].tolist(), room[forward].tolist(), self.left_over
        )
        change = np.zeros(2 * arcs, dtype=np.int64)
        change[forward] = moved
        self.x = self.x + change[:arcs] - change[arcs:]


def _blocking_flow(
    from_: list[int], to: list[int], room: list[int], left_over: NDArray[np.int64]
) -> list[int]:
    """Units moved on each arc: paths are followed depth first until none is open; `left_over` is updated in place."""
    starts = np.searchsorted(from_, np.arange(left_over.size + 1)).tolist()
    at, ends = starts[:-1].copy(), starts[1:]
    rest, moved = left_over.tolist(), [0] * len(to)
    for source in np.flatnonzero(left_over > 0).tolist():
        way: list[int] = []
        node = source
        while rest[source] > 0:
            if rest[node] < 0 and way:
                units = min(rest[source], -rest[node], *(room[arc] - moved[arc] for arc in way))
                for arc in way:
                    moved[arc] += units
                rest[source] -= units
                rest[node] += units
                way, node = [], source
            elif at[node] < ends[node]:
                arc = at[node]
                if room[arc] > moved[arc]:
                    way.append(arc)
                    node = to[arc]
                else:
                    at[node] += 1
            elif way:
                node = from_[way.pop()]
                at[node] += 1
            else:
                break
    left_over[:] = rest
    return moved


#: Tie-breaking costs per unit of change.
TOTAL_TIE, ZERO_TIE = 3, 64
#: The most that a path may cost, so that 64-bit integers hold every sum.
MOST = 2**60


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """The wishes of a table's cells, which are their noisy or published values; the fields are those of `Wishes`.

    `firm` is the weight of a published cell.
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
        """The cells without a published value."""
        return self.weight < self.firm

    def change(self, values: NDArray[np.int64]) -> int:
        """The sum of the absolute changes of the free cells."""
        return int(np.abs(values - self.wish)[self.free].sum())

    def at(self, place: tuple[int | slice, ...]) -> Objective:
        """The objective of a slice."""
        names = ("wish", "weight", "rise", "lowest", "highest")
        return replace(self, **{name: getattr(self, name)[place] for name in names})

    def cost(self, values: NDArray[np.int64]) -> int:
        """The cost of a table, without ties by step."""
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
    """The objective of a table, given its noisy cells, of which the kept ones have the value that they keep if possible.

    `possible` cells may differ from zero. If `bounded`, no value may be below zero; with `keep_zeros` raising a noisy zero
    is avoided among equals.
    """
    floor = np.maximum(noisy, 0) if bounded else noisy
    some = structure.add_up(structure.leaf_cells(np.where(possible, floor, 0)))
    least = int(np.abs(some - noisy).sum())  # the change of some additive table
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


@dataclass(frozen=True, slots=True, eq=False)
class TableNetwork:
    """The network of a table, completed by a root and a total if they are missing.

    Args:
        tail: For each cell of the completed table, the node where its arc begins.
        head: The node where it ends.
        nodes: The number of nodes.
        shape: Of the completed table: the deep axis first, the plain one with its total last.
        places: The index of each of its cells in the flattened table; -1 for an added cell.
    """

    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    nodes: int
    shape: tuple[int, int]
    places: NDArray[np.int64]


def table_network(structure: Additive) -> TableNetwork | None:
    """The network of a table; None if it is none.

    >>> from discreet.additivity.axis_tree import Additive
    >>> table_network(Additive((AxisTree.plain(2), AxisTree.plain(3)))).nodes
    7
    >>> table_network(Additive((AxisTree.plain(2),) * 3)) is None
    True
    """
    active = [axis for axis, tree in enumerate(structure.axes) if len(tree) > 1]
    if len(active) > 2:
        return None
    trees = [structure.axes[axis] for axis in active] + [AxisTree((-1,))] * (2 - len(active))
    places = np.arange(int(np.prod(structure.shape))).reshape([len(tree) for tree in trees])
    deep, plain = map(_add_root, trees)
    if plain.height > 1:
        deep, plain, places = plain, deep, places.T
    return None if plain.height > 1 else _network(deep, plain, places)


def _add_root(tree: AxisTree) -> AxisTree:
    """The tree with one root above all."""
    roots = [place for place, parent in enumerate(tree.parents) if parent < 0]
    if len(roots) == 1 and tree.height:
        return tree
    return AxisTree((*(len(tree) if parent < 0 else parent for parent in tree.parents), -1))


def _network(deep: AxisTree, plain: AxisTree, places: NDArray[np.int64]) -> TableNetwork:
    padded = np.full((len(deep), len(plain)), -1)
    padded[: places.shape[0], : places.shape[1]] = places
    order = [*plain.leaves.tolist(), plain.parents.index(-1)]
    wide = len(order)
    above = np.array(deep.parents)
    inner = np.setdiff1d(np.arange(len(deep)), deep.leaves)
    # The nodes: every whole in every column, every leaf row, the whole table.
    number = np.zeros(len(deep), dtype=np.int64)
    number[inner], number[deep.leaves] = np.arange(inner.size), np.arange(deep.leaves.size)
    columns = np.arange(wide)
    is_leaf = np.isin(np.arange(len(deep)), deep.leaves)[:, None]
    own = np.where(is_leaf, inner.size * wide + number[:, None], number[:, None] * wide + columns)
    last = inner.size * wide + deep.leaves.size
    whole = np.where(above[:, None] < 0, last, number[above][:, None] * wide + columns)
    # The total column runs the other way, so that every arc begins at one sum and ends at another.
    turned = np.broadcast_to(columns == wide - 1, own.shape)
    tail, head = np.where(turned, whole, own), np.where(turned, own, whole)
    return TableNetwork(tail.ravel(), head.ravel(), last + 1, own.shape, padded[:, order].ravel())


def least_cost_table(goal: Objective, network: TableNetwork) -> tuple[NDArray[np.int64], bool]:
    """The additive table of least cost, and whether that is proven."""
    at, real = network.places, network.places >= 0
    wishes = Wishes(
        wish=np.where(real, goal.wish.ravel()[at], 0)[None],
        weight=np.where(real, goal.weight.ravel()[at], 0)[None],
        rise=np.where(real, goal.rise.ravel()[at], 0)[None],
        fall=np.zeros((1, at.size), dtype=np.int64),
        step=goal.step,
        lowest=np.where(real, goal.lowest.ravel()[at], -FREE),
        highest=np.where(real, goal.highest.ravel()[at], FREE),
    )
    flow, proven = least_change(network.tail, network.head, network.nodes, wishes)
    values = np.zeros(goal.wish.size, dtype=np.int64)
    values[at[real]] = flow[real]
    return values.reshape(goal.wish.shape), proven
