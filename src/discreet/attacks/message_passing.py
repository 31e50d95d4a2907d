"""Sum-product message passing between the cells of a table and its lines (a total and its parts).

A cell has an unknown count n, of which only some values are possible, each with a likelihood. Along a line true
counts add up, and so do true weighted counts W, for which the release gives an interval for each n:

    n_T = sum of n_k        W_T = sum of W_k

First every value that no line allows is removed, until nothing changes: a cell with one value left is certain. Then
beliefs are passed between cells and lines, and the estimate is the value with the highest belief. Without weighted
counts the same lines are solved by counts alone: that is the baseline.

Source: Pearl (1988), chapter 4; Kschischang, Frey & Loeliger (2001).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: For counts of a total and an interval of its weight, how likely that is.
Fits = Callable[[NDArray[np.int64], Floats, Floats], Floats]

#: A line whose parts have more combinations is solved by its counts alone.
MOST_COMBINATIONS = 40_000
SWEEPS = 8
_DAMPING = 0.3
_FLOOR = 1e-300


@dataclass(eq=False)
class Unknown:
    """An unknown count and the weighted counts that go with it.

    Args:
        counts: The possible counts, a range.
        likelihood: Of each count; zero once it is ruled out.
        fits: The likelihood of the cell, as a total, for a count and an interval of weight; None where unknown.
    """

    counts: NDArray[np.int64]
    likelihood: Floats
    low: Floats
    high: Floats
    fits: Fits | None = None

    @property
    def certain(self) -> bool:
        """Whether one count is left."""
        return int(np.count_nonzero(self.likelihood)) == 1

    def strike(self, possible: NDArray[np.bool_]) -> bool:
        """Rule out impossible counts; return whether that was new. Constraints that rule out every count are ignored."""
        left = np.where(possible, self.likelihood, 0.0)
        if not left.any() or np.count_nonzero(left) == np.count_nonzero(self.likelihood):
            return False
        self.likelihood = left
        return True


@dataclass(eq=False)
class Line:
    """A total and its parts, with the last message of the line to each cell."""

    total: Unknown
    parts: Sequence[Unknown]
    heard: list[Floats] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.heard = [np.ones(cell.counts.size) for cell in self.cells]

    @property
    def cells(self) -> list[Unknown]:
        """The total first."""
        return [self.total, *self.parts]

    def messages(self, said: Sequence[Floats]) -> list[Floats]:
        """The messages of the line to its cells, given the messages of the cells."""
        kept = [np.flatnonzero(part.likelihood) for part in self.parts]
        few = float(np.prod([places.size for places in kept], dtype=float)) <= MOST_COMBINATIONS
        if self.total.fits is None or not few:
            return self._by_counts(said)
        # Sum over every combination of parts, with its count and its weight.
        mesh = np.meshgrid(*kept, indexing="ij")
        pairs = list(zip(self.parts, mesh, strict=True))
        counts = np.asarray(sum(part.counts[at] for part, at in pairs))
        low = np.asarray(sum(part.low[at] for part, at in pairs))
        high = np.asarray(sum(part.high[at] for part, at in pairs))
        place = counts - self.total.counts[0]
        inside = (place >= 0) & (place < self.total.counts.size)
        place = np.where(inside, place, 0)
        score = np.where(inside, self.total.fits(counts, low, high), 0.0)
        for axis, (at, words) in enumerate(zip(kept, said[1:], strict=True)):
            score = score * words[at].reshape([-1 if a == axis else 1 for a in range(len(kept))])
        joint = score * said[0][place]
        size = self.total.counts.size
        messages = [np.bincount(place.ravel(), score.ravel(), minlength=size).astype(np.float64)]
        for axis, (at, words) in enumerate(zip(kept, said[1:], strict=True)):
            others = tuple(a for a in range(len(kept)) if a != axis)
            messages.append(np.zeros(words.size))
            messages[-1][at] = joint.sum(axis=others) / np.maximum(words[at], _FLOOR)
        return messages

    def _by_counts(self, said: Sequence[Floats]) -> list[Floats]:
        """Convolve the distributions of the counts, without weights."""
        parts = said[1:]
        before, after = _running(parts), _running(parts[::-1])[::-1]
        least = sum(int(part.counts[0]) for part in self.parts)
        messages = [_at(before[-1], least, self.total)]
        for number, part in enumerate(self.parts):
            others = np.convolve(before[number], after[number + 1])
            start = int(self.total.counts[0]) - (least - int(part.counts[0])) - others.size + 1
            messages.append(_at(np.convolve(said[0], others[::-1]), start, part))
        return messages


def _running(distributions: Sequence[Floats]) -> list[Floats]:
    return list(accumulate(distributions, np.convolve, initial=np.ones(1)))


def _at(distribution: Floats, start: int, cell: Unknown) -> Floats:
    """A distribution that begins at `start`, at the counts of a cell."""
    place = cell.counts - start
    inside = (place >= 0) & (place < distribution.size)
    return np.where(inside, distribution[np.where(inside, place, 0)], 0.0)


def strike_out(lines: Sequence[Line]) -> None:
    """Rule out counts that no line allows, until nothing changes."""
    changed = True
    while changed:
        changed = False
        for line in lines:
            words = [(cell.likelihood > 0).astype(float) for cell in line.cells]
            for cell, possible in zip(line.cells, line.messages(words), strict=True):
                changed |= cell.strike(possible > _FLOOR)


def believe(cells: Sequence[Unknown], lines: Sequence[Line]) -> list[Floats]:
    """The belief in each count of each cell after message passing."""
    beliefs = {id(cell): cell.likelihood.copy() for cell in cells}
    for _sweep in range(SWEEPS):
        for line in lines:
            said = [
                _unit(beliefs[id(cell)] / np.maximum(heard, _FLOOR))
                for cell, heard in zip(line.cells, line.heard, strict=True)
            ]
            for number, (cell, message) in enumerate(zip(line.cells, line.messages(said), strict=True)):
                new = _unit(_unit(message) ** (1 - _DAMPING) * line.heard[number] ** _DAMPING)
                changed = _unit(said[number] * new)
                if changed.sum() > 0:
                    beliefs[id(cell)], line.heard[number] = changed, new
    return [beliefs[id(cell)] for cell in cells]


def _unit(distribution: Floats) -> Floats:
    total = distribution.sum()
    return distribution / total if total > 0 else distribution
