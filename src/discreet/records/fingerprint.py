"""A keyed fingerprint of the records that does not depend on their order.

Each record is a message of 16-byte blocks (its id's hash, then its codes and weight), authenticated by
CBC-MAC under AES-256; the tags are added modulo 2^128. All messages of one dataset have the same length,
where CBC-MAC is a pseudo-random function, and a sum of pseudo-random values is a multiset hash: equal
records in any order give equal sums, and nobody without the secret can confirm a guess about one record.

Source: Clarke et al., "Incremental multiset hash functions" (2003), MSet-Add-Hash.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from discreet.records.block_cipher import BLOCK, encipher
from discreet.records.id_sketch import IdSketch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.records.secret import Secret


class Fingerprint:
    """Adds up the tags of records, chunk by chunk; a sketch of their ids goes along."""

    def __init__(self, secret: Secret, lineage: str) -> None:
        self._key = secret.derive("record-fingerprint", lineage)
        self.ids = IdSketch(secret)
        self._sum = 0
        self._records = 0

    def add(self, id_hashes: NDArray[np.uint8], columns: list[NDArray[np.generic]]) -> NDArray[np.uint8]:
        """Add records: their hashed ids and, in a fixed order, their columns of integers; tells their tags."""
        tags = encipher(self._key, id_hashes)
        for block in _message_blocks(columns, len(id_hashes)):
            tags = encipher(self._key, tags ^ block)
        words = tags.view("<u8")
        for half in (0, 1):
            self._sum += _exact_sum(words[:, half]) << (64 * half)
        self._sum %= 2**128
        self._records += len(id_hashes)
        return tags

    @property
    def so_far(self) -> tuple[int, int]:
        """The sum of the tags, and how many records were added."""
        return self._sum, self._records

    def join(self, added: int, records: int) -> None:
        """Add the records of another part, by what `so_far` tells there."""
        self._sum = (self._sum + added) % 2**128
        self._records += records

    def of_records(self, meaning: str) -> str:
        """The fingerprint of the records alone, for description keys. Never show it: equal records have equal ones.

        Args:
            meaning: What the integers of the columns stand for: under another list of codes they are other records.
        """
        parts = (self._sum.to_bytes(16, "little"), self._records.to_bytes(8, "little"), meaning.encode())
        return hashlib.blake2b(
            b"".join(parts), key=self._key, digest_size=16, person=b"discreet-records"
        ).hexdigest()

    def digest(self, description: str) -> str:
        """The version's name: covers the records, their number and the text of `dataset.toml`."""
        parts = (
            self._key,
            self._sum.to_bytes(16, "little"),
            self._records.to_bytes(8, "little"),
            description.encode(),
        )
        return hashlib.blake2b(
            b"".join(parts[1:]), key=parts[0], digest_size=16, person=b"discreet-digest"
        ).hexdigest()


def _message_blocks(columns: list[NDArray[np.generic]], records: int) -> list[NDArray[np.uint8]]:
    """The columns as little-endian 64-bit words, two to a block."""
    padded: list[NDArray[np.generic]] = [*columns, *([np.zeros(records, "<u8")] * (len(columns) % 2))]
    blocks = []
    for first, second in zip(padded[::2], padded[1::2], strict=True):
        pair = np.empty((records, 2), dtype="<i8")
        pair[:, 0], pair[:, 1] = first, second
        blocks.append(pair.view(np.uint8).reshape(records, BLOCK))
    return blocks


def _exact_sum(words: NDArray[np.uint64]) -> int:
    """The sum of unsigned 64-bit words as an exact integer."""
    low = int((words & np.uint64(0xFFFFFFFF)).sum(dtype=np.uint64))
    high = int((words >> np.uint64(32)).sum(dtype=np.uint64))
    return low + (high << 32)
