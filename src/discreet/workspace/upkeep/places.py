"""Where the things of a workspace stand, for those who keep it: homes, versions, one lock a dataset."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from filelock import FileLock

from discreet.errors import NotFound, UnknownDataset, UnknownVersion
from discreet.model.nearest import nearest
from discreet.records.engine import forget_records
from discreet.records.secret import read_secret
from discreet.workspace.corrections import served_digest
from discreet.workspace.schema import refuse_rotating
from discreet.workspace.version_facts import SHORT, version_facts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from discreet.workspace.version_facts import VersionFacts


def refuse_no_workspace(folder: Path) -> None:
    """Refuse a folder that is none.

    Raises:
        NotFound: There is no workspace there.
        WorkspaceUnusable: It is between two secrets.
    """
    refuse_rotating(folder)
    if not (folder / "datasets").is_dir():
        raise NotFound(f"{str(folder)!r} is not a workspace.", "Name one with --workspace.")


def homes(folder: Path) -> list[Path]:
    """The folders of all datasets that were ever loaded."""
    refuse_no_workspace(folder)
    return sorted(home for home in (folder / "datasets").iterdir() if home.is_dir())


def home_of(folder: Path, dataset_id: str) -> Path:
    """The folder of a dataset.

    Raises:
        UnknownDataset: With the nearest match.
    """
    known = {home.name: home for home in homes(folder)}
    if dataset_id not in known:
        raise UnknownDataset(f'There is no dataset "{dataset_id}".', nearest(dataset_id, list(known)))
    return known[dataset_id]


def versions_of(home: Path) -> tuple[VersionFacts, ...]:
    """The versions of a dataset, the newest last."""
    return version_facts(home, served_digest(home), read_secret(home.parents[1] / "secret"))


def find_version(home: Path, word: str) -> VersionFacts:
    """The version that a custodian means: the beginning of its digest, or its name; open or closed.

    Raises:
        UnknownVersion: There is none, or there are several of that name.
    """
    versions = versions_of(home)
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
def lock(home: Path) -> Iterator[None]:
    """No load of the dataset at the same time."""
    with FileLock(home / ".lock"):
        yield


def size_of(folder: Path) -> int:
    """The bytes below a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def erase(folder: Path) -> None:
    """Remove the folder of a version: it is renamed first, so that no reader sees half of it."""
    aside = folder.with_name(f".loading-{folder.name}")  # what a load sweeps if we die here
    folder.rename(aside)
    forget_records(aside)
    shutil.rmtree(aside)
