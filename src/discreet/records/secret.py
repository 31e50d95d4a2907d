"""The secret: at least 256 bits, in a file that only its owner can read.

Everything that must be unpredictable is derived from it by HKDF-SHA256 under a label that says what it
is for, so that no two uses share a key. A `Secret` cannot be printed, pickled or compared by its bytes.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from discreet.errors import SecretUnusable

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.errors import DiscreetError

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
