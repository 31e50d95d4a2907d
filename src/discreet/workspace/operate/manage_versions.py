"""What a workspace holds, a line a dataset; nothing that tells of its people.

The descriptions of two versions of a dataset, compared key by key.

Roll a dataset back: another version that is kept becomes the one that is served.

Nothing is counted, charged or changed: under dp each version was charged at its load. Which versions are answered beside
it follows from what was found at the loads: a version that was open was compared with every other open one. A closed one
was not compared with all others, so it is served alone.

Remove a version, or a whole dataset: its records are gone, what was promised about them is not forgotten.

    removed/<digest>/dataset.toml, version.json, records.fingerprint   stay: how it was described, keyed and charged
    removed/<digest>/ledger.mark, ids.sketch                           how far the ledger was; a sealed sketch of ids

So a later load of the same people gets no keys that were used before a `new-lineage`, and the ledger is missed if it is
lost. Charges stay in the ledger: what was published cannot be taken back. Copies elsewhere (backups, disks that keep old
blocks) are not reached from here.

Move a version to another engine: the same records, keys and seals, hence the same digest and the same numbers.

Every engine can tell its records by one aggregate over all columns, so each pair of engines can be moved between with the
means of `records/engine.py` alone. Cubes do not depend on the engine and go along. The new place is complete, sealed and
compared before it takes the name of the old one;
between the two renames, an instant, the version is not answered.
"""

from __future__ import annotations

import secrets
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from discreet.errors import BadRequest, DiscreetError, WorkspaceUnusable
from discreet.model.description.dataset_toml import Change, description_changes
from discreet.records.engine import engine_kind, forget_records
from discreet.records.keys import read_secret, record_tag
from discreet.records.staging import restage
from discreet.workspace.folder_layout import (
    dataset_folder,
    dataset_folders,
    delete_version_folder,
    find_version,
    folder_size,
    list_versions,
    lock_dataset,
)
from discreet.workspace.sealed import CUBES, fsync_path, fsync_tree, seal_records, verify_records
from discreet.workspace.versions.checkpoints import MARK, lock_checkpoints
from discreet.workspace.versions.history import VersionFacts, read_history, write_history
from discreet.workspace.versions.id_overlap import SKETCH
from discreet.workspace.versions.label_corrections import apply_labels
from discreet.workspace.versions.load_version import set_current
from discreet.workspace.versions.public_parts import RESIDUALS
from discreet.workspace.versions.version import (
    DESCRIPTION,
    DIGEST,
    FINGERPRINT,
    REVISIONS,
    read_version,
    write_version,
)
from discreet.workspace.versions.version_conflicts import current_digest
from discreet.workspace.versions.version_engine import open_engine, verify_engine


@dataclass(frozen=True, slots=True)
class DatasetSummary:
    """A dataset of a workspace.

    Args:
        id: Its id.
        label: Its label; empty where it is not served, or cannot be.
        version: What its served version calls itself, with the beginning of its digest; empty where none is.
        loaded: When that was loaded.
        method: `cellkey` or `dp`.
        kept: How many versions are on disk.
        size: Bytes on disk.
        trouble: Why it cannot be served, if so.
    """

    id: str
    label: str
    version: str
    loaded: str
    method: str
    kept: int
    size: int
    trouble: str = ""

    def as_json(self) -> dict[str, Any]:
        """What is printed with `--json`."""
        return asdict(self)


def list_datasets(folder: Path) -> list[DatasetSummary]:
    """The datasets of a workspace, removed ones included.

    Raises:
        NotFound: There is no workspace.
    """
    return [_summary(home) for home in dataset_folders(folder)]


def _summary(home: Path) -> DatasetSummary:
    kept = sum(1 for place in home.iterdir() if DIGEST.match(place.name))
    bare = DatasetSummary(home.name, "", "", "", "", kept, folder_size(home))
    digest = current_digest(home)
    if not digest:
        return bare
    try:
        secret = read_secret(home.parents[1] / "secret")
        version = read_version(home / digest, secret)
        dataset = apply_labels(home, digest, version, secret)
        loaded = next((v.loaded for v in list_versions(home) if v.current), "")
    except DiscreetError as error:
        return DatasetSummary(home.name, "", digest[:8], "", "", kept, bare.size, error.message)
    told = f"{dataset.version} ({digest[:8]})"
    return DatasetSummary(home.name, dataset.label, told, loaded, dataset.protection.method, kept, bare.size)


def compare_descriptions(folder: Path, dataset_id: str, version: str, other: str) -> Iterator[Change]:
    """What differs from one version to another; removed versions have left their descriptions.

    Args:
        folder: The workspace.
        dataset_id: The dataset.
        version: The first; the served one where it is empty.
        other: The second.

    Raises:
        UnknownDataset, UnknownVersion: With the nearest match.
        WorkspaceUnusable: A description is not there any more.
    """
    home = dataset_folder(folder, dataset_id)
    served = next((each.digest for each in list_versions(home) if each.current), "")
    digests = [find_version(home, word).digest if word else served for word in (version, other)]
    first, second = (_description(home, digest) for digest in digests)
    yield from description_changes(tomllib.loads(first), tomllib.loads(second))


def _description(home: Path, digest: str) -> str:
    for place in (home / digest, home / "removed" / digest):
        if (place / DESCRIPTION).is_file():
            return (place / DESCRIPTION).read_text("utf-8")
    raise WorkspaceUnusable(f"The description of version {digest[:8]} is not there.", "Load it again.")


def roll_back(folder: Path, dataset_id: str, word: str) -> VersionFacts:
    """Serve a version that is kept; its records are read and compared with their seal before.

    Args:
        folder: The workspace.
        dataset_id: The dataset.
        word: The beginning of the version's digest, or its name.

    Raises:
        UnknownDataset, UnknownVersion: With the nearest match.
        SecretUnusable, WorkspaceUnusable: It cannot be served; what was served is still served.
    """
    home = dataset_folder(folder, dataset_id)
    with lock_dataset(home):
        wanted, secret = find_version(home, word), read_secret(folder / "secret")
        place = home / wanted.digest
        if not place.is_dir():
            raise WorkspaceUnusable(
                f"Version {wanted.digest[:8]} is not kept any more.", "Load its records again."
            )
        version = read_version(place, secret)
        verify_records(place, version.records, secret)
        verify_engine(place, version, secret)
        history = read_history(home, current_digest(home), secret)
        closed = any(kept.closed for kept in history.versions if kept.digest == wanted.digest)
        write_history(
            home, history.after(wanted.digest, lambda _digest: "not-compared" if closed else ""), secret
        )
        set_current(home, wanted.digest)
    return wanted


REMOVED = "removed"
REMAINS = (DESCRIPTION, REVISIONS, FINGERPRINT, MARK, SKETCH)


def remove_version(folder: Path, dataset_id: str, word: str) -> str:
    """Remove a version that is not the served one; returns its digest.

    Raises:
        UnknownDataset, UnknownVersion: With the nearest match.
        BadRequest: It is the one that is served.
    """
    home = dataset_folder(folder, dataset_id)
    with lock_dataset(home):
        version = find_version(home, word)
        if version.current:
            raise BadRequest(
                f"Version {version.digest[:8]} is the one that is served.",
                "Serve another first (`discreet use`), or remove the whole dataset.",
            )
        _remove(home / version.digest)
    return version.digest


def remove_dataset(folder: Path, dataset_id: str) -> tuple[str, ...]:
    """Remove all versions of a dataset; it is not served from the first step on. Returns their digests.

    Raises:
        UnknownDataset: With the nearest match.
    """
    home = dataset_folder(folder, dataset_id)
    with lock_dataset(home):
        served = current_digest(home)
        (home / "current").unlink(missing_ok=True)
        fsync_path(home)
        places = [place for place in home.iterdir() if DIGEST.match(place.name)]
        for place in sorted(places, key=lambda place: place.name != served):
            _remove(place)
    return tuple(sorted(place.name for place in places))


def _remove(place: Path) -> None:
    """Keep what must be remembered, then let the records go."""
    if not place.is_dir():
        return
    remains = place.parent / REMOVED / place.name
    remains.mkdir(parents=True, exist_ok=True)
    for name in REMAINS:
        if (place / name).is_file():
            _copy_whole(place / name, remains / name)
    fsync_path(remains)
    delete_version_folder(place)
    fsync_path(place.parent)


def _copy_whole(source: Path, target: Path) -> None:
    """Half of a mark would stop every answer: a copy gets its name when all of it is on disk."""
    aside = source.parents[1] / f".mark-{secrets.token_hex(8)}"  # what a load sweeps if we die here
    try:
        shutil.copy2(source, aside)
        fsync_path(aside)
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)


def move_engine(folder: Path, dataset_id: str, wanted: str, word: str = "") -> str:
    """Let another engine keep a version; returns the version's digest, which does not change.

    Args:
        folder: The workspace.
        dataset_id: The dataset.
        wanted: The engine that shall keep it.
        word: The beginning of the version's digest, or its name; the served one by default.

    Raises:
        UnknownDataset, UnknownVersion, UnknownEngine: With the nearest match.
        BadRequest: It is kept by that engine already.
        WorkspaceUnusable: It cannot be read whole; it stays where it is.
    """
    kind, home = engine_kind(wanted), dataset_folder(folder, dataset_id)
    with lock_dataset(home):
        digest = find_version(home, word).digest if word else current_digest(home)
        place, secret = home / digest, read_secret(folder / "secret")
        version = read_version(place, secret)
        if version.kept_by == kind.name:
            raise BadRequest(f'Version {digest[:8]} is kept by "{wanted}" already.', "Name another engine.")
        verify_records(place, version.records, secret)
        verify_engine(place, version, secret)
        moving = home / f".loading-{secrets.token_hex(8)}"
        moving.mkdir(mode=0o700)
        try:
            engine = open_engine(place, version, secret)
            staged = restage(engine, version.dataset, moving)
            engine.close()
            kind.store(staged, version.dataset, moving, record_tag(secret, digest))
            staged.unlink()
            for kept in (RESIDUALS, SKETCH):
                if (place / kept).is_file():
                    shutil.copy2(place / kept, moving / kept)
            if (place / CUBES).is_dir():
                shutil.copytree(place / CUBES, moving / CUBES)
            moved = replace(version, kept_by=kind.name, records=seal_records(moving, secret, digest))
            write_version(moving, moved, digest, secret)
            fsync_tree(moving)
            old = home / f".loading-{secrets.token_hex(8)}"
            with lock_checkpoints(home):  # a charge may raise the mark until the last moment
                place.rename(old)
                if (old / MARK).is_file():
                    shutil.copy2(old / MARK, moving / MARK)
                moving.rename(place)
                fsync_path(home)
        except BaseException:
            forget_records(moving)
            shutil.rmtree(moving, ignore_errors=True)
            raise
        verify_engine(place, read_version(place, secret), secret)
        forget_records(old)
        shutil.rmtree(old)
    return digest
