"""Every way in which the possible rows can serve some cells, and the exact law of the noise of each.

The law of a sum of noise depends on how many cells each law serves, and not on which:

    law of the sum = convolution of k_1 times law 1, k_2 times law 2, ...

So a composition k = (k_1, k_2, ...) stands for many true counts. It knows the smallest and the largest sum of them.
Laws are convolved directly, and not by a transform: `worst_rows` multiplies small chances by large weights, so
each chance must be right in itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from discreet.inference.possible_rows import PossibleRows

    #: By how often each law occurs: the smallest and the largest sum, and the law of the noise with its first value.
    _Ways = dict[tuple[int, ...], tuple[int, int, int, NDArray[np.float64]]]


@dataclass(frozen=True, slots=True, eq=False)
class Compositions:
    """The laws of a sum of noise, one for each composition.

    Args:
        first: The smallest value of the sum of the noise.
        laws: One line a composition: the chances of first, first + 1, ...
        least: The smallest sum of true counts of each composition.
        most: The largest.
    """

    first: int
    laws: NDArray[np.float64]
    least: NDArray[np.int64]
    most: NDArray[np.int64]


def compositions(cells: Sequence[PossibleRows]) -> Compositions:
    """All compositions of some cells.

    >>> from discreet.inference.possible_rows import possible_rows
    >>> from discreet.noise import maxent
    >>> len(compositions([*possible_rows([0, 0], maxent(D=5, V=3, js=2))]).laws)
    21
    """
    places = _places(cells)
    ways: _Ways = {(0,) * (1 + max(map(max, places))): (0, 0, 0, np.ones(1))}
    for rows, own in zip(cells, places, strict=True):
        for _ in range(rows.times):
            ways = _with_one_more(ways, rows, own)
    least, most, firsts, laws = zip(*ways.values(), strict=True)
    first, last = (
        sum(end * rows.times for end, rows in zip(ends, cells, strict=True))
        for ends in ([rows.first for rows in cells], [rows.last for rows in cells])
    )
    padded = np.zeros((len(laws), last - first + 1))
    for line, start, law in zip(padded, firsts, laws, strict=True):
        line[start - first : start - first + len(law)] = law
    return Compositions(first, padded, np.array(least), np.array(most))


def number_of_compositions(cells: Sequence[PossibleRows]) -> int:
    """How many compositions there are, or a larger number."""
    distinct = len({(rows.first, law.tobytes()) for rows in cells for law in rows.laws})
    together = comb(distinct + sum(rows.times for rows in cells) - 1, distinct - 1)
    apart = prod(comb(len(rows.laws) + rows.times - 1, rows.times) for rows in cells)
    return min(together, apart)


def _places(cells: Sequence[PossibleRows]) -> list[list[int]]:
    """For each cell the numbers of its laws; the same law has one number."""
    known: dict[tuple[int, bytes], int] = {}
    return [
        [known.setdefault((rows.first, law.tobytes()), len(known)) for law in rows.laws] for rows in cells
    ]


def _with_one_more(ways: _Ways, rows: PossibleRows, own: list[int]) -> _Ways:
    """One more cell: each composition goes on with each of its laws.

    Laws of a single value come first. They only move the law of the others, which is quick: of 400 zeros that may be kept,
    one composition in each step needs a convolution.
    """
    more: _Ways = {}
    trimmed = [_trimmed(rows.first, law) for law in rows.laws]
    served = zip(own, rows.least.tolist(), rows.most.tolist(), trimmed, strict=True)
    for place, least, most, (start, row) in sorted(served, key=lambda each: len(each[3][1])):
        for powers, (low, high, first, law) in ways.items():
            longer = (*powers[:place], powers[place] + 1, *powers[place + 1 :])
            if longer in more:
                before = more[longer]
                more[longer] = min(before[0], low + least), max(before[1], high + most), *before[2:]
            else:
                sum_law = law * row if len(row) == 1 else np.convolve(law, row)
                more[longer] = low + least, high + most, first + start, sum_law
    return more


def _trimmed(first: int, law: NDArray[np.float64]) -> tuple[int, NDArray[np.float64]]:
    """A law from its first to its last value that can occur."""
    inside = np.flatnonzero(law)
    return first + int(inside[0]), law[inside[0] : inside[-1] + 1]
