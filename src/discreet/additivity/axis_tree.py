"""Which cells are sums of which: a tree for each axis, and the table is their product.

Every position of an axis names its parent, or -1. A plain variable with its total last is a tree of one level; region,
district and area rows in one axis are a tree of three. A cell is the sum of its parts along every axis, so the leaf cells
decide the whole table:

    value(P, rest) = Σ value(c, rest)  over the parts c of P,  for each axis and each P.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class AxisTree:
    """For each position of an axis its parent, or -1 for a root.

    >>> tree = AxisTree((4, 4, 5, 5, 6, 6, -1))
    >>> tree.leaves.tolist(), tree.height
    ([0, 1, 2, 3], 2)
    """

    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.parents:
            raise ValueError("an axis needs at least one position")
        if any(not -1 <= parent < len(self.parents) for parent in self.parents):
            raise ValueError("a parent must be a position of the axis, or -1 for none")
        above = np.append(np.array(self.parents), -1)
        for _ in range(len(self.parents).bit_length()):
            above = above[above]  # twice as far up each time; -1 is its own parent
        if (above >= 0).any():
            raise ValueError("a position of the axis is part of itself")

    @classmethod
    def plain(cls, categories: int, *, total: bool = True) -> AxisTree:
        """A variable without levels: its categories, then its total if it has one.

        >>> AxisTree.plain(3).parents, AxisTree.plain(2, total=False).parents
        ((3, 3, 3, -1), (-1, -1))
        """
        return cls((categories,) * categories + (-1,)) if total else cls((-1,) * categories)

    def __len__(self) -> int:
        return len(self.parents)

    @cached_property
    def depths(self) -> NDArray[np.int64]:
        """How far each position is below its root."""
        parents = np.array(self.parents)
        depths = np.zeros(len(parents), dtype=np.int64)
        place = parents.copy()
        while (place >= 0).any():
            depths += place >= 0
            place = np.where(place >= 0, parents[place], -1)
        return depths

    @cached_property
    def height(self) -> int:
        """The number of levels below the roots."""
        return int(self.depths.max())

    @cached_property
    def leaves(self) -> NDArray[np.int64]:
        """The positions without parts, in order."""
        return np.setdiff1d(np.arange(len(self.parents)), np.array(self.parents))

    def cut(self, level: int) -> NDArray[np.int64]:
        """The positions that partition the whole at a level: those of that depth, and leaves above it.

        >>> AxisTree((4, 4, -1, 4, -1)).cut(1).tolist()
        [0, 1, 2, 3]
        """
        is_leaf = np.isin(np.arange(len(self)), self.leaves)
        return np.flatnonzero((self.depths == level) | (is_leaf & (self.depths < level)))

    def groups(self, level: int) -> list[NDArray[np.int64]]:
        """For each position of the cut above, the indices of its parts in the cut at this level (from 1)."""
        here = self.cut(level)
        parents = np.array(self.parents)[here]
        above = np.where(self.depths[here] == level, parents, here)
        place = np.searchsorted(self.cut(level - 1), above)
        order = np.argsort(place, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(place[order])) + 1)

    def add_up(self, values: NDArray[np.int64], axis: int) -> NDArray[np.int64]:
        """Values of the leaves along an axis, extended to all positions; sums are exact integers."""
        along = np.moveaxis(values, axis, 0)
        full = np.zeros((len(self), *along.shape[1:]), dtype=np.int64)
        full[self.leaves] = along
        for depth in range(self.height, 0, -1):
            here = np.flatnonzero(self.depths == depth)
            np.add.at(full, np.array(self.parents)[here], full[here])
        return np.moveaxis(full, 0, axis)

    def push_down(self, marks: NDArray[np.bool_], axis: int) -> NDArray[np.bool_]:
        """Marks extended from each whole to all its parts."""
        down = np.moveaxis(marks.copy(), axis, 0)
        for depth in range(1, self.height + 1):
            here = np.flatnonzero(self.depths == depth)
            down[here] |= down[np.array(self.parents)[here]]
        return np.moveaxis(down, 0, axis)


@dataclass(frozen=True, slots=True)
class Additive:
    """The additive structure of a table: one tree for each axis.

    >>> two_by_two = Additive((AxisTree.plain(2), AxisTree.plain(2)))
    >>> two_by_two.add_up(np.array([[1, 2], [3, 4]])).tolist()
    [[1, 2, 3], [3, 4, 7], [4, 6, 10]]
    """

    axes: tuple[AxisTree, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The array shape, totals included."""
        return tuple(len(tree) for tree in self.axes)

    def check(self, array: NDArray[np.generic]) -> None:
        """Refuse an array of another shape."""
        if array.shape != self.shape:
            raise ValueError(f"the array has the shape {array.shape}, its axes {self.shape}")

    def leaf_cells(self, array: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cells that are leaves along every axis."""
        return array[np.ix_(*(tree.leaves for tree in self.axes))]

    def add_up(self, leaves: NDArray[np.int64]) -> NDArray[np.int64]:
        """The whole table from its leaf cells."""
        for axis, tree in enumerate(self.axes):
            leaves = tree.add_up(leaves, axis)
        return np.ascontiguousarray(leaves)

    def sums_along(self) -> NDArray[np.int64]:
        """For each cell the number of axes along which it is a sum; 0 for leaf cells.

        >>> Additive((AxisTree.plain(1), AxisTree.plain(1))).sums_along().tolist()
        [[0, 1], [1, 2]]
        """
        inner = [1 - np.isin(np.arange(len(tree)), tree.leaves).astype(np.int64) for tree in self.axes]
        return sum(np.ix_(*inner), np.zeros(self.shape, dtype=np.int64))

    def holds(self, array: NDArray[np.int64]) -> bool:
        """Whether every total equals the sum of its parts, at every level of every axis."""
        return bool((self.add_up(self.leaf_cells(array)) == array).all())

    def impossible(self, marks: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """The structural zeros, completed: every part of one is one, and so is every sum of only such cells."""
        if marks is None:
            return np.zeros(self.shape, dtype=np.bool_)
        self.check(marks)
        for axis, tree in enumerate(self.axes):
            marks = tree.push_down(marks, axis)
        possible = ~marks[np.ix_(*(tree.leaves for tree in self.axes))]
        return np.equal(self.add_up(possible.astype(np.int64)), 0)
