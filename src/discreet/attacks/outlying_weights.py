"""Where a person of unusual weight is, from the numbers and errors of weighted tables.

An error that is made of people's weights is larger where an unusual weight is. The attacker knows that the person is in one
of some cells of equal size, and what the tables of other surveys look like where such a person is:

    L_t(x)  =  P(x | the person is in the cell) / P(x | not)         x: what table t releases of a cell, in steps
    P(c)    ∝  Π over tables t of the mean of L_t over the cells of t that lie in c                      (sum-product)

The tables cross the cells with one more variable each, which is independent of the others, so this is exact. An exact count
follows if everybody else is known: the person is in one of two cells, with the noise's chances of both released counts.

Source: docs/methods/attack-weights.md; Kschischang, Frey & Loeliger (2001) for sum-product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.noise.table import NoiseTable

Floats = NDArray[np.float64]
#: The ratio of two steps in which numbers and errors are told apart.
STEP = 1.1
#: A step that few cells were in counts as if it had been seen so often in both places.
PRIOR = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class CellReleases:
    """What a table releases of its cells; in each array the cells first, then the categories that they are crossed with.

    Args:
        counts: Released counts; None where the form releases none.
        values: Released weighted counts.
        widths: Of the intervals, negative where there is none.
    """

    counts: NDArray[np.int64] | None
    values: NDArray[np.int64]
    errors: NDArray[np.int64]
    noise_shares: NDArray[np.int64]
    unreliable: NDArray[np.bool_]
    widths: NDArray[np.int64]

    def steps(self, *, errors: bool) -> NDArray[np.int64]:
        """What is released of each cell, in steps, on the last axis: the numbers, and if wanted all errors.

        An error counts with the root of the number, as it falls with it.
        """
        shown = np.maximum(self.values if self.counts is None else self.counts, 1)
        columns = [_step(shown), _step(self.values / shown)]
        if errors:
            root = np.sqrt(shown)
            columns = [
                np.where(self.errors > 0, _step(self.errors * root), -1),
                self.noise_shares // 50,
                self.unreliable.astype(np.int64),
                np.where(self.widths > 0, _step(self.widths / root), -1),
            ]
        return np.stack(columns, axis=-1)


def _step(values: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.int64]:
    return np.asarray(np.rint(np.log(np.maximum(values, 1e-9)) / np.log(STEP)), dtype=np.int64)


def _keys(steps: NDArray[np.int64]) -> list[bytes]:
    flat = np.ascontiguousarray(steps.reshape(-1, steps.shape[-1]))
    return [row.tobytes() for row in flat]


class Likelihood:
    """L of one table, counted in surveys whose people are known.

    >>> likelihood = Likelihood()
    >>> likelihood.learn(np.array([[3], [1], [1]]), np.array([True, False, False]))
    >>> likelihood.ratios(np.array([[3], [1], [7]])).round(2).tolist()
    [2.1, 0.69, 1.0]
    """

    def __init__(self) -> None:
        self._there: Counter[bytes] = Counter()
        self._elsewhere: Counter[bytes] = Counter()

    def learn(self, steps: NDArray[np.int64], there: NDArray[np.bool_]) -> None:
        """Add the cells of a survey, and where such people are."""
        for key, inside in zip(_keys(steps), there.ravel().tolist(), strict=True):
            (self._there if inside else self._elsewhere)[key] += 1

    def ratios(self, steps: NDArray[np.int64]) -> Floats:
        """L of every cell."""
        with_them, without = self._there.total(), self._elsewhere.total()
        everywhere = max(with_them + without, 1)
        found = []
        for key in _keys(steps):
            often = PRIOR * (self._there[key] + self._elsewhere[key]) / everywhere
            above = (self._there[key] + often) / (with_them + PRIOR)
            below = (self._elsewhere[key] + often) / (without + PRIOR)
            found.append(above / below if often else 1.0)
        return np.array(found).reshape(steps.shape[:-1])


def beliefs(likelihoods: Sequence[Likelihood], tables: Iterable[NDArray[np.int64]]) -> Floats:
    """The logarithm of P(c), up to a constant, for every cell, from the steps of each table."""
    parts = [
        np.log(likelihood.ratios(steps).reshape(len(steps), -1).mean(axis=1))
        for likelihood, steps in zip(likelihoods, tables, strict=True)
    ]
    return np.asarray(np.sum(parts, axis=0))


def log_chances(noise: NoiseTable, shown: NDArray[np.int64], true: NDArray[np.int64]) -> Floats:
    """The logarithm of the probability of each released count (or step), given a true one."""
    rows = {int(n): noise.row(int(n)).probabilities() for n in np.unique(true)}
    chances = [float(rows[n].get(s - n, 0)) for s, n in zip(shown.tolist(), true.tolist(), strict=True)]
    return np.log(np.maximum(chances, 1e-300))
