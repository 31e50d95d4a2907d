"""Groups that occur several times become groups that occur once, with the sums of all their numbers.

Where all places fit into memory beside the groups, the sums are added into a dense array; else equal groups are sorted
next to each other. Both give the same exact integers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.records.engine import SparseCells

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

#: A place in an array of so many cells is a 64-bit integer with room to spare.
MOST_PLACES = 2**62
#: Up to so many places are added up in a dense array, however few groups there are.
DENSE = 2**16


def added_up(cells: SparseCells, lengths: Sequence[int]) -> SparseCells:
    """Each group once.

    Args:
        cells: Groups, some of them several times.
        lengths: How many categories each grouped variable has.
    """
    if not cells.counts.size:
        return cells
    places = places_of(cells.codes, lengths) if lengths else np.zeros(cells.counts.size, dtype=np.int64)
    size = math.prod(lengths)
    first, total = _densely(places, size) if size <= max(DENSE, 2 * places.size) else _sorted(places)
    return SparseCells(
        tuple(codes[first] for codes in cells.codes),
        total(cells.counts),
        total(cells.key_sums),
        None if cells.weight_sums is None else total(cells.weight_sums),
        tuple(total(column) for column in cells.sums),
    )


def places_of(codes: Sequence[NDArray[np.integer]], lengths: Sequence[int]) -> NDArray[np.int64]:
    """A number for each row that equal rows share: its place in the table of all categories, where that can be counted.

    >>> places_of([np.array([1, 0, 1]), np.array([2, 0, 2])], (2, 3)).tolist()
    [5, 0, 5]
    """
    place, size = np.zeros(codes[0].size if codes else 1, dtype=np.int64), 1
    for column, length in zip(codes, lengths, strict=True):
        if size * length > MOST_PLACES:
            known, place = np.unique(place, return_inverse=True)
            size = known.size
        place = place * length
        place += column
        size *= length
    return place


def _densely(places: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], Callable[[NDArray], NDArray]]:  # type: ignore[type-arg]
    """Where each group stands first, in the order of places, and how a column is added up."""
    row = np.full(size, -1, dtype=np.int64)
    row[places[::-1]] = np.arange(places.size - 1, -1, -1)
    occupied = np.flatnonzero(row >= 0)

    def total(column: NDArray) -> NDArray:  # type: ignore[type-arg]
        dense = np.zeros(size, dtype=column.dtype)
        np.add.at(dense, places, column)
        return dense[occupied]

    return row[occupied], total


def _sorted(places: NDArray[np.int64]) -> tuple[NDArray[np.int64], Callable[[NDArray], NDArray]]:  # type: ignore[type-arg]
    """The same for places that are too many for an array."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    return order[starts], lambda column: np.add.reduceat(column[order], starts)
