"""What a load asks of the disk: to keep a version before it is served, and to say so when it is full.

A server asks it for folders of its own.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager, suppress
from shutil import disk_usage
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from discreet.errors import LedgerUnusable, WorkspaceUnusable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: With fewer bytes free a ledger can neither be read nor written.
LEAST_FREE = 2**20
#: What a write meets on a full disk: no space, no quota, a limit on the size of files.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def make_own(folder: Path) -> None:
    """Make a folder for its owner alone, also one that is there; not one of many people (`/tmp`), or of somebody else."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not folder.stat().st_mode & stat.S_ISVTX:
        with suppress(PermissionError):
            folder.chmod(0o700)


def keep(folder: Path) -> None:
    """Wait until everything below a folder is on disk, names included."""
    for path in [*folder.rglob("*"), folder]:
        _sync(path)


def keep_names(folder: Path) -> None:
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


def held_alone(path: Path) -> FileLock | None:
    """A lock that this process holds from now on; None where another one holds it."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    return lock


@contextmanager
def full_disk_told(dataset_id: str, folder: Path) -> Iterator[None]:
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
