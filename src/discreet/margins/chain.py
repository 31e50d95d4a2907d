"""A chain: one attribute as nested partitions, each finer than the one before. A variable alone is a chain of one level.

    level 0   everybody          level 1   regions          level 2   districts, each in one region

The counts of a level are its own part and a share of the level above. With k(c) the number of children that the parent of
a category c has,

    f_l(c) = r_l(c) + f_(l-1)(parent of c) / k(c),      r_l = f_l less the mean of its block of siblings.

So level l adds the contrasts within blocks and nothing else: the levels are nested subspaces, and the parts r_l are
orthogonal to each other. Blocks may have any sizes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Chain:
    """Nested partitions of one attribute.

    Args:
        parents: For each level from 1 on, the category of the level above that each of its categories is in.

    >>> chain = Chain((np.zeros(2, np.int64), np.array([0, 0, 0, 1, 1])))
    >>> chain.size(2), chain.block_sizes(2).tolist(), chain.siblings(2).tolist()
    (5, [3, 2], [3, 3, 3, 2, 2])
    """

    parents: tuple[NDArray[np.int64], ...]

    @property
    def levels(self) -> int:
        """How many levels there are, everybody not counted."""
        return len(self.parents)

    def size(self, level: int) -> int:
        """How many categories a level has."""
        return self.parents[level - 1].size if level else 1

    def block_sizes(self, level: int) -> NDArray[np.int64]:
        """How many categories of a level each category of the level above has."""
        return np.bincount(self.parents[level - 1], minlength=self.size(level - 1)).astype(np.int64)

    def siblings(self, level: int) -> NDArray[np.int64]:
        """For each category how many there are in its block, itself included."""
        return self.block_sizes(level)[self.parents[level - 1]]

    def first_siblings(self, level: int) -> NDArray[np.int64]:
        """For each category the first of its block."""
        _, first, block = np.unique(self.parents[level - 1], return_index=True, return_inverse=True)
        return np.asarray(first[block])

    def ancestors(self, level: int, above: int) -> NDArray[np.int64]:
        """For each category of a level the one that it is in at a level above."""
        found = np.arange(self.size(level))
        for each in range(level, above, -1):
            found = self.parents[each - 1][found]
        return found

    def shares(self, level: int, above: int) -> NDArray[np.float64]:
        """What part of a count above each category of a level gets, before contrasts: 1 over all block sizes between."""
        share, at = np.ones(self.size(level)), np.arange(self.size(level))
        for each in range(level, above, -1):
            share = share / self.siblings(each)[at]
            at = self.parents[each - 1][at]
        return share

    @cached_property
    def paths(self) -> tuple[tuple[Fraction, ...], ...]:
        """What a person may cost at each level, 1 - 1/k of their blocks: the paths that no other is dearer than everywhere.

        >>> Chain((np.zeros(2, np.int64), np.array([0, 0, 0, 1, 1]))).paths
        ((Fraction(1, 1), Fraction(1, 2), Fraction(2, 3)),)
        """
        finest = self.levels
        columns = [self.siblings(level)[self.ancestors(finest, level)] for level in range(1, finest + 1)]
        found = np.unique(np.stack(columns, axis=1), axis=0) if finest else np.zeros((1, 0), np.int64)
        top = [
            row for row in found if not any((other >= row).all() and (other > row).any() for other in found)
        ]
        return tuple((Fraction(1), *(1 - Fraction(1, int(k)) for k in row)) for row in top)

    def summed(self, table: NDArray[Any], axis: int, level: int) -> NDArray[Any]:
        """Add a table up along an axis, from a level to the one above."""
        front = np.moveaxis(table, axis, 0)
        total = np.zeros((self.size(level - 1), *front.shape[1:]), dtype=table.dtype)
        np.add.at(
            total, self.parents[level - 1], front
        )  # one after the other: the same floats on every machine
        return np.moveaxis(total, 0, axis)

    def centred(self, table: NDArray[np.float64], axis: int, level: int) -> NDArray[np.float64]:
        """Take the mean of its block away from every category along an axis."""
        if not level:
            return table
        sizes = np.maximum(self.block_sizes(level), 1)
        means = self.summed(table, axis, level) / along(sizes, axis, table.ndim)
        return np.asarray(table - np.take(means, self.parents[level - 1], axis=axis))

    def from_first(self, table: NDArray[np.int64], axis: int, level: int) -> NDArray[np.int64]:
        """Whole numbers as differences from the first of their block: what centring removes is gone, before any float."""
        if not level:
            return table
        return np.asarray(table - np.take(table, self.first_siblings(level), axis=axis))

    def spread(self, table: NDArray[np.float64], axis: int, above: int, level: int) -> NDArray[np.float64]:
        """Lay a table out along an axis from a level to a finer one, in equal shares."""
        if above == level:
            return table
        wide = np.take(table, self.ancestors(level, above), axis=axis)
        return np.asarray(wide * along(self.shares(level, above), axis, table.ndim))


def plain_chain(categories: int) -> Chain:
    """The chain of a variable without levels.

    >>> plain_chain(4).paths
    ((Fraction(1, 1), Fraction(3, 4)),)
    """
    return Chain((np.zeros(categories, dtype=np.int64),))


def along(values: NDArray[Any], axis: int, dimensions: int) -> NDArray[Any]:
    """Values that stand along one axis of a table."""
    return values.reshape([-1 if each == axis else 1 for each in range(dimensions)])
