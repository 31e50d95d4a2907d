"""The secret, and every key derived from it.

    key = HKDF-SHA256(secret; purpose, context ...)
    record key(id) = last four bytes, big-endian, of AES-256(K, first 16 bytes of SHA-256(id)),  K = key(RECORD_KEY, lineage)

`Purpose` lists all uses; no two share a key. AES-256 is the pseudo-random function below them. Record keys depend on the
secret, the dataset series and the id only: not on row order, version, chunk or engine.

Source: Sadeghi & Chien (2022), section IV: positive integers below 2^32. RFC 5869 (HKDF). docs/decisions/0001-keys.md.
"""

import json
import os
import secrets
import stat
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import NoReturn

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from numpy.typing import NDArray

from discreet.errors import DiscreetError, SecretUnusable

BYTES = 32
BLOCK = 16
_FEWEST_DISTINCT = 12
#: The largest number of records whose key sums stay below 2^63, exact on every engine.
MOST_RECORDS = 2**31
#: The file of keys for other processes.
LENT = "lent-keys"


class Purpose(StrEnum):
    """The uses of derived keys. The values are part of published numbers and of files on disk: never change one."""

    # Records
    RECORD_KEY = "record-key"
    RECORD_FINGERPRINT = "record-fingerprint"
    RECORDS_TAG = "records-tag"
    RECORDS_HASH = "records-hash"
    PARTITION = "part"
    UNIT = "unit"
    ID_SKETCH = "id-sketch"
    ID_SKETCH_FILE = "id-sketch-file"
    ID_SKETCH_SEAL = "id-sketch-seal"
    # Noise
    CELL_KEY = "cell-key"
    CELL_KEY_DESCRIBED = "cell-key-described"
    CELL_DESCRIPTION = "cell-description"
    CELL_CHANCE = "cell-chance"
    MAGNITUDE = "magnitude"
    EMPTY_CELL = "empty-cell"
    EMPTY_DESCRIPTION = "empty-description"
    DESCRIPTION_NOISE = "description-noise"
    NAMED_NOISE = "named-noise"
    RESIDUAL_NOISE = "residual-noise"
    SURVEY_CONSTANT = "survey-constant"
    # Sealed files, the ledger and the audit log
    SECRET_CHECK = "secret-check"  # noqa: S105 - a label
    VERSION_SEAL = "version-seal"
    HISTORY = "history"
    WORDING = "wording"
    CUBES_SEAL = "cubes-seal"
    CUBES_HASH = "cubes-hash"
    LEDGER_CHAIN = "ledger-chain"
    LEDGER_MARK = "ledger-mark"
    BACKUP = "backup"
    AUDIT_LOG = "log of requests"


class Secret:
    """The secret of one workspace; its bytes are reachable only through `derive`.

    It cannot be printed, pickled or copied.

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
        """A 256-bit key by HKDF-SHA256; the first label is a `Purpose`, the others are its context.

        Each label is preceded by its length, so that no two lists of labels have the same context.
        """
        info = b"".join(len(raw).to_bytes(4, "big") + raw for raw in (label.encode() for label in labels))
        return HKDF(algorithm=hashes.SHA256(), length=32, salt=b"discreet", info=info).derive(self._material)

    def __repr__(self) -> str:
        return "<Secret>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a Secret cannot be pickled or copied")


def create_secret(path: Path) -> None:
    """Write a new random secret; an existing one is kept."""
    write_guarded(path, secrets.token_bytes(BYTES))


def read_secret(path: Path) -> Secret:
    """Read the secret; a missing, short, guessable or exposed one is refused."""
    advice = "No table is released without it. Restore the file from your backup."
    return Secret(read_guarded(path, "secret", advice, SecretUnusable))


def write_guarded(path: Path, material: bytes) -> None:
    """Write a new file that only its owner can read; an existing one is kept.

    It gets its name once all bytes are on disk: a crash or a full disk leaves no partial file under that name. A copy that
    a crash left is removed by the next call.
    """
    temporary = f".{path.name}-"
    if not path.exists():
        whole = path.with_name(temporary + secrets.token_hex(8))
        with suppress(FileExistsError):  # another process was faster: its file stays
            try:
                _write_new(whole, material)
                try:
                    os.link(whole, path)
                except FileExistsError:
                    raise
                except OSError:  # a file system without links
                    _write_new(path, material)
            finally:
                whole.unlink(missing_ok=True)
    for left in path.parent.glob(f"{temporary}*"):
        left.unlink(missing_ok=True)


def _write_new(path: Path, material: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(material)
        file.flush()
        os.fsync(file.fileno())


def read_guarded(path: Path, what: str, advice: str, refused: type[DiscreetError]) -> bytes:
    """Read a file that only its owner may read; `what` and `advice` are for the message."""
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


def encipher(key: bytes, blocks: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """AES-256 of each row of an (n, 16) array of bytes.

    Each block is enciphered separately (ECB). That is right here: the cipher is a keyed random permutation of distinct
    inputs and never hides a message.
    """
    if blocks.ndim != 2 or blocks.shape[1] != BLOCK:
        raise ValueError("blocks must be n rows of 16 bytes")
    encryptor = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()  # noqa: S305 - see the docstring
    result = np.empty(blocks.size + BLOCK, dtype=np.uint8)
    written = (
        encryptor.update_into(np.ascontiguousarray(blocks).data.cast("B"), result.data) if blocks.size else 0
    )
    return result[:written].reshape(-1, BLOCK)


def pair_blocks(low: NDArray[np.uint64], high: NDArray[np.uint64] | int = 0) -> NDArray[np.uint8]:
    """Two 64-bit integers in each block, little-endian, `low` first."""
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
    """The words of the same stream at any positions, in the shape of `places`.

    Two words make a block, and the counter is a big-endian 128-bit number.
    """
    flat = np.ascontiguousarray(places, dtype=np.uint64).ravel()
    counters = np.zeros((flat.size, 2), dtype=">u8")
    counters[:, 1] = flat >> np.uint64(1)
    words = encipher(key, counters.view(np.uint8).reshape(-1, BLOCK)).view("<u8")
    chosen = np.where(flat & np.uint64(1), words[:, 1], words[:, 0])
    return chosen.astype(np.uint64, copy=False).reshape(np.shape(places))


def record_keys(secret: Secret, lineage: str, id_hashes: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """The record keys of ids, given the first halves of their SHA-256 as (n, 16) bytes.

    Engines hash ids, so the secret is in no query. A person keeps the key in all versions of the series `lineage`.
    """
    blocks = encipher(secret.derive(Purpose.RECORD_KEY, lineage), id_hashes)
    return np.ascontiguousarray(blocks[:, 12:]).view(">u4").ravel().astype(np.uint32)


def record_tag(secret: Secret, digest: str) -> str:
    """The tag stored with the records of a version, which authenticates them at constant cost."""
    return secret.derive(Purpose.RECORDS_TAG, digest).hex()


class LentKeys(Secret):
    """The keys that other processes need to read one dataset's records; other keys are refused.

    A cluster ships variables and settings through its plans, files and web pages, so no key goes that way: processes
    read the file of `lend_keys` in the workspace. It is removed after reading.
    """

    __slots__ = ("_keys",)

    def __init__(self, path: Path) -> None:
        written: dict[str, str] = json.loads(path.read_text("ascii"))
        self._keys = {tuple(json.loads(labels)): bytes.fromhex(key) for labels, key in written.items()}

    def derive(self, *labels: str) -> bytes:
        """The key of these labels, if it was lent."""
        if labels not in self._keys:
            raise SecretUnusable("This key was not lent.", "Load the dataset again.")
        return self._keys[labels]


def lent_labels(lineage: str) -> list[tuple[str, ...]]:
    """The purposes and contexts of the lent keys."""
    series = (Purpose.RECORD_KEY, Purpose.RECORD_FINGERPRINT, Purpose.PARTITION)
    return [*((purpose, lineage) for purpose in series), (Purpose.ID_SKETCH,)]


def lend_keys(secret: Secret, lineage: str, folder: Path) -> Path:
    """Write the keys that read the records of a series to a file that only its owner can read."""
    keys = {json.dumps(labels): secret.derive(*labels).hex() for labels in lent_labels(lineage)}
    path = folder / LENT
    _write_new(path, json.dumps(keys).encode("ascii"))
    return path
