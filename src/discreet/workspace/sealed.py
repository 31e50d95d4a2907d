"""What a load asks of the disk: to keep a version before it is served, and to say so when it is full.

A server asks it for folders of its own.

The seal of a version's stored records: which files an engine left in its folder, and their keyed hashes.

    records.seal   {"data.duckdb": {"size": ..., "ends": ..., "whole": ...}}, itself sealed by `secret.check`
    ends           BLAKE2b of the first and the last 64 KiB; compared whenever a version is opened, at constant cost
    whole          BLAKE2b of all bytes; compared at load, by `discreet verify` and by `serve` in the background

Both are keyed by the secret and the version's name. All tables in a file are covered: records and whatever stands beside
them. A database that is written to gets another head, so that an honest change is seen at once; whoever changes single bytes
in the middle is found by the whole hash. Cubes have seals of their own (`cube_files.py`): a version can be answered from
them while its records are away.

Source: docs/decisions/0008-sealed-records.md.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from shutil import disk_usage
from types import MappingProxyType

from filelock import FileLock, Timeout

from discreet.errors import LedgerUnusable, WorkspaceUnusable
from discreet.records.keys import Purpose, Secret

#: With fewer bytes free a ledger can neither be read nor written.
LEAST_FREE = 2**20
#: What a write meets on a full disk: no space, no quota, a limit on the size of files.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def make_private_folder(folder: Path) -> None:
    """Make a folder for its owner alone, also one that is there; not one of many people (`/tmp`), or of somebody else."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not folder.stat().st_mode & stat.S_ISVTX:
        with suppress(PermissionError):
            folder.chmod(0o700)


def fsync_tree(folder: Path) -> None:
    """Wait until everything below a folder is on disk, names included."""
    for path in [*folder.rglob("*"), folder]:
        _sync(path)


def fsync_path(folder: Path) -> None:
    """Wait until the names in a folder are on disk, after a rename."""
    _sync(folder)


def _sync(path: Path) -> None:
    if os.name != "posix" and path.is_dir():
        return  # a folder cannot be opened there
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def try_lock(path: Path) -> FileLock | None:
    """A lock that this process holds from now on; None where another one holds it."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock


@contextmanager
def report_full_disk(dataset_id: str, folder: Path) -> Iterator[None]:
    """Turn a full disk into a sentence that says what is served now, and what to do.

    Raises:
        WorkspaceUnusable: The disk is full.
    """
    try:
        yield
    except (OSError, LedgerUnusable) as error:
        # SQLite cannot even read its ledger on a full disk, and does not say why.
        cause = error if isinstance(error, OSError) else error.__context__
        full = cause.errno in FULL if isinstance(cause, OSError) else disk_usage(folder).free < LEAST_FREE
        if not full:
            raise
        raise WorkspaceUnusable(
            f'The disk is full: the load of "{dataset_id}" was given up, and what was served before is still served.',
            "Make room on the disk of the workspace, and load again.",
        ) from None


#: Told how many bytes were read; it may wait.
Pace = Callable[[int], None]

RECORDS_SEAL = "records.seal"
#: The folder of a version's cubes, which have a list and seals of their own (`cube_files.py`).
CUBES = "cubes"
END = 64 * 1024
CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class FileSeal:
    """One file: its size, the keyed hash of both ends, and of the whole."""

    size: int
    ends: str
    whole: str


@dataclass(frozen=True, slots=True)
class RecordsSeal:
    """All files that an engine left in a version's folder; none where it keeps the records elsewhere.

    Args:
        files: By name, relative to the folder.
    """

    files: Mapping[str, FileSeal]

    @property
    def text(self) -> str:
        """What is stored and sealed."""
        return json.dumps({name: asdict(self.files[name]) for name in sorted(self.files)}, indent=1) + "\n"


def seal_records(folder: Path, secret: Secret, digest: str) -> RecordsSeal:
    """Seal everything that stands in a folder: nothing but an engine has written to it yet."""
    key = _records_key(secret, digest)
    files = {
        name: FileSeal(size, _ends_hash(folder / name, size, key), whole_hash(folder / name, key))
        for name, size in _file_sizes(folder).items()
    }
    return RecordsSeal(MappingProxyType(files))


def read_records_seal(folder: Path) -> RecordsSeal:
    """The seal that was written at load.

    Raises:
        WorkspaceUnusable: It is missing or cannot be read.
    """
    try:
        found = json.loads((folder / RECORDS_SEAL).read_text("utf-8"))
        return RecordsSeal(MappingProxyType({name: FileSeal(**value) for name, value in found.items()}))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        if isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}:
            raise  # too many open files: nothing is known of the seal
        raise WorkspaceUnusable(
            f"The seal of the records of version {folder.name[:8]} cannot be read.", "Load the dataset again."
        ) from None


def refuse_foreign_files(folder: Path, seal: RecordsSeal, own: frozenset[str], secret: Secret) -> None:
    """Refuse a folder with a file too many, or with records of another size, beginning or end. The cost is constant.

    Args:
        folder: The version's.
        seal: Of its records.
        own: The names of the version's other files.
        secret: The workspace's.

    Where there are cubes, records may be away: what cubes cover is answered still.

    Raises:
        WorkspaceUnusable: The records are not those of the load.
    """
    sizes, key = _file_sizes(folder), _records_key(secret, folder.name)
    for name in sorted(sizes.keys() - own - seal.files.keys()):
        raise WorkspaceUnusable(
            f'Version {folder.name[:8]} of "{folder.parent.name}" has a file that was not there at its load: {name!r}.',
            "Remove the file, or load the dataset again.",
        )
    away = records_missing(folder, seal) and (folder / CUBES).is_dir()
    for name, file in seal.files.items():
        if away and name not in sizes:
            continue
        if sizes.get(name) != file.size or _ends_hash(folder / name, file.size, key) != file.ends:
            raise records_changed_error(folder)


def records_missing(folder: Path, seal: RecordsSeal) -> bool:
    """Whether a file with records is gone; the others must not be read without it."""
    return not all((folder / name).is_file() for name in seal.files)


def verify_records(folder: Path, seal: RecordsSeal, secret: Secret, pace: Pace = lambda _bytes: None) -> None:
    """Read all stored records and compare their keyed hash with the seal.

    Args:
        folder: The version's.
        seal: Of its records.
        secret: The workspace's.
        pace: Called after every chunk that was read.

    Raises:
        WorkspaceUnusable: They are not those of the load, or cannot be read.
    """
    key = _records_key(secret, folder.name)
    try:
        sound = all(whole_hash(folder / name, key, pace) == file.whole for name, file in seal.files.items())
    except OSError:
        sound = False
    if not sound:
        raise records_changed_error(folder)


def records_changed_error(folder: Path) -> WorkspaceUnusable:
    """What is said of a version whose stored records are not those of its load."""
    return WorkspaceUnusable(
        f'The stored records of version {folder.name[:8]} of "{folder.parent.name}" are not those of its load.',
        "Load the dataset again.",
    )


def _records_key(secret: Secret, digest: str) -> bytes:
    return secret.derive(Purpose.RECORDS_HASH, digest)


def _file_sizes(folder: Path) -> dict[str, int]:
    """Every file below a folder but its cubes, and its size; a link or a device is as foreign as a file too many."""
    found = {}
    for path in folder.rglob("*"):
        status = path.lstat()
        if path.relative_to(folder).parts[0] == CUBES:
            continue
        if not stat.S_ISDIR(status.st_mode):
            regular = stat.S_ISREG(status.st_mode)
            found[path.relative_to(folder).as_posix()] = status.st_size if regular else -1
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
