"""Reproducible random draws for the demo data: random words by position, many-sided dice, and apportionment.

Record i owns the i-th output of the Philox counter generator, 256 bits, so its values depend on the seed and on i only,
not on how records are split into chunks. A `Dice` has one die per row with the faces 0, 1, ...; a throw is one look-up
in an alias table whose chances are 24-bit integers:

    face = column if fraction < chance[row, column] else other[row, column].

Weights are rounded to integers before a throw, so float rounding, which differs between machines, does not matter.

Apportionment by largest remainders: each share is rounded down, and the units left over go to the largest fractions,

    share_i = floor(total w_i / sum w) + (1 for the `left` largest fractions).

Source: Salmon et al. (2011) for Philox; Walker (1977) for the alias method; Hamilton's method of apportionment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest

WORDS_PER_RECORD = 8
ONE = 1 << 24
LARGEST_SEED = 2**64 - 1

RECORDS = 0
PLACES = 1


def philox_words(seed: int, stream: int, first: int, count: int) -> NDArray[np.uint32]:
    """Eight random 32-bit words for each of `count` records, the first being record `first`.

    >>> bool((philox_words(7, RECORDS, 0, 5)[3:] == philox_words(7, RECORDS, 3, 2)).all())
    True
    """
    if not 0 <= seed <= LARGEST_SEED:
        raise BadRequest(f"The seed is {seed}.", f"Use a whole number from 0 to {LARGEST_SEED}.")
    key = np.array([seed, stream], dtype=np.uint64)
    raw = np.random.Philox(key=key, counter=first).random_raw(WORDS_PER_RECORD // 2 * count)
    return np.asarray(raw, dtype="<u8").view("<u4").reshape(count, WORDS_PER_RECORD)


def normals(random_words: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Standard normal numbers, one a word.

    >>> float(normals(np.array([2**31], dtype=np.uint32))[0].round(6))
    0.0
    """
    from scipy.special import ndtri  # noqa: PLC0415 - only the making of a demo needs SciPy

    return np.asarray(ndtri((random_words + 0.5) / 2.0**32), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Dice:
    """Dice thrown by look-up: each entry holds a 24-bit chance and the face that is taken otherwise.

    >>> dice = Dice.with_weights(np.array([[1.0, 3.0], [1.0, 0.0]]))
    >>> dice.throw(np.array([0, 0, 1, 1]), np.array([0, 2**32 - 1, 5, 2**32 - 1], dtype=np.uint32)).tolist()
    [0, 1, 0, 0]
    """

    entries: NDArray[np.uint32]
    bits: int

    @classmethod
    def with_weights(cls, weights: NDArray[np.float64]) -> Dice:
        """One die for each row of `weights`; a weight of zero is a face that never falls."""
        faces = weights.shape[-1]
        bits = max(1, (faces - 1).bit_length())
        padded = np.zeros((weights.size // faces, 1 << bits))
        padded[:, :faces] = weights.reshape(-1, faces)
        return cls(_alias_entries(_integer_masses(padded)), bits)

    def throw(self, rows: NDArray[np.int64], random_words: NDArray[np.uint32]) -> NDArray[np.uint8]:
        """The face that each word selects on the die of its row."""
        column = random_words >> np.uint32(32 - self.bits)
        entry = self.entries[(rows << self.bits) | column]
        fraction = (random_words << np.uint32(self.bits)) >> np.uint32(8)
        return np.where(fraction < (entry >> np.uint32(8)), column, entry & np.uint32(255)).astype(np.uint8)


def _integer_masses(weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Weights as integers: each row adds up to its width times `ONE`, and a zero stays zero."""
    total = weights.shape[1] * ONE
    shares = weights / weights.sum(axis=1, keepdims=True)
    masses: NDArray[np.int64] = np.floor(shares * total).astype(np.int64)
    masses[np.arange(len(masses)), masses.argmax(axis=1)] += total - masses.sum(axis=1)
    return masses


def _alias_entries(masses: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Fill every column to `ONE`: in each row the poorest column takes from the richest, all rows at once."""
    rows, width = masses.shape
    row = np.arange(rows)
    mass = masses.copy()
    open_ = np.ones((rows, width), dtype=bool)
    entries = np.empty((rows, width), dtype=np.uint32)
    for _ in range(width):
        poor = np.where(open_, mass, width * ONE + 1).argmin(axis=1)
        rich = np.where(open_, mass, -1).argmax(axis=1)
        chance = mass[row, poor]
        full = chance >= ONE
        entries[row, poor] = (np.where(full, 0, chance) << 8) | np.where(full, poor, rich)
        mass[row, rich] -= np.where(full, 0, ONE - chance)
        open_[row, poor] = False
    return entries.reshape(-1)


def apportion(total: int, weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """Share `total` units out in proportion to `weights`; the shares add up to `total` exactly.

    >>> apportion(10, np.array([1.0, 1.0, 1.0])).tolist()
    [4, 3, 3]
    """
    quotas = weights / weights.sum() * total
    shares: NDArray[np.int64] = np.floor(quotas).astype(np.int64)
    left = total - int(shares.sum())
    by_fraction = np.argsort(shares - quotas, kind="stable")
    shares[by_fraction[:left]] += 1
    return shares
