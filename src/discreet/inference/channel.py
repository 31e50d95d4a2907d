"""The noise from the reader's side: which true counts could lie behind a released one, and how likely.

A noise table says P(noise | count); a reader sees x and asks about n:

    P(x | n) = P(noise = x - n | row of n),   n = x - largest noise, ..., x - smallest noise.

Rows differ from count to count, so the law of x given n is looked up for every n by itself; a released 0 of
a table that keeps zeros may be a true 0 or a small count that went down.

Source: Rinott et al. (2018), section 6, eq. 6.2, for any row instead of the Laplace law.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Self

import numpy as np

from discreet.errors import BadRequest
from discreet.inference.law import CUT, Law
from discreet.model.noise_law import depends_on_count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from discreet.model.noise_law import CellLaw

#: The widest noise that is looked at, of tables with a row for each count and of those with one row for all.
WIDEST, WIDEST_ROW = 5_000, 200_000


@dataclass(frozen=True, slots=True)
class Evidence:
    """What released counts say about the true ones.

    Args:
        released: The released counts, in any shape.
        first: For each the smallest count that is considered; it may lie below zero, with chance 0.
        chance: P(released | first + k) along a last axis.
        kind: Which law each cell has, where that depends on the cell.
    """

    released: NDArray[np.int64]
    first: NDArray[np.int64]
    chance: NDArray[np.float64]
    kind: NDArray[np.int64] | None = None

    @property
    def counts(self) -> NDArray[np.int64]:
        """The considered counts, in the shape of `chance`."""
        return self.first[..., None] + np.arange(self.chance.shape[-1])

    def take(self, index: NDArray[np.int64]) -> Self:
        """Some of the tables, along the first axis."""
        kind = None if self.kind is None else self.kind[index]
        return type(self)(self.released[index], self.first[index], self.chance[index], kind)

    def sure_zero(self) -> NDArray[np.bool_]:
        """Where nothing but a true count of zero is possible."""
        return np.asarray(~((self.chance > 0) & (self.counts != 0)).any(axis=-1))

    def allows_zero(self) -> NDArray[np.bool_]:
        """Where a true count of zero is possible."""
        return np.asarray(((self.chance > 0) & (self.counts == 0)).any(axis=-1))


class Channel:
    """A noise table as floating-point laws, ready for released counts.

    Args:
        noise: The noise table, or any other law of a cell. A law that serves every count is cut where less than
            `CUT` lies beyond.
    """

    def __init__(self, noise: CellLaw) -> None:
        self._noise = noise
        if depends_on_count(noise):
            lowest, highest = zip(*(law.reach for law in noise.laws), strict=True)
            _refuse_wide(min(lowest), max(highest), WIDEST)
            laws = [Law(*law.law()) for law in noise.laws]
        else:
            laws = [Law(*noise.laws[0].law()).kept(CUT)]
            _refuse_wide(laws[0].first, laws[0].last, WIDEST_ROW)
        self.lowest, self.highest = min(law.first for law in laws), max(law.last for law in laws)
        #: One line a law: the chance of each noise value from `lowest` to `highest`.
        self.laws = np.zeros((len(laws), self.highest - self.lowest + 1))
        for line, law in zip(self.laws, laws, strict=True):
            line[law.first - self.lowest : law.last - self.lowest + 1] = law.chances

    def law_index(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which line of `laws` serves each count; counts below zero have that of zero."""
        return self._noise.law_index(counts)

    def evidence(self, released: ArrayLike) -> Evidence:
        """What the released counts say about the true ones.

        Raises:
            BadRequest: A value that this noise table cannot release.

        >>> from discreet.noise import maxent
        >>> found = channel_of(maxent(D=5, V=3, js=2)).evidence([0])
        >>> found.counts[found.chance > 0].tolist()
        [0, 1, 2, 3, 4, 5]
        """
        cells = whole_numbers(released)
        values, place = np.unique(cells, return_inverse=True)
        first = values - self.highest
        counts = first[:, None] + np.arange(self.laws.shape[1])
        chance = np.where(counts >= 0, self.laws[self.law_index(counts), np.arange(counts.shape[1])[::-1]], 0)
        impossible = ~chance.any(axis=1)
        if impossible.any():
            raise BadRequest(
                f"The count {values[impossible][0]} cannot be released with this noise table.",
                "Give the table and the noise table that belong together, and the counts as released: "
                "not rounded, not clipped, without totals.",
            )
        place = place.reshape(cells.shape)
        return Evidence(cells, first[place], chance[place])


def _refuse_wide(lowest: int, highest: int, widest: int) -> None:
    if highest - lowest > widest:
        raise BadRequest(
            f"The noise table reaches from {lowest} to {highest}.",
            f"Inference takes noise that spans at most {widest:,}: use a truncated table.",
        )


@lru_cache(maxsize=32)
def channel_of(noise: CellLaw) -> Channel:
    """The channel of a noise table or of the law of a sum, made once."""
    return Channel(noise)


def whole_numbers(values: ArrayLike) -> NDArray[np.int64]:
    """Released counts as integers.

    Raises:
        BadRequest: Something that is no whole number.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and not (
        array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.round(array)).all()
    ):
        raise BadRequest("Released counts are whole numbers.", "Give them as they were released.")
    if array.size == 0:
        raise BadRequest("There is no released count.", "Give at least one.")
    return array.astype(np.int64)


def with_sure_zeros(evidence: Evidence, impossible: NDArray[np.bool_]) -> Evidence:
    """The same evidence, where cells that cannot occur are known to be empty."""
    if not impossible.any():
        return evidence
    first, chance = evidence.first.copy(), evidence.chance.copy()
    first[impossible] = 0
    chance[impossible] = 0
    chance[impossible, 0] = 1
    return Evidence(evidence.released, first, chance, evidence.kind)
