"""The flow of least cost through a network of cells, in integers: how tables are fitted with a proven optimum.

Every cell is an arc that carries its value. At every node what comes in must go out, which says that some total is
the sum of its parts (`table_network`). A cell costs what it is moved away from the values wished for it:

    minimise  Σ cost(x)   subject to   in = out at every node,   lowest <= x <= highest;
    cost(x) = Σ over wishes of   weight · |x - wish|  +  ties,  which are smaller than any weight together.

All cells start at their wishes, so that no cell by itself could be cheaper. Then what is too much at some nodes flows to
where it lacks, along cheapest paths, many at a time (primal-dual method): prices of the nodes under which no arc gains
are kept throughout, and in the end they prove the optimum:

    cost of one more on an arc + price of its tail - price of its head >= 0,  and the same of one less, turned round.

Everything is integers and the first of equals is taken: no solver's version, tolerance or thread decides.

Source: Ahuja, Magnanti & Orlin (1993), sections 9.7, 9.8 and 14.5 (convex costs).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: The cost of what cannot be done; far above any path, and far from overflow.
CLOSED = 2**61
#: Where there is no bound.
FREE = 2**50
#: Ties: within one cell the first few units cost nothing more, the next 1 more each, all further ones 2 more.
STEEPEST = 2


@dataclass(frozen=True, slots=True, eq=False)
class Wishes:
    """What every arc would like to carry, and what it costs to differ; one or more wishes an arc.

    Args:
        wish: By wish and arc.
        weight: The cost of each unit away from the wish; 0 where nothing is wished.
        rise: What each unit above the wish costs beside the weight.
        fall: The same below it.
        step: How many units away cost the same, before ties make further ones dearer; 0 for no such ties.
        lowest: By arc, the least that it may carry.
        highest: The most.
    """

    wish: NDArray[np.int64]
    weight: NDArray[np.int64]
    rise: NDArray[np.int64]
    fall: NDArray[np.int64]
    step: int
    lowest: NDArray[np.int64]
    highest: NDArray[np.int64]

    def raising(self, x: NDArray[np.int64]) -> NDArray[np.int64]:
        """What one unit more costs on each arc."""
        away = x - self.wish
        cost = np.where(away < 0, -self._below(-away - 1), self._above(away)).sum(axis=0)
        return np.where(x < self.highest, cost, CLOSED)

    def lowering(self, x: NDArray[np.int64]) -> NDArray[np.int64]:
        """What one unit less costs on each arc."""
        away = x - self.wish
        cost = np.where(away > 0, -self._above(away - 1), self._below(-away)).sum(axis=0)
        return np.where(x > self.lowest, cost, CLOSED)

    def _below(self, away: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.weight + self.fall + self._ties(away)

    def _above(self, away: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.weight + self.rise + self._ties(away)

    def _ties(self, away: NDArray[np.int64]) -> NDArray[np.int64]:
        if not self.step:
            return np.zeros_like(away)
        return np.where(self.weight > 0, np.minimum(away // self.step, STEEPEST), 0)

    def room(self, x: NDArray[np.int64], *, up: bool) -> NDArray[np.int64]:
        """How many units each arc can move before the cost of the next one changes."""
        sign = 1 if up else -1
        away = sign * (x - self.wish)
        step = self.step or FREE
        further = np.where(away < STEEPEST * step, step - away % step, FREE)
        near = -away - STEEPEST * step
        back = np.where(near > 0, near, (-away - 1) % step + 1)
        units = np.where(away >= 0, further, np.minimum(back, -away))
        least: NDArray[np.int64] = np.where(self.weight > 0, units, FREE).min(axis=0)
        bound = self.highest - x if up else x - self.lowest
        room: NDArray[np.int64] = np.minimum(least, bound)
        return room

    def start(self) -> NDArray[np.int64]:
        """For each arc the value that is cheapest by itself."""
        middle = np.sort(self.wish, axis=0)[self.wish.shape[0] // 2]
        x: NDArray[np.int64] = np.clip(middle, self.lowest, self.highest)
        while True:
            up, down = self.raising(x) < 0, self.lowering(x) < 0
            if not (up | down).any():
                return x
            x = np.where(up, x + self.room(x, up=True), np.where(down, x - self.room(x, up=False), x))


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """What every arc carries, and whether prices prove that nothing costs less."""

    x: NDArray[np.int64]
    proven: bool


def least_change(tail: NDArray[np.int64], head: NDArray[np.int64], nodes: int, wishes: Wishes) -> Flow:
    """The cheapest flow in which nothing is left over at any node.

    Args:
        tail: The node where each arc begins.
        head: The node where it ends.
        nodes: How many nodes there are.
        wishes: What the arcs cost.

    A path from 0 to 1 of two arcs and one arc back: 3 and 5 in a row, 4 back. One unit must move.

    >>> wish = np.array([[3, 5, 4]])
    >>> bounds = np.zeros(3, dtype=np.int64), np.full(3, FREE)
    >>> none = np.zeros_like(wish)
    >>> wishes = Wishes(wish, np.ones_like(wish), none, none, 0, *bounds)
    >>> least_change(np.array([0, 1, 2]), np.array([1, 2, 0]), 3, wishes).x.tolist()
    [4, 4, 4]
    """
    work = _Work(tail, head, nodes, wishes)
    while work.left_over.any() and work.advance():
        pass
    return Flow(work.x, not work.left_over.any() and work.proven())


class _Work:
    """The flow so far, what is left over at each node, and the prices of the nodes."""

    def __init__(self, tail: NDArray[np.int64], head: NDArray[np.int64], nodes: int, wishes: Wishes) -> None:
        self.wishes, self.x = wishes, wishes.start()
        # Each arc twice: one unit more from tail to head, one unit less back from head to tail.
        self.from_, self.to = np.concatenate([tail, head]), np.concatenate([head, tail])
        self.left_over = np.zeros(nodes, dtype=np.int64)
        np.add.at(self.left_over, head, self.x)
        np.subtract.at(self.left_over, tail, self.x)
        self.prices = np.zeros(nodes, dtype=np.int64)

    def advance(self) -> bool:
        """Find the cheapest ways from all nodes with too much, and send along them all that they hold."""
        reduced = self._reduced()
        ways = self._distances(reduced)
        reached = ways < CLOSED
        if not (reached & (self.left_over < 0)).any():
            return False
        ways = np.where(reached, ways, ways[reached].max())
        self.prices += ways
        open_ = reduced + ways[self.from_] - ways[self.to] == 0
        self._send(np.flatnonzero(open_))
        return True

    def _reduced(self) -> NDArray[np.int64]:
        """The cost of each arc under the prices; never below zero where it is open."""
        cost = np.concatenate([self.wishes.raising(self.x), self.wishes.lowering(self.x)])
        return np.where(cost < CLOSED, cost + self.prices[self.from_] - self.prices[self.to], CLOSED)

    def _distances(self, reduced: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cheapest way to each node from any that has too much."""
        open_ = np.flatnonzero(reduced < CLOSED)
        from_, to, cost = self.from_[open_], self.to[open_], reduced[open_]
        ways = np.where(self.left_over > 0, 0, CLOSED)
        while True:
            known = ways[from_] < CLOSED
            nearer = ways.copy()
            np.minimum.at(nearer, to[known], ways[from_[known]] + cost[known])
            if (nearer == ways).all():
                return ways
            ways = nearer

    def _send(self, open_: NDArray[np.int64]) -> None:
        """Send units along arcs that cost nothing under the prices, level by level, until every way is blocked."""
        arcs = self.x.size
        room = np.concatenate([self.wishes.room(self.x, up=True), self.wishes.room(self.x, up=False)])
        levels = self._levels(open_)
        forward = open_[levels[self.to[open_]] == levels[self.from_[open_]] + 1]
        large = np.concatenate([self.x, self.x])[forward]
        forward = forward[np.lexsort((forward, -large, self.from_[forward]))]
        moved = _blocking_flow(
            self.from_[forward].tolist(), self.to[forward].tolist(), room[forward].tolist(), self.left_over
        )
        change = np.zeros(2 * arcs, dtype=np.int64)
        change[forward] = moved
        self.x = self.x + change[:arcs] - change[arcs:]

    def _levels(self, open_: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many open arcs each node is away from any with too much; -2 where none leads there."""
        from_, to = self.from_[open_], self.to[open_]
        levels = np.where(self.left_over > 0, 0, -2)
        level = 0
        while True:
            found = to[(levels[from_] == level) & (levels[to] == -2)]
            if not found.size:
                return levels
            level += 1
            levels[found] = level

    def proven(self) -> bool:
        """Whether no arc gains under the prices."""
        return bool((self._reduced() >= 0).all())


def _blocking_flow(
    from_: list[int], to: list[int], room: list[int], left_over: NDArray[np.int64]
) -> list[int]:
    """Units moved on each arc: ways are followed depth first until none is open; `left_over` is kept up.

    Args:
        from_: Where each arc begins, ascending.
        to: Where it ends, one level further.
        room: How many units it takes.
        left_over: What is left over at each node, changed in place.
    """
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
