"""The files of a publication: in a folder, or in a bucket by its URL (`s3://`, `gs://`, ...; through fsspec).

A file is named by the hash of its content and never changes. One small file, the pointer, is replaced in one step: by a
rename in a folder, by one upload in a bucket.
"""

from collections.abc import Hashable
from contextlib import suppress
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

from discreet.errors import BadRequest, MissingExtra, PublicationUnusable
from discreet.workspace.sealed import replace_file

_ADDRESS = "://"
_TEMPORARY = ".writing-"
#: How often a bucket is polled for a new publication.
SECONDS_BETWEEN_LOOKS = 30.0


class Storage(Protocol):
    """A store of named files."""

    def read(self, name: str) -> bytes:
        """The content of a file.

        Raises:
            PublicationUnusable: It is missing, or cannot be read.
        """

    def size(self, name: str) -> int | None:
        """The size of a file in bytes; None if there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Write a file, or replace it, in one step."""

    def mark(self, name: str) -> Hashable:
        """A stamp that changes with the file."""


class FolderStorage:
    """A folder of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._swept: set[Path] = set()

    def read(self, name: str) -> bytes:
        try:
            return (self._folder / name).read_bytes()
        except OSError as error:
            raise _unreadable(name, error.strerror or "it cannot be read") from None

    def size(self, name: str) -> int | None:
        with suppress(OSError):
            return (self._folder / name).stat().st_size
        return None

    def write(self, name: str, content: bytes) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent not in self._swept:  # of temporary files that a killed publication left
            self._swept.add(path.parent)
            for left in path.parent.glob(f"{_TEMPORARY}*"):
                left.unlink(missing_ok=True)
        replace_file(path, content, _TEMPORARY, mode=0o666)

    def mark(self, name: str) -> Hashable:
        try:
            found = (self._folder / name).stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def __str__(self) -> str:
        return str(self._folder)


class BucketStorage:
    """A bucket by its URL, through fsspec."""

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
        try:
            return bytes(self._files.cat_file(f"{self._root}/{name}"))
        except Exception as error:  # noqa: BLE001 - each kind of bucket has its own
            raise _unreadable(name, type(error).__name__) from None

    def size(self, name: str) -> int | None:
        try:
            return int(self._files.info(f"{self._root}/{name}")["size"])
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        path = f"{self._root}/{name}"
        self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
        self._files.pipe_file(path, content)
        self._marks.pop(name, None)

    def mark(self, name: str) -> Hashable:
        """The content of the file, polled every 30 seconds: it is small, and a bucket may have no other stamp."""
        read, content = self._marks.get(name, (-inf, b""))
        if monotonic() - read > SECONDS_BETWEEN_LOOKS:
            self._files.invalidate_cache()
            read, content = monotonic(), self.read(name)
            self._marks[name] = read, content
        return content

    def __str__(self) -> str:
        return self._address


def open_storage(text: str) -> Storage:
    """The folder or the bucket that a path or URL names."""
    return BucketStorage(text) if _ADDRESS in text else FolderStorage(Path(text))


def _unreadable(name: str, why: str) -> PublicationUnusable:
    return PublicationUnusable(
        f"The file {name!r} of the publication cannot be read: {why}.",
        "Name the folder or bucket that `discreet publish --to` wrote, or publish again.",
    )
