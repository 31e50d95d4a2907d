"""The folders of a workspace: its schema number, dataset folders, versions by name, and the lock of a dataset.

    workspace.json   {"schema": 1}, written by a load

A workspace without the file is older than schema numbers and has schema 1. A newer schema than this program's is refused.

Source: docs/decisions/0007-versions.md.

The folder in which a server writes; not part of the workspace, and in no backup.

    <workspace>/server/log/            the audit log (`web/audit/log.py`)
    <workspace>/server/shared.sqlite   rate limits and blocks, shared by all processes (`web/auth/rate_limit.py`)
    <workspace>/server/alerts.jsonl    alerts of the detectors

The option `state` names another folder, for a workspace that the server may only read.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from discreet.errors import NotFound, UnknownDataset, UnknownVersion, WorkspaceUnusable
from discreet.model.messages.text import nearest
from discreet.records.engine import forget_records
from discreet.records.keys import Purpose, create_secret, read_secret
from discreet.workspace.options import read_options
from discreet.workspace.sealed import replace_file
from discreet.workspace.versions.history import SHORT, VersionFacts, version_facts
from discreet.workspace.versions.version import current_digest

SCHEMA_FILE = "workspace.json"
SCHEMA = 1
#: Holds what a rotation of the secret replaces, until it has ended (`operate/rotate.py`).
RETIRING = "retiring"


def refuse_newer_workspace(folder: Path) -> None:
    """Refuse a workspace that this program cannot read, or whose secret is being rotated.

    Raises:
        WorkspaceUnusable: Its schema is newer or cannot be read, or a rotation did not finish.
    """
    refuse_rotating(folder)
    try:
        schema = int(json.loads((folder / SCHEMA_FILE).read_text("utf-8"))["schema"])
    except FileNotFoundError:
        return
    except (OSError, ValueError, TypeError, KeyError):
        raise WorkspaceUnusable(
            f"The schema of the workspace ({SCHEMA_FILE}) cannot be read.",
            "Restore the file from your backup.",
        ) from None
    if schema > SCHEMA:
        raise WorkspaceUnusable(
            f"The workspace has schema {schema}, and this version of Discreet knows schemas up to {SCHEMA}.",
            "Use the newer version of Discreet that wrote it.",
        )


def refuse_rotating(folder: Path) -> None:
    """Refuse a workspace between two secrets.

    Raises:
        WorkspaceUnusable: A rotation is under way, or did not finish.
    """
    if (folder / RETIRING).exists():
        raise WorkspaceUnusable(
            "The secret of the workspace is being rotated, or that was broken off.",
            "Wait for `discreet secret rotate`, or run it again: it finishes what was begun.",
        )


def write_schema(folder: Path) -> None:
    """Write the schema into a workspace that has none yet."""
    if not (folder / SCHEMA_FILE).exists():
        replace_file(folder / SCHEMA_FILE, json.dumps({"schema": SCHEMA}) + "\n", f".{SCHEMA_FILE}-")


def refuse_no_workspace(folder: Path) -> None:
    """Refuse a folder that is no workspace.

    Raises:
        NotFound: There is no workspace.
        WorkspaceUnusable: It is between two secrets.
    """
    refuse_rotating(folder)
    if not (folder / "datasets").is_dir():
        raise NotFound(f"{str(folder)!r} is not a workspace.", "Name one with --workspace.")


def dataset_folders(folder: Path) -> list[Path]:
    """The folders of all datasets that were ever loaded."""
    refuse_no_workspace(folder)
    return sorted(home for home in (folder / "datasets").iterdir() if home.is_dir())


def dataset_folder(folder: Path, dataset_id: str) -> Path:
    """The folder of a dataset.

    Raises:
        UnknownDataset: With the nearest match.
    """
    known = {home.name: home for home in dataset_folders(folder)}
    if dataset_id not in known:
        raise UnknownDataset(f'There is no dataset "{dataset_id}".', nearest(dataset_id, list(known)))
    return known[dataset_id]


def list_versions(home: Path) -> tuple[VersionFacts, ...]:
    """The versions of a dataset, the newest last."""
    return version_facts(home, current_digest(home), read_secret(home.parents[1] / "secret"))


def find_version(home: Path, word: str) -> VersionFacts:
    """The version that a custodian means, open or closed.

    Args:
        home: The folder of the dataset.
        word: The first 8 or more letters of a digest, or the version's name in its description.

    Raises:
        UnknownVersion: None matches, or several do.
    """
    versions = list_versions(home)
    found = [v for v in versions if v.digest.startswith(word) and len(word) >= SHORT]
    found = found or [v for v in versions if v.version == word]
    known = [v.digest[:SHORT] for v in versions]
    if not found:
        raise UnknownVersion(f'There is no version "{word}".', nearest(word, known))
    if len(found) > 1:
        raise UnknownVersion(
            f'{len(found)} versions are called "{word}".', f"Name one of {', '.join(known)}."
        )
    return found[0]


@contextmanager
def lock_dataset(home: Path) -> Iterator[None]:
    """Hold the lock of a dataset, so that no load runs."""
    with FileLock(home / ".lock"):
        yield


def folder_size(folder: Path) -> int:
    """The bytes below a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def delete_version_folder(folder: Path) -> None:
    """Delete a version: the folder is renamed first, so that no reader sees half of it."""
    aside = folder.with_name(f".loading-{folder.name}")  # a later load deletes it if this process dies
    folder.rename(aside)
    forget_records(aside)
    shutil.rmtree(aside)


FOLDER = "server"
#: The secret of a server that serves a publication, which has none.
OWN_SECRET = "secret"  # noqa: S105 - the name of a file


def state_folder(folder: Path) -> Path:
    """The folder in which the server of a workspace writes."""
    named = read_options(folder).state
    return Path(named) if named else folder / FOLDER


def standalone_log_key(state: Path) -> bytes:
    """The log key of a server without a workspace; created once, next to the log."""
    create_secret(state / OWN_SECRET)
    return read_secret(state / OWN_SECRET).derive(Purpose.AUDIT_LOG)


def log_key(folder: Path) -> bytes:
    """The key that seals the audit log and hashes IP addresses in it.

    Raises:
        SecretUnusable: The workspace has no secret that can be used.
    """
    return read_secret(folder / "secret").derive(Purpose.AUDIT_LOG)
