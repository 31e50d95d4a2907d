"""A table as a network: two ways, of which one may be a hierarchy; or one way.

A cell takes part in two sums: along its row, and along its column with the parts of one whole. So it is an arc between
two nodes, one for each sum, and "in = out" says that the sum holds:

    a leaf row h                    Σ_j x(h, j) = x(h, total)
    a whole P in a column j         Σ_parts x(c, j) = x(P, j),       the total column included
    the whole table                 Σ_j x(root, j) = x(root, total)

A hierarchy in both ways is no network: its cells take part in three sums. A missing root or total is added, and costs
nothing. Then every table of the two kinds is one tree by one plain list with a total.

Source: Castro (2012), "Recent advances in optimization techniques for statistical tabular data protection", section 2:
1H2D tables are networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.additivity.axis_tree import AxisTree
from discreet.additivity.least_change import FREE, Wishes, least_change

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.additivity.axis_tree import Additive
    from discreet.additivity.objective import Objective


@dataclass(frozen=True, slots=True, eq=False)
class TableNetwork:
    """The network of a table.

    Args:
        tail: For each cell of the completed table, in its order, the node where its arc begins.
        head: The node where it ends.
        nodes: The number of nodes.
        shape: Of the completed table: the deep axis first, the plain one with its total last.
        places: Where each of its cells stands in the flattened table; -1 for a cell that was added.
    """

    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    nodes: int
    shape: tuple[int, int]
    places: NDArray[np.int64]


def table_network(structure: Additive) -> TableNetwork | None:
    """The network of a table; None where it is none.

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
    deep, plain = map(_rooted, trees)
    if plain.height > 1:
        deep, plain, places = plain, deep, places.T
    return None if plain.height > 1 else _network(deep, plain, places)


def _rooted(tree: AxisTree) -> AxisTree:
    """The tree with one root above all; it is added where there are several, or nothing but one."""
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
    # The nodes: of every whole in every column, of every leaf row, of the whole table.
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


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """The table of least cost, and whether that is proven."""

    values: NDArray[np.int64]
    proven: bool


def nearest(goal: Objective, network: TableNetwork) -> Nearest:
    """The table that adds up at the least cost.

    Args:
        goal: What every cell costs.
        network: Of its table.
    """
    real = network.places >= 0
    at = network.places
    wishes = Wishes(
        wish=np.where(real, goal.wish.ravel()[at], 0)[None],
        weight=np.where(real, goal.weight.ravel()[at], 0)[None],
        rise=np.where(real, goal.rise.ravel()[at], 0)[None],
        fall=np.zeros((1, at.size), dtype=np.int64),
        step=goal.step,
        lowest=np.where(real, goal.lowest.ravel()[at], -FREE),
        highest=np.where(real, goal.highest.ravel()[at], FREE),
    )
    flow = least_change(network.tail, network.head, network.nodes, wishes)
    values = np.zeros(goal.wish.size, dtype=np.int64)
    values[at[real]] = flow.x[real]
    return Nearest(values.reshape(goal.wish.shape), flow.proven)
