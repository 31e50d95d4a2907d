"""Where a publication stands: a folder, or a bucket by its address (`s3://`, `gs://`, ...; through fsspec).

A file of a publication is written once, under the hash of its content, and never changed. One small file, the pointer, is
replaced: by a rename in a folder, by one upload in a bucket. Whoever reads sees the former pointer or the new one.
"""

from __future__ import annotations

import secrets
from collections.abc import Hashable
from contextlib import suppress
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from discreet.errors import BadRequest, MissingExtra, PublicationUnusable
from discreet.workspace.sealed import fsync_path

#: What an address has, and the name of a folder has not.
_ADDRESS = "://"
_WRITING = ".writing-"
#: So often it is looked whether a bucket has a new publication.
SECONDS_BETWEEN_LOOKS = 30.0


class Storage(Protocol):
    """A place with named files."""

    def read(self, name: str) -> bytes:
        """The content of a file.

        Raises:
            PublicationUnusable: It is not there, or cannot be read.
        """

    def size(self, name: str) -> int | None:
        """The bytes of a file; None where there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all; one that is there is replaced."""

    def mark(self, name: str) -> Hashable:
        """Something that is another when the file is another."""


class FolderStorage:
    """A folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str) -> bytes:
        """The content of a file."""
        try:
            return (self._folder / name).read_bytes()
        except OSError as error:
            raise _unreadable(name, error.strerror or "it cannot be read") from None

    def size(self, name: str) -> int | None:
        """The bytes of a file."""
        with suppress(OSError):
            return (self._folder / name).stat().st_size
        return None

    def write(self, name: str, content: bytes) -> None:
        """Beside its place first, on disk, then renamed."""
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f"{_WRITING}{secrets.token_hex(8)}")
        try:
            aside.write_bytes(content)
            fsync_path(aside)
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
        fsync_path(path.parent)

    def mark(self, name: str) -> Hashable:
        """What the file system tells of a file."""
        try:
            found = (self._folder / name).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def __str__(self) -> str:
        return str(self._folder)


class BucketStorage:
    """What stands under an address that fsspec knows."""

    def __init__(self, address: str) -> None:
        try:
            from fsspec.core import url_to_fs  # noqa: PLC0415 - an extra

            self._files: Any
            self._files, root = url_to_fs(address)
        except ImportError as error:
            raise MissingExtra(
                f"{address.partition(_ADDRESS)[0]}:// needs a package that is not installed: {error}.",
                'Install "discreet[bucket]", and s3fs, gcsfs or adlfs for the kind of bucket.',
            ) from None
        except ValueError as error:
            raise BadRequest(
                f"The address {address!r} cannot be used: {error}.", "Write s3://bucket/path."
            ) from None
        self._root, self._address = root.rstrip("/"), address
        self._marks: dict[str, tuple[float, bytes]] = {}

    def read(self, name: str) -> bytes:
        """The content of a file."""
        try:
            return bytes(self._files.cat_file(f"{self._root}/{name}"))
        except Exception as error:  # noqa: BLE001 - each kind of bucket has its own
            raise _unreadable(name, type(error).__name__) from None

    def size(self, name: str) -> int | None:
        """The bytes of a file."""
        try:
            return int(self._files.info(f"{self._root}/{name}")["size"])
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """One upload: a bucket shows all of it or nothing."""
        path = f"{self._root}/{name}"
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        self._files.pipe_file(path, content)
        self._marks.pop(name, None)

    def mark(self, name: str) -> Hashable:
        """The file itself, looked at now and then: it is small, and a bucket may tell nothing else."""
        read, content = self._marks.get(name, (-inf, b""))
        if monotonic() - read > SECONDS_BETWEEN_LOOKS:
            self._files.invalidate_cache()
            read, content = monotonic(), self.read(name)
            self._marks[name] = read, content
        return content

    def __str__(self) -> str:
        return self._address


def open_storage(text: str) -> Storage:
    """The folder or the bucket of a text."""
    return BucketStorage(text) if _ADDRESS in text else FolderStorage(Path(text))


def _unreadable(name: str, why: str) -> PublicationUnusable:
    return PublicationUnusable(
        f"The file {name!r} of the publication cannot be read: {why}.",
        "Name the place that `discreet publish --to` wrote, or publish again.",
    )
