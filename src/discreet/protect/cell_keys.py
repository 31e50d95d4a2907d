"""Cell keys and the noise of the cell key method.

    hashed                        first 8 bytes, little-endian, of AES-256(K, sum || 0), modulo the modulus
    participants-and-description  the same of AES-256(K, sum || description)
    additive                      sum modulo the modulus
    abs                           (sum modulo bigN) as four bytes, XORed into one

    noisy = count + noise(count, cell key)

`sum` is the sum of the record keys in a cell. The same people have the same sum, so in all modes except the second they
have the same key in every table. The additive form is the one in agencies' manuals; a user can predict the noise of
unions under it, so it is not the default. The second mode ends differencing and allows averaging (docs/methods/cell-key.md).
For a modulus that does not divide 2^64 the reduction prefers some keys by less than modulus / 2^64.

Empty cells have no participants and stay zero. With `zeros = "perturbed"` their key is a hash of their description:

    token(cell) = sum over its conditions of HMAC-SHA256(K1, condition), 64 bits
    key(cell)   = first 8 bytes, little-endian, of AES-256(K2, token || 0), modulo the modulus

Source: Fraser & Wooton (2005); Sadeghi & Chien (2022), section IV, eqs 36-37; Rinott et al. (2018), 2.2;
docs/decisions/0001-keys.md.
"""

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadNoiseTable
from discreet.model.dataset import Dataset
from discreet.model.exact import ExactTable
from discreet.model.protection import Protection
from discreet.model.shape import TableShape, structural_zeros
from discreet.noise.table import NoiseTable
from discreet.records.keys import Purpose, Secret, encipher, pair_blocks

#: From the key sums of some cells and their flat indices in a table to their cell keys.
KeysAt: TypeAlias = "Callable[[NDArray[np.uint64], NDArray[np.intp]], NDArray[np.uint64]]"
#: The cell-key function of a table's shape.
CellKeys: TypeAlias = "Callable[[TableShape], KeysAt]"
#: From the key sums of cells to numbers from 0 to 1: the same people have the same number.
CellChances: TypeAlias = "Callable[[NDArray[np.uint64]], NDArray[np.float64]]"


def noise_lineage(dataset: Dataset) -> str:
    """The name under which the keys of a dataset's noise are derived.

    Counts that are only released weighted have separate noise: an earlier version may have released unweighted counts of the
    same people, and the difference of two numbers with equal noise would be exact. A lineage has no line break in its name.
    """
    steps = dataset.survey is not None and dataset.survey.only_weights
    return f"{dataset.lineage}\nweights" if steps else dataset.lineage


def cell_keys(secret: Secret, lineage: str, protection: Protection, modulus: int) -> CellKeys:
    """The cell-key function of a protection, for a noise table of a key modulus."""

    def by_participants(_shape: TableShape) -> KeysAt:
        key = secret.derive(Purpose.CELL_KEY, lineage)
        return lambda sums, _places: hash_words(key, sums, modulus)

    def by_description(shape: TableShape) -> KeysAt:
        tokens = description_tokens(secret.derive(Purpose.CELL_DESCRIPTION, lineage), shape)
        key = secret.derive(Purpose.CELL_KEY_DESCRIBED, lineage)
        return lambda sums, places: _reduce(_first_words(key, pair_blocks(sums, tokens(places))), modulus)

    match protection.keys:
        case "participants-and-description":
            return by_description
        case "additive":
            return lambda _shape: lambda sums, _places: _reduce(sums, modulus)
        case "abs":
            big_n = np.uint64(protection.big_n)
            return lambda _shape: lambda sums, _places: xor_of_bytes(sums % big_n)
        case _:
            return by_participants


def cell_chances(secret: Secret, lineage: str) -> CellChances:
    """Numbers for random rounding, independent of the noise: the first 53 bits of AES-256(K', sum || 0), over 2^53."""

    def chances(key_sums: NDArray[np.uint64]) -> NDArray[np.float64]:
        words = _first_words(secret.derive(Purpose.CELL_CHANCE, lineage), pair_blocks(key_sums.ravel()))
        return ((words >> np.uint64(11)) / float(2**53)).reshape(key_sums.shape)

    return chances


def xor_of_bytes(sums: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The XOR of the four low bytes (Sadeghi & Chien, eq. 37).

    >>> xor_of_bytes(np.array([0x01020408], dtype=np.uint64)).tolist()
    [15]
    """
    folded = sums ^ (sums >> np.uint64(16))
    xored: NDArray[np.uint64] = (folded ^ (folded >> np.uint64(8))) & np.uint64(0xFF)
    return xored


def hash_words(key: bytes, words: NDArray[np.uint64], modulus: int) -> NDArray[np.uint64]:
    """A keyed hash of 64-bit words, below the modulus."""
    return _reduce(_first_words(key, pair_blocks(words)), modulus)


def _first_words(key: bytes, blocks: NDArray[np.uint8]) -> NDArray[np.uint64]:
    words = encipher(key, blocks).view("<u8")
    return np.ascontiguousarray(words[:, 0]).astype(np.uint64, copy=False)


def _reduce(words: NDArray[np.uint64], modulus: int) -> NDArray[np.uint64]:
    if modulus == 2**64:
        return words
    if modulus & (modulus - 1) == 0:
        return words & np.uint64(modulus - 1)
    return words % np.uint64(modulus)


def description_tokens(key: bytes, shape: TableShape) -> Callable[[NDArray[np.intp]], NDArray[np.uint64]]:
    """A 64-bit token for the description of every cell, by its flat index.

    A description is a set of conditions "variable is among these codes". Each condition that excludes someone has a keyed
    random token, and a cell's token is their sum modulo 2^64. An equivalent filter and slice give the same token.
    """
    hidden = sum(_token(key, each.name, each.members, each.base) for each in shape.filters) % 2**64
    axes = []
    for dimension in shape.dimensions:
        name, base = dimension.name, dimension.base
        own = [
            0 if len(members) == len(dimension.base) else _token(key, name, members, base)
            for members in dimension.members()
        ]
        axes.append(np.array(own, dtype=np.uint64))

    def tokens(places: NDArray[np.intp]) -> NDArray[np.uint64]:
        total = np.full(places.shape, hidden, dtype=np.uint64)
        for axis, index in zip(axes, np.unravel_index(places, shape.lengths), strict=True):
            total += axis[index]
        return total

    return tokens


def _token(key: bytes, name: str, members: tuple[int, ...], base: tuple[str, ...]) -> int:
    condition = json.dumps([name, sorted(base[member] for member in members)], separators=(",", ":")).encode()
    return int.from_bytes(hmac.new(key, condition, hashlib.sha256).digest()[:8], "little")


@dataclass(frozen=True)
class EmptyCells:
    """The empty cells that may be perturbed, and their keys.

    A cell that is empty by chance has one number wherever it has the same description. A structural zero stays zero.
    """

    secret: Secret = field(repr=False)
    dataset: Dataset
    modulus: int

    def places(self, counts: NDArray[np.int64], shape: TableShape) -> NDArray[np.intp]:
        return np.flatnonzero((counts == 0) & ~structural_zeros(shape, self.dataset))

    def keys(self, shape: TableShape, places: NDArray[np.intp]) -> NDArray[np.uint64]:
        lineage = noise_lineage(self.dataset)
        tokens = description_tokens(self.secret.derive(Purpose.EMPTY_DESCRIPTION, lineage), shape)
        return hash_words(self.secret.derive(Purpose.EMPTY_CELL, lineage), tokens(places), self.modulus)


#: Cells per lookup: fast, with little memory next to a large table.
BLOCK = 32_768


def add_noise(
    exact: ExactTable,
    keys: CellKeys,
    noise: NoiseTable,
    empty: EmptyCells | None = None,
    *,
    in_place: bool = False,
) -> NDArray[np.int64]:
    """The noisy count of every cell, by the cell key of its participants; `empty` has the keys of empty cells."""
    if empty is None and not noise.keeps_zero:
        raise BadNoiseTable(
            "The noise table changes empty cells, which have no cell key.",
            'Give the row of count 0 the single value 0, or set `zeros = "perturbed"` in [protection].',
        )
    nobody = None if empty is None else empty.places(exact.counts, exact.shape)
    noisy, key_sums = exact.start(in_place=in_place).ravel(), exact.key_sums.ravel()
    keys_at = keys(exact.shape)
    for first in range(0, noisy.size, BLOCK):
        places = first + np.flatnonzero(noisy[first : first + BLOCK])
        noisy[places] = noisy_people(noisy[places], key_sums[places], places, keys_at, noise)
    if empty is not None and nobody is not None:
        noisy[nobody] = noise.noise(np.zeros(nobody.shape, dtype=np.int64), empty.keys(exact.shape, nobody))
    return noisy.reshape(exact.shape.lengths)


def noisy_people(
    people: NDArray[np.int64],
    key_sums: NDArray[np.uint64],
    places: NDArray[np.intp],
    keys_at: KeysAt,
    noise: NoiseTable,
) -> NDArray[np.int64]:
    """The noisy counts of non-empty cells."""
    cell_keys = keys_at(key_sums, places)
    return people + noise.noise(people, cell_keys)
