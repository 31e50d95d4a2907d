"""The schema of a workspace: how its folders and files are laid out, by number.

    workspace.json   {"schema": 1}, written by a load

A workspace without the file was made before schemas had numbers and has schema 1. Opening one changes nothing. A newer
schema than this program knows is refused: what it cannot read in full it must not answer from.

Source: docs/decisions/0007-versions.md.

Where the things of a workspace stand, for those who keep it: homes, versions, one lock a dataset.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from discreet.errors import NotFound, UnknownDataset, UnknownVersion, WorkspaceUnusable
from discreet.model.messages.text import nearest
from discreet.records.engine import forget_records
from discreet.records.keys import read_secret
from discreet.workspace.versions.history import SHORT, VersionFacts, version_facts
from discreet.workspace.versions.version_conflicts import current_digest

SCHEMA_FILE = "workspace.json"
SCHEMA = 1
#: Where a rotation of the secret puts what it replaces, until it has ended (`upkeep/rotation.py`).
RETIRING = "retiring"


def refuse_newer_workspace(folder: Path) -> None:
    """Refuse a workspace that this program does not know how to read, or whose secret is being rotated.

    Raises:
        WorkspaceUnusable: Its schema is newer, or cannot be read; a rotation was broken off.
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
        WorkspaceUnusable: A rotation is under way, or was broken off.
    """
    if (folder / RETIRING).exists():
        raise WorkspaceUnusable(
            "The secret of the workspace is being rotated, or that was broken off.",
            "Wait for `discreet secret rotate`, or run it again: it finishes what was begun.",
        )


def write_schema(folder: Path) -> None:
    """Write the schema into a workspace that does not say it yet, in one step."""
    if not (folder / SCHEMA_FILE).exists():
        written = folder / f".{SCHEMA_FILE}-{secrets.token_hex(8)}"
        written.write_text(json.dumps({"schema": SCHEMA}) + "\n", "utf-8")
        written.replace(folder / SCHEMA_FILE)


def refuse_no_workspace(folder: Path) -> None:
    """Refuse a folder that is none.

    Raises:
        NotFound: There is no workspace there.
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
    """The version that a custodian means: the beginning of its digest, or its name; open or closed.

    Raises:
        UnknownVersion: There is none, or there are several of that name.
    """
    versions = list_versions(home)
    found = [v for v in versions if v.digest.startswith(word) and len(word) >= SHORT]
    found = found or [v for v in versions if v.version == word]
    if len(found) != 1:
        known = [v.digest[:SHORT] for v in versions]
        said = (
            f'There is no version "{word}".' if not found else f'{len(found)} versions are called "{word}".'
        )
        raise UnknownVersion(said, nearest(word, known) if not found else f"Name one of {', '.join(known)}.")
    return found[0]


@contextmanager
def lock_dataset(home: Path) -> Iterator[None]:
    """No load of the dataset at the same time."""
    with FileLock(home / ".lock"):
        yield


def folder_size(folder: Path) -> int:
    """The bytes below a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def delete_version_folder(folder: Path) -> None:
    """Remove the folder of a version: it is renamed first, so that no reader sees half of it."""
    aside = folder.with_name(f".loading-{folder.name}")  # what a load sweeps if we die here
    folder.rename(aside)
    forget_records(aside)
    shutil.rmtree(aside)
