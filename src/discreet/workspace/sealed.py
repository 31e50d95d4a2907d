"""Files that survive a crash and cannot be changed unnoticed: atomic writes, sealed documents, sealed record files.

    replace_file                  temporary file, fsync, rename: a reader sees the old content or the new one
    write_sealed, read_sealed     a JSON document with a "seal": a keyed hash (MAC) under the workspace's secret
    records.seal                  {"data.duckdb": {"size", "ends", "whole"}}: keyed hashes of a version's record files

`ends` is BLAKE2b of the first and last 64 KiB and is compared whenever a version is opened, at constant cost. `whole` is
BLAKE2b of all bytes, compared at load, by `discreet verify` and by `serve` in the background. Cubes have a sealed list of
their own (`versions/version_engine.py`): they can answer while the records are missing.

Source: docs/decisions/0008-sealed-records.md.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import disk_usage
from types import MappingProxyType
from typing import Any

from filelock import FileLock, Timeout

from discreet.errors import LedgerUnusable, WorkspaceUnusable
from discreet.records.keys import Purpose, Secret

#: Called with the number of bytes after each chunk; it may wait to limit the rate.
Pace = Callable[[int], None]

#: SQLite can neither read nor write with less free space.
LEAST_FREE = 2**20
#: Errors of a write on a full disk: no space, quota, limit on file size.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
RECORDS_SEAL = "records.seal"
#: The folder of a version's cubes, which the seal of the records leaves out.
CUBES = "cubes"
END = 64 * 1024
CHUNK = 1024 * 1024


def make_private_folder(folder: Path) -> None:
    """Create a folder with mode 0700, or set it on an existing one; shared folders such as `/tmp` keep their mode."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not folder.stat().st_mode & stat.S_ISVTX:
        with suppress(PermissionError):
            folder.chmod(0o700)


def fsync_tree(folder: Path) -> None:
    """Flush every file and folder below a folder to disk."""
    for path in [*folder.rglob("*"), folder]:
        fsync_path(path)


def fsync_path(path: Path) -> None:
    """Flush a file, or the names in a folder after a rename, to disk."""
    if os.name != "posix" and path.is_dir():
        return  # a folder cannot be opened there
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_file(
    path: Path, content: str | bytes, temporary: str = ".writing-", folder: Path | None = None
) -> None:
    """Replace a file in one step, and return when it is on disk.

    Args:
        path: The file.
        content: Bytes, or text that is written in UTF-8.
        temporary: How the name of the temporary file begins.
        folder: The folder of the temporary file, on the same disk; by default the file's own.
    """
    aside = (folder or path.parent) / f"{temporary}{secrets.token_hex(8)}"
    try:
        aside.write_bytes(content.encode() if isinstance(content, str) else content)
        fsync_path(aside)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    fsync_path(path.parent)


class BadSeal(Exception):
    """A sealed document cannot be read, or its seal does not fit."""


def add_seal(document: Mapping[str, Any], secret: Secret, purpose: Purpose, *sealed: str) -> dict[str, Any]:
    """The document with its seal: a keyed hash of the purpose and the sealed strings."""
    return {**document, "seal": secret.derive(purpose, *sealed).hex()}


def read_sealed(
    path: Path, secret: Secret, purpose: Purpose, sealed: Callable[[dict[str, Any]], tuple[str, ...]]
) -> dict[str, Any] | None:
    """Parse a document and validate its seal; None if there is no file.

    Args:
        path: The file.
        secret: The workspace's.
        purpose: As for `add_seal`.
        sealed: From the document without its seal to the strings that were sealed.

    Raises:
        BadSeal: The document is damaged or was changed.
    """
    try:
        document: dict[str, Any] = json.loads(path.read_text("utf-8"))
        seal = document.pop("seal")
        if seal == secret.derive(purpose, *sealed(document)).hex():
            return document
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        pass
    raise BadSeal


def try_lock(path: Path) -> FileLock | None:
    """Take a file lock and keep it; None if another process holds it."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock


@contextmanager
def report_full_disk(dataset_id: str, folder: Path) -> Iterator[None]:
    """Turn the errors of a full disk into one message for the custodian.

    Raises:
        WorkspaceUnusable: The disk is full.
    """
    try:
        yield
    except (OSError, LedgerUnusable) as error:
        # On a full disk SQLite cannot even read its ledger, and does not say why.
        cause = error if isinstance(error, OSError) else error.__context__
        full = cause.errno in FULL if isinstance(cause, OSError) else disk_usage(folder).free < LEAST_FREE
        if not full:
            raise
        raise WorkspaceUnusable(
            f'The disk is full: the load of "{dataset_id}" was given up, and what was served before is still served.',
            "Make room on the disk of the workspace, and load again.",
        ) from None


@dataclass(frozen=True, slots=True)
class FileSeal:
    """Size and keyed hashes of one file."""

    size: int
    ends: str
    whole: str


@dataclass(frozen=True, slots=True)
class RecordsSeal:
    """The seals of all files that an engine left in a version's folder, by relative path."""

    files: Mapping[str, FileSeal]

    @property
    def text(self) -> str:
        """The content of `records.seal`, which `secret.check` covers."""
        return json.dumps({name: asdict(self.files[name]) for name in sorted(self.files)}, indent=1) + "\n"


def seal_records(folder: Path, secret: Secret, digest: str) -> RecordsSeal:
    """Seal all files of a folder that only an engine has written to so far."""
    key = _records_key(secret, digest)
    files = {
        name: FileSeal(size, _ends_hash(folder / name, size, key), whole_hash(folder / name, key))
        for name, size in _file_sizes(folder).items()
    }
    return RecordsSeal(MappingProxyType(files))


def read_records_seal(folder: Path) -> RecordsSeal:
    """The seal that was written at load.

    Raises:
        WorkspaceUnusable: It is missing or cannot be parsed.
    """
    try:
        found = json.loads((folder / RECORDS_SEAL).read_text("utf-8"))
        return RecordsSeal(MappingProxyType({name: FileSeal(**value) for name, value in found.items()}))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        if isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}:
            raise  # too many open files says nothing about the seal
        raise WorkspaceUnusable(
            f"The seal of the records of version {folder.name[:8]} cannot be read.", "Load the dataset again."
        ) from None


def refuse_foreign_files(folder: Path, seal: RecordsSeal, own: frozenset[str], secret: Secret) -> None:
    """Validate names, sizes and both ends of the files of a version, at constant cost.

    Record files may be missing where there are cubes, which can still answer.

    Args:
        folder: The version's.
        seal: Of its records.
        own: The names of the version's other files.
        secret: The workspace's.

    Raises:
        WorkspaceUnusable: There is an unknown file, or a record file was changed.
    """
    sizes, key = _file_sizes(folder), _records_key(secret, folder.name)
    for name in sorted(sizes.keys() - own - seal.files.keys()):
        raise WorkspaceUnusable(
            f'Version {folder.name[:8]} of "{folder.parent.name}" has a file that was not there at its load: {name!r}.',
            "Remove the file, or load the dataset again.",
        )
    missing = records_missing(folder, seal) and (folder / CUBES).is_dir()
    for name, file in seal.files.items():
        if missing and name not in sizes:
            continue
        if sizes.get(name) != file.size or _ends_hash(folder / name, file.size, key) != file.ends:
            raise records_changed_error(folder)


def records_missing(folder: Path, seal: RecordsSeal) -> bool:
    """Whether a record file is missing; the others must not be read without it."""
    return not all((folder / name).is_file() for name in seal.files)


def verify_records(folder: Path, seal: RecordsSeal, secret: Secret, pace: Pace = lambda _bytes: None) -> None:
    """Read all record files and compare them with their seal.

    Raises:
        WorkspaceUnusable: They were changed since the load, or cannot be read.
    """
    key = _records_key(secret, folder.name)
    try:
        intact = all(whole_hash(folder / name, key, pace) == file.whole for name, file in seal.files.items())
    except OSError:
        intact = False
    if not intact:
        raise records_changed_error(folder)


def records_changed_error(folder: Path) -> WorkspaceUnusable:
    """The error for a version whose stored records differ from those of its load."""
    return WorkspaceUnusable(
        f'The stored records of version {folder.name[:8]} of "{folder.parent.name}" are not those of its load.',
        "Load the dataset again.",
    )


def _records_key(secret: Secret, digest: str) -> bytes:
    return secret.derive(Purpose.RECORDS_HASH, digest)


def _file_sizes(folder: Path) -> dict[str, int]:
    """Sizes by relative path, without the cubes; -1 for a link or a device, which no seal allows."""
    found = {}
    for path in folder.rglob("*"):
        status, relative = path.lstat(), path.relative_to(folder)
        if relative.parts[0] != CUBES and not stat.S_ISDIR(status.st_mode):
            found[relative.as_posix()] = status.st_size if stat.S_ISREG(status.st_mode) else -1
    return found


def _ends_hash(path: Path, size: int, key: bytes) -> str:
    found = _hash(key)
    with path.open("rb") as file:
        found.update(file.read(END))
        file.seek(max(size - END, 0), os.SEEK_SET)
        found.update(file.read(END))
    return found.hexdigest()


def whole_hash(path: Path, key: bytes, pace: Pace = lambda _bytes: None) -> str:
    """The keyed hash of all bytes of a file."""
    found = _hash(key)
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            found.update(chunk)
            pace(len(chunk))
    return found.hexdigest()


def _hash(key: bytes) -> hashlib.blake2b:
    return hashlib.blake2b(key=key, digest_size=32, person=b"discreet-stored")
