"""Record keys: a 32-bit number for each person, from the secret and a stable id.

    key(id) = last four bytes, big-endian, of AES-256(K, first 16 bytes of SHA-256(id))

with K derived by HKDF from the secret and the dataset's lineage, and the id as UTF-8 text. The key
depends on nothing else: not on row order, version, chunk or engine. An engine hashes the ids; this
module enciphers the hashes, so that the secret never enters a query.

Source: Sadeghi & Chien (2022), section IV: positive integers below 2^32. docs/decisions/0001-keys.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.records.block_cipher import encipher

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.records.secret import Secret

#: The largest number of records whose key sums stay below 2^63, exact on every engine.
MOST_RECORDS = 2**31


def record_keys(secret: Secret, lineage: str, id_hashes: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """The record keys of hashed ids.

    Args:
        secret: The workspace's secret.
        lineage: Shared by all versions of a dataset, so that a person keeps the key.
        id_hashes: (n, 16) bytes: the first half of each id's SHA-256.
    """
    blocks = encipher(secret.derive("record-key", lineage), id_hashes)
    return np.ascontiguousarray(blocks[:, 12:]).view(">u4").ravel().astype(np.uint32)
