"""The secret: at least 256 bits, in a file that only its owner can read.

Everything that must be unpredictable is derived from it by HKDF-SHA256 under a label that says what it
is for, so that no two uses share a key. A `Secret` cannot be printed, pickled or compared by its bytes.

Comes from: `workspace`. Goes to: `record_keys`, `cell_keys`, `fingerprint`.
"""

from __future__ import annotations

import os
import secrets
import stat
from typing import TYPE_CHECKING, NoReturn

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from discreet.errors import SecretUnusable

if TYPE_CHECKING:
    from pathlib import Path

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
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return
    with os.fdopen(handle, "wb") as file:
        file.write(secrets.token_bytes(BYTES))
        file.flush()
        os.fsync(file.fileno())


def read_secret(path: Path) -> Secret:
    """Read the secret, or refuse: missing, short, guessable or open to others means no answers."""
    advice = "No table is released without it. Restore the file from your backup."
    try:
        status = path.stat()
        material = path.read_bytes()
    except FileNotFoundError:
        raise SecretUnusable(f"The secret {path.name!r} is missing from the workspace.", advice) from None
    except OSError as error:
        raise SecretUnusable(f"The secret cannot be read: {error.strerror}.", advice) from None
    if not stat.S_ISREG(status.st_mode):
        raise SecretUnusable("The secret is not a regular file.", advice)
    if os.name == "posix" and status.st_mode & 0o077:
        raise SecretUnusable(
            "The secret can be read by others.", "Run: chmod 600 on the workspace's `secret` file."
        )
    if os.name == "posix" and status.st_uid not in {os.geteuid(), 0}:
        raise SecretUnusable(
            "The secret belongs to another user.", "Run Discreet as the owner of the workspace."
        )
    return Secret(material)
