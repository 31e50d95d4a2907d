"""Back up a workspace while it is served, and restore or move it.

    BACKUP/workspace/...     all files except the ledger and the server's, then the ledger
    BACKUP/backup.json       time, program, and the SHA-256 of every file, sealed by the secret

Versions never change once they are served, so they are copied as they are. SQLite copies the ledger last, as one snapshot,
so it has every charge of every version in the copy. A ledger on PostgreSQL is backed up by PostgreSQL.

A ledger only moves forward. A restore over a workspace keeps the ledger that has all charges of the other; if each has
charges that the other lacks, nothing is restored. If the secret was rotated after the backup, the ledger that stays is
chained again under the secret of the backup. The restored ledger must extend all checkpoints. After a restore into a new
folder, later charges are unknown, and the notes say so.
"""

import errno
import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from discreet import __version__
from discreet.errors import BadRequest, LedgerUnusable, NotFound, WorkspaceUnusable
from discreet.ledger.ledger import Ledger
from discreet.records.keys import Purpose, Secret, read_secret
from discreet.workspace.folder_layout import FOLDER as STATE
from discreet.workspace.folder_layout import dataset_folders, lock_dataset, refuse_no_workspace
from discreet.workspace.ledger_location import LEDGER, chain_key, ledger_location
from discreet.workspace.sealed import file_lock, fsync_path, fsync_tree, read_sealed, write_sealed
from discreet.workspace.versions.checkpoints import VersionCheckpoints

MANIFEST = "backup.json"
INSIDE = "workspace"
#: The tables that must never lose a row, and the columns that identify one.
_FORWARD = {
    "charges": "family, request, loss, failure",
    "lineages": "dataset, lineage, method, family",
    "versions": "dataset, version, records",
}


def back_up(folder: Path, to: Path) -> dict[str, Any]:
    """Copy a workspace into a new folder; returns the manifest.

    The copy gets its name once it is complete. What an interrupted backup to this name left is removed first.

    Raises:
        BadRequest: The folder exists, or is inside the workspace.
    """
    refuse_no_workspace(folder)
    secret = read_secret(folder / "secret")
    _refuse_inside(to, folder)
    with file_lock(folder / ".backup.lock"):
        _refuse_existing(to, "Choose a new folder for each backup.")
        with _temporary_copy(to.with_name(f".{to.name}-partial")) as copy:
            document = _write_backup(folder, copy, secret)
            copy.rename(to)
        fsync_path(to.parent)
    return document


@contextmanager
def _temporary_copy(copy: Path) -> Iterator[Path]:
    """A new private folder that is removed at the end, unless it was renamed; one of an interrupted command is replaced."""
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True, mode=0o700)
    try:
        yield copy
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _write_backup(folder: Path, copy: Path, secret: Secret) -> dict[str, Any]:
    inside = copy / INSIDE
    inside.mkdir(mode=0o700)
    _copy_files(folder, inside)
    own_ledger = isinstance(ledger_location(folder), Path)
    if own_ledger and (folder / LEDGER).is_file():
        _copy_ledger(folder / LEDGER, inside / LEDGER)
    document = {
        "at": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "program": f"discreet {__version__}",
        "ledger": "inside" if own_ledger else "elsewhere",
        "files": {name: _hash(path) for name, path in _files(inside).items()},
    }
    write_sealed(copy / MANIFEST, document, secret, Purpose.BACKUP, _seal_input(document), indent=1)
    fsync_tree(copy)
    return document


def restore(backup: Path, to: Path) -> list[str]:
    """Restore a backup, into a new folder or over a workspace; returns notes for the custodian.

    Raises:
        BadRequest: The workspace would be inside the backup.
        WorkspaceUnusable: A file is missing or was changed; nothing is restored.
        LedgerUnusable: Each ledger has charges that the other lacks; nothing is restored.
    """
    ready = to.with_name(f".{to.name}-restored")
    if ready.exists() and not to.exists():
        ready.rename(to)
        return ["An interrupted restore was completed. To restore another backup, run the command again."]
    _refuse_inside(to, backup)
    document = verify_backup(backup)
    notes = [f"The backup was made at {document['at']}."]
    shutil.rmtree(ready, ignore_errors=True)
    with _temporary_copy(to.with_name(f".{to.name}-restoring")) as copy:
        shutil.copytree(backup / INSIDE, copy, symlinks=True, dirs_exist_ok=True)
        notes += _restore_ledger(backup, to, copy, document["ledger"])
        fsync_tree(copy)
        copy.rename(ready)  # from here on an interrupted restore can be finished
    if to.exists():
        before = to.with_name(f"{to.name}.before-{datetime.now(UTC):%Y%m%dT%H%M%S%f}")
        to.rename(before)
        notes.append(f"The previous workspace is now {before.name!r}; delete it when you are sure.")
    ready.rename(to)
    fsync_path(to.parent)
    return notes


def _restore_ledger(backup: Path, to: Path, copy: Path, ledger_is: str) -> list[str]:
    """Give the copy of a backup the ledger that has all charges; returns notes for the custodian."""
    notes = []
    if _ledger_to_keep(backup / INSIDE / LEDGER, to / LEDGER) == "there":
        _copy_ledger(to / LEDGER, copy / LEDGER)
        if not _same_secret(copy, to):
            with closing(_open(copy / LEDGER, to)) as ledger:
                ledger.rekey(chain_key(read_secret(copy / "secret")))
        notes.append("The existing ledger has later charges than the backup and was kept.")
    elif (copy / LEDGER).is_file() and not (to / LEDGER).is_file():
        notes.append(
            "The ledger is that of the backup, and later charges are unknown. If tables were released after the "
            "backup, restore the newest ledger over this one before you serve."
        )
    if ledger_is == "elsewhere":
        if (to / "secret").is_file() and not _same_secret(backup / INSIDE, to):
            raise LedgerUnusable(
                "The secret was rotated after the backup, and the ledger in the database is protected by the new one.",
                "Restore a backup made after the rotation.",
            )
        notes.append("The ledger is in an external database and is not part of the backup.")
    return notes + (_lost_charges(copy, to) if (copy / LEDGER).is_file() else [])


def move(folder: Path, to: Path) -> None:
    """Move a workspace. To another disk it is copied and verified file by file, then the old one is removed.

    The old folder loses its name before the copy gets its own, so there are never two workspaces. The same command
    finishes a move that was interrupted there.

    Raises:
        BadRequest: The target exists, or is inside the workspace.
    """
    copy, old = to.with_name(f".{to.name}-moving"), folder.with_name(f".{folder.name}-moved")
    interrupted = not folder.exists() and copy.is_dir() and (old.is_dir() or to.is_dir())
    if not interrupted:
        refuse_no_workspace(folder)
        _refuse_inside(to, folder)
        _refuse_existing(to, "Choose a folder that does not exist yet.")
        to.parent.mkdir(parents=True, exist_ok=True)
        try:
            folder.rename(to)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
        else:
            return
        with _temporary_copy(to.with_name(f".{to.name}-partial")) as partial:
            _write_backup(folder, partial, read_secret(folder / "secret"))
            verify_backup(partial)
            if (folder / STATE).is_dir():
                shutil.copytree(folder / STATE, partial / INSIDE / STATE)
            shutil.rmtree(copy, ignore_errors=True)
            partial.rename(copy)
        folder.rename(old)
    if (copy / INSIDE).is_dir():
        (copy / INSIDE).rename(to)
        fsync_path(to.parent)
    for left in (old, copy):
        shutil.rmtree(left, ignore_errors=True)


def _refuse_existing(to: Path, advice: str) -> None:
    if to.exists():
        raise BadRequest(f"{str(to)!r} exists already.", advice)


def _refuse_inside(to: Path, folder: Path) -> None:
    if to.resolve().is_relative_to(folder.resolve()) and to.resolve() != folder.resolve():
        raise BadRequest(f"{str(to)!r} lies in {str(folder)!r}.", "Choose a folder outside it.")


def _copy_files(folder: Path, inside: Path) -> None:
    """Copy all files except the ledger; no load of a dataset runs while it is copied."""
    ignore = shutil.ignore_patterns(".*", "*.lock", "*-wal", "*-shm", "*-journal", LEDGER, STATE)
    (inside / "datasets").mkdir()
    for home in dataset_folders(folder):
        with lock_dataset(home):
            shutil.copytree(home, inside / "datasets" / home.name, ignore=ignore)
    names = {entry.name for entry in folder.iterdir()}
    for entry in (folder / name for name in names - ignore("", list(names)) - {"datasets"}):
        if entry.is_dir():
            shutil.copytree(entry, inside / entry.name, ignore=ignore)
        else:
            shutil.copy2(entry, inside / entry.name)


def _copy_ledger(source: Path, target: Path) -> None:
    target.unlink(missing_ok=True)
    target.touch(mode=0o600)
    with closing(sqlite3.connect(source)) as open_source, closing(sqlite3.connect(target)) as open_target:
        open_source.backup(open_target)


def _files(inside: Path) -> dict[str, Path]:
    return {path.relative_to(inside).as_posix(): path for path in sorted(inside.rglob("*")) if path.is_file()}


def verify_backup(backup: Path) -> dict[str, Any]:
    """Compare every file of a backup with its manifest; returns the manifest."""
    try:
        is_manifest = "seal" in json.loads((backup / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError, TypeError):
        is_manifest = False
    if not is_manifest:
        raise NotFound(f"{str(backup)!r} is not a backup.", "Choose a folder written by `discreet backup`.")
    secret = read_secret(backup / INSIDE / "secret")
    error = WorkspaceUnusable("The manifest of the backup was changed.", "Use another backup.")
    document = read_sealed(backup / MANIFEST, secret, Purpose.BACKUP, _seal_input, error) or {}
    found = _files(backup / INSIDE)
    for name in sorted({*found, *document["files"]}):
        if name not in found or document["files"].get(name) != _hash(found[name]):
            raise WorkspaceUnusable(
                f"{name!r} of the backup is missing, changed, or was not part of it.", "Use another backup."
            )
    return document


def _ledger_to_keep(copied: Path, there: Path) -> str:
    """Which ledger has all charges: `backup`, or `there` for the one in the workspace."""
    if not there.is_file():
        return "backup"
    if not copied.is_file():
        return "there"
    old, new = _ledger_rows(copied, "immutable=1"), _ledger_rows(there, "mode=ro")
    if old <= new:
        return "there"
    if new < old:
        return "backup"
    raise LedgerUnusable(
        "The ledgers of the backup and of the workspace each have charges that the other lacks.",
        "One belongs to another workspace, or both copies were served. Keep both, and find out who served "
        "them.",
    )


def _open(ledger: Path, folder: Path) -> Ledger:
    secret = read_secret(folder / "secret")
    return Ledger.open(ledger, chain_key(secret), VersionCheckpoints(folder, secret))


def _same_secret(folder: Path, other: Path) -> bool:
    files = folder / "secret", other / "secret"
    return all(map(Path.is_file, files)) and len({chain_key(read_secret(file)) for file in files}) == 1


def _lost_charges(aside: Path, there: Path) -> list[str]:
    """Open the restored ledger; a note if the former checkpoints name charges that it lacks."""
    with closing(_open(aside / LEDGER, aside)) as ledger:  # it must extend the checkpoints in it
        if _same_secret(aside, there):
            former = VersionCheckpoints(there, read_secret(there / "secret"))
            try:
                ledger.with_checkpoints(former).check_checkpoints()
            except LedgerUnusable as error:
                return [f"{error.message} Those charges are lost: count them as spent."]
    return []


def _ledger_rows(ledger: Path, how: str) -> set[tuple[Any, ...]]:
    """The rows that a ledger must never lose. With `immutable=1` SQLite leaves no files next to the one it reads."""
    try:
        with closing(sqlite3.connect(f"{ledger.resolve().as_uri()}?{how}", uri=True)) as opened:
            return {
                (table, *row)
                for table, columns in _FORWARD.items()
                for row in opened.execute(f"SELECT {columns} FROM {table}")  # noqa: S608 - our own names
            }
    except sqlite3.DatabaseError:
        raise LedgerUnusable(
            f"The ledger {ledger.name!r} cannot be read.", "Use another copy of it."
        ) from None


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _seal_input(document: dict[str, Any]) -> tuple[str]:
    return (json.dumps(document, sort_keys=True),)
