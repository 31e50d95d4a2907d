"""A bound that no fitted table can pass: at least so much must all cells change together.

Two bounds, of which the larger counts. Both leave out some of what a table must obey, so that no table is below them:

    slices      every two-way slice of a table must add up by itself; their least changes, each exact, add up
    programme   the linear programme of the whole table, in which cells need not be whole (HiGHS, up to `MOST_CELLS`)

The bound is for the sentence on a table, never for its numbers: a solver may be changed, and no number changes.
"""

from __future__ import annotations

from itertools import combinations, product
from math import ceil, prod
from typing import TYPE_CHECKING

import numpy as np

from discreet.additivity.axis_tree import Additive
from discreet.additivity.table_network import nearest, table_network

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.additivity.objective import Objective

#: The linear programme is solved for tables of up to so many cells: about a second.
MOST_CELLS = 2_000
#: What HiGHS may be wrong by, for each unit of change.
TOLERANCE = 1e-6


def least_possible(structure: Additive, goal: Objective) -> int:
    """At least so much must the cells that are not kept change together."""
    slices = _by_slices(structure, goal)
    has_sums = any(tree.height for tree in structure.axes)
    return (
        max(slices, _by_programme(structure, goal)) if has_sums and goal.wish.size <= MOST_CELLS else slices
    )


def _by_slices(structure: Additive, goal: Objective) -> int:
    """The least changes of all two-way slices along the two longest axes that are a network."""
    pairs = [
        (first, second)
        for first, second in combinations(range(len(structure.axes)), 2)
        if table_network(Additive((structure.axes[first], structure.axes[second]))) is not None
    ]
    if not pairs:
        return 0
    first, second = max(pairs, key=lambda pair: goal.wish.shape[pair[0]] * goal.wish.shape[pair[1]])
    network = table_network(Additive((structure.axes[first], structure.axes[second])))
    others: list[list[int | slice]] = [
        [slice(None)] if axis in {first, second} else [*range(n)] for axis, n in enumerate(goal.wish.shape)
    ]
    slices = (goal.at(place) for place in product(*others))
    return sum(each.change(nearest(each, network).values) for each in slices) if network else 0


def _by_programme(structure: Additive, goal: Objective) -> int:
    """The least change if cells need not be whole, rounded up: x = wish + up - down."""
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to import, and only for tables that are no network
    from scipy.sparse import hstack  # noqa: PLC0415

    sums = _sums(structure)
    wish, free = goal.wish.ravel(), goal.free.ravel()
    lowest, highest = goal.lowest.ravel() - wish, goal.highest.ravel() - wish
    up = np.stack([np.maximum(0, lowest), np.maximum(0, highest)])
    down = np.stack([np.maximum(0, -highest), np.maximum(0, -lowest)])
    bounds = np.concatenate([np.where(free, up, 0), np.where(free, down, 0)], axis=1).T
    found = linprog(
        np.ones(2 * wish.size),
        A_eq=hstack([sums, -sums]),
        b_eq=-(sums @ wish),
        bounds=bounds.astype(np.float64),
    )
    return ceil(found.fun - TOLERANCE * (1 + found.fun)) if found.success else 0


def _sums(structure: Additive) -> csr_array:
    """One line a sum, along every axis: its parts with 1, its whole with -1."""
    from scipy.sparse import eye_array, kron, vstack  # noqa: PLC0415

    lines = []
    for axis, tree in enumerate(structure.axes):
        before, after = prod(structure.shape[:axis]), prod(structure.shape[axis + 1 :])
        wholes = sorted({parent for parent in tree.parents if parent >= 0})
        parts = np.array([[parent == whole for parent in tree.parents] for whole in wholes], dtype=np.float64)
        if wholes:
            parts[np.arange(len(wholes)), wholes] = -1
            lines.append(kron(kron(eye_array(before), parts), eye_array(after)))
    return vstack(lines, format="csr")
