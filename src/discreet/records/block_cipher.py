"""AES-256 on many 16-byte blocks at once: the one pseudo-random function under all keys.

Each block is enciphered on its own (ECB). That is the right mode here and only here: the cipher is used
as a keyed random permutation of distinct inputs, never to hide a message. Counters enciphered in turn are the
CTR stream, which is read whole or, block by block, at any place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 16


def encipher(key: bytes, blocks: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """AES-256 of each row of an (n, 16) array of bytes."""
    if blocks.ndim != 2 or blocks.shape[1] != BLOCK:
        raise ValueError("blocks must be n rows of 16 bytes")
    encryptor = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()  # noqa: S305 - see the module's docstring
    result = np.empty(blocks.size + BLOCK, dtype=np.uint8)
    written = (
        encryptor.update_into(np.ascontiguousarray(blocks).data.cast("B"), result.data) if blocks.size else 0
    )
    return result[:written].reshape(-1, BLOCK)


def pair_blocks(low: NDArray[np.uint64], high: NDArray[np.uint64] | int = 0) -> NDArray[np.uint8]:
    """Lay two 64-bit integers into each block, little-endian, `low` first."""
    pairs = np.empty((low.size, 2), dtype="<u8")
    pairs[:, 0] = low
    pairs[:, 1] = high
    return pairs.view(np.uint8).reshape(-1, BLOCK)


def counter_words(key: bytes, words: int) -> NDArray[np.uint64]:
    """The first 64-bit words, little-endian, of the AES-256-CTR stream whose counter starts at 0."""
    size = -(-words // 2) * BLOCK
    encryptor = Cipher(algorithms.AES256(key), modes.CTR(bytes(BLOCK))).encryptor()
    stream = np.empty(size + BLOCK, dtype=np.uint8)
    written = encryptor.update_into(bytes(size), stream.data) if size else 0
    return stream[:written].view("<u8").astype(np.uint64, copy=False)[:words]


def counter_words_at(key: bytes, places: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The words of the same stream at any places, in the shape of `places`.

    Two words make a block, and the counter is a big-endian 128-bit number.
    """
    flat = np.ascontiguousarray(places, dtype=np.uint64).ravel()
    counters = np.zeros((flat.size, 2), dtype=">u8")
    counters[:, 1] = flat >> np.uint64(1)
    words = encipher(key, counters.view(np.uint8).reshape(-1, BLOCK)).view("<u8")
    chosen = np.where(flat & np.uint64(1), words[:, 1], words[:, 0])
    return chosen.astype(np.uint64, copy=False).reshape(np.shape(places))
