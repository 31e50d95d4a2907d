"""The secret: at least 256 bits, in a file that only its owner can read.

Everything that must be unpredictable is derived from it by HKDF-SHA256 under a label that says what it
is for, so that no two uses share a key. A `Secret` cannot be printed, pickled or compared by its bytes.

AES-256 on many 16-byte blocks at once: the one pseudo-random function under all keys.

Each block is enciphered on its own (ECB). That is the right mode here and only here: the cipher is used
as a keyed random permutation of distinct inputs, never to hide a message. Counters enciphered in turn are the
CTR stream, which is read whole or, block by block, at any place.

Record keys: a 32-bit number for each person, from the secret and a stable id.

    key(id) = last four bytes, big-endian, of AES-256(K, first 16 bytes of SHA-256(id))

with K derived by HKDF from the secret and the dataset's lineage, and the id as UTF-8 text. The key
depends on nothing else: not on row order, version, chunk or engine. An engine hashes the ids; this
module enciphers the hashes, so that the secret never enters a query.

Source: Sadeghi & Chien (2022), section IV: positive integers below 2^32. docs/decisions/0001-keys.md.

The tag of stored records: a keyed name of their version, kept beside them.

    tag = HKDF(secret; "records-tag", digest)

Another version's records have another tag, and nobody without the secret can make one. An engine keeps the tag where
it keeps the records and gives it back at constant cost; whoever opens a version compares the two.

Keys that are lent to other processes: those of one dataset, in a file of the folder in which a version is made.

A cluster ships functions, variables and settings through its own plans, files and pages. No key goes that way: the
processes that need one read it from the workspace, which they must reach anyway to write records there. They get what
is derived for one lineage, and for the sketches of ids, and never the secret. The file is removed when the records are read.
"""

from __future__ import annotations

import json
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from discreet.errors import DiscreetError, SecretUnusable

BYTES = 32
_FEWEST_DISTINCT = 12


class Secret:
    """The secret of one workspace; its bytes are reachable only through `derive`.

    >>> Secret(bytes(range(32)))
    <Secret>
    """

    __slots__ = ("_material",)

    def __init__(self, material: bytes) -> None:
        if len(material) < BYTES:
            raise SecretUnusable(
                f"The secret is shorter than {BYTES} bytes.",
                "Create one with `discreet load`, or 32 random bytes.",
            )
        if len(set(material)) < _FEWEST_DISTINCT:
            raise SecretUnusable("The secret is guessable.", "Use 32 random bytes.")
        self._material = material

    def derive(self, *labels: str) -> bytes:
        """A 256-bit key for one purpose, by HKDF-SHA256 with the labels as its context.

        Each label is preceded by its length, so that no two lists of labels have the same context.
        """
        context = b"".join(len(raw).to_bytes(4, "big") + raw for raw in (label.encode() for label in labels))
        return HKDF(algorithm=hashes.SHA256(), length=32, salt=b"discreet", info=context).derive(
            self._material
        )

    def __repr__(self) -> str:
        return "<Secret>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a Secret cannot be pickled or copied")


def create_secret(path: Path) -> None:
    """Write a new random secret that only its owner can read; an existing one is kept."""
    write_guarded(path, secrets.token_bytes(BYTES))


def read_secret(path: Path) -> Secret:
    """Read the secret, or refuse: missing, short, guessable or open to others means no answers."""
    return Secret(
        read_guarded(
            path,
            "secret",
            "No table is released without it. Restore the file from your backup.",
            SecretUnusable,
        )
    )


def write_guarded(path: Path, material: bytes) -> None:
    """Write a new file that only its owner can read, from its first moment on; an existing one is kept.

    It gets its name when all of it is on disk: a process that dies, or a full disk, leaves no part of it under that name.
    """
    if path.exists():
        return
    whole = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    with suppress(FileExistsError):  # another process was faster, and its file stays
        try:
            _write_new(whole, material)
            _link(whole, path, material)
        finally:
            whole.unlink(missing_ok=True)


def _link(whole: Path, path: Path, material: bytes) -> None:
    """Give a file its name; where the file system has no links the bytes are written under it."""
    try:
        os.link(whole, path)
    except FileExistsError:
        raise
    except OSError:
        _write_new(path, material)


def _write_new(path: Path, material: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(material)
        file.flush()
        os.fsync(file.fileno())


def read_guarded(path: Path, what: str, advice: str, refused: type[DiscreetError]) -> bytes:
    """Read a file that is its owner's alone, or refuse.

    Args:
        path: The file.
        what: What it is, for sentences.
        advice: What to do where it cannot be read.
        refused: The error that is raised.
    """
    try:
        status = path.stat()
        material = path.read_bytes()
    except FileNotFoundError:
        raise refused(f"The {what} {path.name!r} is missing from the workspace.", advice) from None
    except OSError as error:
        raise refused(f"The {what} cannot be read: {error.strerror}.", advice) from None
    if not stat.S_ISREG(status.st_mode):
        raise refused(f"The {what} is not a regular file.", advice)
    if os.name == "posix" and status.st_mode & 0o077:
        raise refused(
            f"The {what} can be read by others.", f"Run: chmod 600 on the workspace's `{path.name}` file."
        )
    if os.name == "posix" and status.st_uid not in {os.geteuid(), 0}:
        raise refused(f"The {what} belongs to another user.", "Run Discreet as the owner of the workspace.")
    return material


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


def record_tag(secret: Secret, digest: str) -> str:
    """The tag of the records of a version.

    Args:
        secret: The workspace's.
        digest: The version's name, which covers its records, description, noise and revisions.
    """
    return secret.derive("records-tag", digest).hex()


LENT = "lent-keys"


def lent_labels(lineage: str) -> list[tuple[str, ...]]:
    """What keys are lent for: three of a lineage, and that of the sketches of ids."""
    return [("record-key", lineage), ("record-fingerprint", lineage), ("part", lineage), ("id-sketch",)]


class LentKeys(Secret):
    """Stands in for a secret where records are keyed; knows the lent keys alone.

    Args:
        path: The file that `lend_keys` wrote.
    """

    __slots__ = ("_keys",)

    def __init__(self, path: Path) -> None:
        written: dict[str, str] = json.loads(path.read_text("ascii"))
        self._keys = {tuple(json.loads(labels)): bytes.fromhex(key) for labels, key in written.items()}

    def derive(self, *labels: str) -> bytes:
        """The key of these labels, where it was lent."""
        if labels not in self._keys:
            raise SecretUnusable("This key was not lent.", "Load the dataset again.")
        return self._keys[labels]


def lend_keys(secret: Secret, lineage: str, folder: Path) -> Path:
    """Write the keys of a lineage to a file that only its owner can read."""
    keys = {json.dumps(labels): secret.derive(*labels).hex() for labels in lent_labels(lineage)}
    path = folder / LENT
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        json.dump(keys, file)
    return path
