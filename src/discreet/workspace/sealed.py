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
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from discreet.errors import DiscreetError, LedgerUnusable, WorkspaceUnusable
from discreet.records.keys import Purpose, Secret

if TYPE_CHECKING:
    from filelock import FileLock

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
    """Flush every file and folder below a folder to disk; only their owner can read them."""
    for path in [*folder.rglob("*"), folder]:
        path.chmod(0o700 if path.is_dir() else 0o600)
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
    path: Path,
    content: str | bytes,
    temporary: str = ".writing-",
    folder: Path | None = None,
    mode: int = 0o600,
) -> None:
    """Replace a file in one step, and return when it is on disk.

    Args:
        path: The file.
        content: Bytes, or text that is written in UTF-8.
        temporary: How the name of the temporary file begins.
        folder: The folder of the temporary file, on the same disk; by default the file's own.
        mode: The permissions, less those that the umask takes away.
    """
    aside = (folder or path.parent) / f"{temporary}{secrets.token_hex(8)}"
    try:
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    fsync_path(path.parent)


def write_sealed(
    path: Path,
    document: Mapping[str, Any],
    secret: Secret,
    purpose: Purpose,
    sealed: tuple[str, ...],
    *,
    temporary: str = ".writing-",
    folder: Path | None = None,
    indent: int | None = None,
) -> None:
    """Replace a JSON document in one step, with its seal: a keyed hash of the purpose and the sealed strings."""
    text = json.dumps({**document, "seal": secret.derive(purpose, *sealed).hex()}, indent=indent)
    replace_file(path, text + "\n", temporary, folder)


def read_sealed(
    path: Path,
    secret: Secret,
    purpose: Purpose,
    sealed: Callable[[dict[str, Any]], tuple[str, ...]],
    error: DiscreetError,
) -> dict[str, Any] | None:
    """Parse a document and validate its seal; None if there is no file.

    Args:
        path: The file.
        secret: The workspace's.
        purpose: As for `write_sealed`.
        sealed: From the document without its seal to the strings that were sealed.
        error: Raised if the document cannot be parsed or was changed.
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
    raise error


def load_again(message: str) -> WorkspaceUnusable:
    """The error for a version that only a new load can repair."""
    return WorkspaceUnusable(message, "Load the dataset again.")


def file_lock(path: Path) -> FileLock:
    """A lock between processes and hosts, to be held by `with`."""
    from filelock import FileLock  # noqa: PLC0415 - a table starts faster without it

    return FileLock(path, mode=0o600)


def try_lock(path: Path) -> FileLock | None:
    """Take a file lock and keep it; None if another process holds it."""
    from filelock import Timeout  # noqa: PLC0415

    lock = file_lock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock


def is_full_disk(error: OSError) -> bool:
    """Whether an error is that of a full disk; a copied folder reports its errors as text."""
    if isinstance(error, shutil.Error) and error.args and isinstance(error.args[0], list):
        return any(f"[Errno {number}]" in str(why) for *_, why in error.args[0] for number in FULL)
    return error.errno in FULL


@contextmanager
def report_full_disk(dataset_id: str, folder: Path) -> Iterator[None]:
    """Turn the errors of a full disk into one message for the custodian."""
    try:
        yield
    except (OSError, LedgerUnusable) as error:
        # On a full disk SQLite cannot even read its ledger, and does not say why.
        cause = error if isinstance(error, OSError) else error.__context__
        full = (
            is_full_disk(cause) if isinstance(cause, OSError) else shutil.disk_usage(folder).free < LEAST_FREE
        )
        if not full:
            raise
        raise WorkspaceUnusable(
            f'The disk is full: the load of "{dataset_id}" was stopped. The version before is still served.',
            "Free space on the disk of the workspace, then load again.",
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
    """Parse the seal that was written at load; refused if it is missing or damaged."""
    try:
        found = json.loads((folder / RECORDS_SEAL).read_text("utf-8"))
        return RecordsSeal(MappingProxyType({name: FileSeal(**value) for name, value in found.items()}))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        if isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}:
            raise  # too many open files says nothing about the seal
        raise load_again(f"The checksums of version {folder.name[:8]} cannot be read.") from None


def refuse_foreign_files(folder: Path, seal: RecordsSeal, own: frozenset[str], secret: Secret) -> None:
    """Validate names, sizes and both ends of the files of a version, at constant cost.

    Record files may be missing where there are cubes, which can still answer. `own` names the version's other files.

    Raises:
        WorkspaceUnusable: There is an unknown file, or a record file was changed.
    """
    sizes, key = _file_sizes(folder), _records_key(secret, folder.name)
    for name in sorted(sizes.keys() - own - seal.files.keys()):
        raise WorkspaceUnusable(
            f'Version {folder.name[:8]} of "{folder.parent.name}" contains a file that its load did not write: '
            f"{name!r}.",
            "Delete the file, or load the dataset again.",
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
    """Read all record files and validate their checksums; refused if they were changed, or cannot be read."""
    key = _records_key(secret, folder.name)
    try:
        intact = all(whole_hash(folder / name, key, pace) == file.whole for name, file in seal.files.items())
    except OSError:
        intact = False
    if not intact:
        raise records_changed_error(folder)


def records_changed_error(folder: Path) -> WorkspaceUnusable:
    """The error for a version whose stored records differ from those of its load."""
    return load_again(
        f'The stored records of version {folder.name[:8]} of "{folder.parent.name}" have changed since their '
        "load."
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
