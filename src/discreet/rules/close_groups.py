"""Declared groups that are nearly equal: unions of a variable's categories that differ by little.

    |A| + |B| - 2 |A and B|        of two groups of two lists that overlap

The caller chooses the size of a category: people, for a custodian; one, where only public facts may be used (detectors).

Source: Rinott et al. (2018), sections 2.2 and 8 (differencing).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.model.dataset import Dataset
from discreet.model.hierarchy import Group, groupings

#: The index of each base category in a list, -1 if it is in none; and the codes of the list.
_Owners = tuple["NDArray[np.int64]", tuple[str, ...]]


def close_groups(
    dataset: Dataset, name: str, people: NDArray[np.int64], fewer_than: int
) -> Iterator[tuple[str, str, str, str, int]]:
    """Overlapping groups of two declared lists that differ by less than `fewer_than`: list, code, list, code, difference."""
    codes = dataset.variable(name).codes
    lists = {name: (np.arange(len(codes), dtype=np.int64), codes)}
    lists |= {level: _owners(groups, len(codes)) for level, groups in groupings(dataset, name).items()}
    lists["total"] = (np.zeros(len(codes), dtype=np.int64), ("everybody",))
    for one, other in combinations(lists, 2):
        for code, close, apart in _close(lists[one], lists[other], people, fewer_than):
            yield one, code, other, close, apart


def _owners(groups: tuple[Group, ...], length: int) -> _Owners:
    owner = np.full(length, -1, dtype=np.int64)
    for number, group in enumerate(groups):
        owner[list(group.members)] = number
    return owner, tuple(group.code for group in groups)


def _close(
    one: _Owners, other: _Owners, people: NDArray[np.int64], fewer_than: int
) -> Iterator[tuple[str, str, int]]:
    """Pairs of overlapping groups that differ by 1 to k - 1."""
    (left, codes), (right, others) = one, other
    sizes, other_sizes = _sizes(left, people, len(codes)), _sizes(right, people, len(others))
    both = (left >= 0) & (right >= 0) & (people > 0)
    pairs, inverse = np.unique(left[both] * len(others) + right[both], return_inverse=True)
    shared = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(shared, inverse, people[both])
    a, b = pairs // len(others), pairs % len(others)
    apart = sizes[a] + other_sizes[b] - 2 * shared
    for place in np.flatnonzero((apart > 0) & (apart < fewer_than)):
        yield codes[a[place]], others[b[place]], int(apart[place])


def _sizes(owner: NDArray[np.int64], people: NDArray[np.int64], length: int) -> NDArray[np.int64]:
    sizes = np.zeros(length, dtype=np.int64)
    np.add.at(sizes, owner[owner >= 0], people[owner >= 0])
    return sizes
