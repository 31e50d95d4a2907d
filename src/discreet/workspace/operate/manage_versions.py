"""List the datasets of a workspace, compare descriptions, and serve, remove or move a version.

    removed/<digest>/dataset.toml, version.json, records.fingerprint   description, keys and charge of a removed version
    removed/<digest>/ledger.mark, ids.sketch                           its ledger checkpoint; a sealed sketch of its ids

These files stay when a version is removed, so a later load gets no keys from before a `new-lineage`, and a lost ledger is
noticed. Charges stay in the ledger. Copies elsewhere, such as backups, are not deleted.
"""

import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex

from discreet.errors import BadRequest, DiscreetError, WorkspaceUnusable
from discreet.model.description.dataset_toml import Change, description_changes
from discreet.records.engine import engine_kind
from discreet.records.keys import read_secret, record_tag
from discreet.records.staging import restage
from discreet.workspace.folder_layout import (
    REPLACED,
    dataset_folder,
    dataset_folders,
    delete_version_folder,
    find_version,
    folder_size,
    list_versions,
    lock_dataset,
    remove_leftovers,
)
from discreet.workspace.sealed import (
    CUBES,
    fsync_path,
    fsync_tree,
    replace_file,
    seal_records,
    verify_records,
)
from discreet.workspace.versions.checkpoints import lock_checkpoints
from discreet.workspace.versions.history import VersionFacts, read_history, write_history
from discreet.workspace.versions.label_corrections import apply_labels
from discreet.workspace.versions.public_parts import RESIDUALS
from discreet.workspace.versions.version import (
    CURRENT,
    DESCRIPTION,
    DIGEST,
    FINGERPRINT,
    MARK,
    REVISIONS,
    current_digest,
    read_version,
    set_current,
    write_version,
)
from discreet.workspace.versions.version_conflicts import SKETCH
from discreet.workspace.versions.version_engine import open_engine, verify_engine

REMOVED = "removed"
REMAINS = (DESCRIPTION, REVISIONS, FINGERPRINT, MARK, SKETCH)


@dataclass(frozen=True, slots=True)
class DatasetSummary:
    """The metadata of a dataset in `discreet datasets`, without a figure about its people.

    Args:
        id, label, method: Of its description; empty if it is not or cannot be served.
        version: The name of its current version and the start of its digest; empty if there is none.
        loaded: When that was loaded.
        kept: How many versions are on disk.
        size: Bytes on disk.
        trouble: Why it accepts no queries, if so.
    """

    id: str
    label: str
    version: str
    loaded: str
    method: str
    kept: int
    size: int
    trouble: str = ""


def list_datasets(folder: Path) -> list[DatasetSummary]:
    """The datasets of a workspace, removed ones included."""
    return [_summary(home) for home in dataset_folders(folder)]


def _summary(home: Path) -> DatasetSummary:
    kept = sum(1 for place in home.iterdir() if DIGEST.match(place.name))
    bare = DatasetSummary(home.name, "", "", "", "", kept, folder_size(home))
    digest = current_digest(home)
    if not digest:
        return bare
    try:
        secret = read_secret(home.parents[1] / "secret")
        dataset = apply_labels(home, digest, read_version(home / digest, secret), secret)
        loaded = next((v.loaded for v in list_versions(home) if v.current), "")
    except DiscreetError as error:
        return replace(bare, version=digest[:8], trouble=error.message)
    name = f"{dataset.version} ({digest[:8]})"
    return replace(bare, label=dataset.label, version=name, loaded=loaded, method=dataset.protection.method)


def compare_descriptions(folder: Path, dataset_id: str, version: str, other: str) -> Iterator[Change]:
    """The differences between the descriptions of two versions, removed ones included.

    An empty name of a version is the current one.

    Raises:
        WorkspaceUnusable: A description is missing.
    """
    home = dataset_folder(folder, dataset_id)
    parsed = []
    for word in (version, other):
        digest = find_version(home, word).digest if word else current_digest(home)
        files = [place / digest / DESCRIPTION for place in (home, home / REMOVED)]
        text = next((file.read_text("utf-8") for file in files if file.is_file()), None)
        if text is None:
            raise WorkspaceUnusable(f"The description of version {digest[:8]} is missing.", "Load it again.")
        parsed.append(tomllib.loads(text))
    yield from description_changes(parsed[0], parsed[1])


def roll_back(folder: Path, dataset_id: str, word: str) -> VersionFacts:
    """Make a kept version the current one, after its records are verified; nothing is counted or charged.

    An open version was compared with all other open ones at the loads, which stay open. A closed version was not, so it
    is served alone. `word` is the first letters of its digest, or its name.

    Raises:
        SecretUnusable, WorkspaceUnusable: It cannot be served; the current version stays.
    """
    home = dataset_folder(folder, dataset_id)
    with lock_dataset(home):
        wanted, secret = find_version(home, word), read_secret(folder / "secret")
        place = home / wanted.digest
        if not place.is_dir():
            raise WorkspaceUnusable(
                f"Version {wanted.digest[:8]} is no longer stored.", "Load its records again."
            )
        version = read_version(place, secret)
        verify_records(place, version.records, secret)
        verify_engine(place, version, secret)
        history = read_history(home, current_digest(home), secret)
        closed = any(entry.closed for entry in history.versions if entry.digest == wanted.digest)
        reason = "not-compared" if closed else ""
        write_history(home, history.after(wanted.digest, lambda _digest: reason), secret)
        set_current(home, wanted.digest)
    return wanted


def remove_version(folder: Path, dataset_id: str, word: str) -> str:
    """Remove a version that is not current; returns its digest.

    Raises:
        BadRequest: It is the current one.
    """
    home = dataset_folder(folder, dataset_id)
    with lock_dataset(home):
        version = find_version(home, word)
        if version.current:
            raise BadRequest(
                f"Version {version.digest[:8]} is being served.",
                "Serve another version first (`discreet use`), or remove the whole dataset.",
            )
        _remove(home / version.digest)
    return version.digest


def remove_dataset(folder: Path, dataset_id: str) -> tuple[str, ...]:
    """Remove all versions of a dataset; returns their digests. It is not served from the first step on."""
    home = dataset_folder(folder, dataset_id)
    with lock_dataset(home):
        current = current_digest(home)
        (home / CURRENT).unlink(missing_ok=True)
        fsync_path(home)
        places = [place for place in home.iterdir() if DIGEST.match(place.name)]
        for place in sorted(places, key=lambda place: place.name != current):
            _remove(place)
    return tuple(sorted(place.name for place in places))


def _remove(place: Path) -> None:
    if not place.is_dir():
        return
    remains = place.parent / REMOVED / place.name
    remains.mkdir(parents=True, exist_ok=True)
    for name in REMAINS:
        if (place / name).is_file():  # in one step: half of a checkpoint would stop every answer
            replace_file(remains / name, (place / name).read_bytes(), ".mark-", place.parent)
    delete_version_folder(place)
    fsync_path(place.parent)


def move_engine(folder: Path, dataset_id: str, wanted: str, word: str = "") -> str:
    """Store a version in another engine; returns its digest, which does not change.

    Records, keys, cubes and numbers stay the same. The new folder is complete and sealed before it takes the name of the
    old one, which is deleted once the new one is verified. Between the two renames the version answers no query; if the
    process dies there, the next command that locks the dataset gives the old folder its name back.

    Args:
        folder: The workspace.
        dataset_id: The dataset.
        wanted: The engine.
        word: The first letters of the version's digest, or its name; the current one by default.

    Raises:
        BadRequest: It is stored in that engine already.
        WorkspaceUnusable: It cannot be read completely; it stays where it is.
    """
    kind, home = engine_kind(wanted), dataset_folder(folder, dataset_id)
    with lock_dataset(home):
        digest = find_version(home, word).digest if word else current_digest(home)
        place, secret = home / digest, read_secret(folder / "secret")
        version = read_version(place, secret)
        if version.kept_by == kind.name:
            raise BadRequest(f'Version {digest[:8]} is already stored in "{wanted}".', "Name another engine.")
        verify_records(place, version.records, secret)
        verify_engine(place, version, secret)
        moving, old = home / f".loading-{token_hex(8)}", home / f"{REPLACED}{digest}"
        moving.mkdir(mode=0o700)
        try:
            engine = open_engine(place, version, secret)
            staged = restage(engine, version.dataset, moving)
            engine.close()
            kind.store(staged, version.dataset, moving, record_tag(secret, digest))
            staged.unlink()
            for name in (RESIDUALS, SKETCH):
                if (place / name).is_file():
                    shutil.copy2(place / name, moving / name)
            if (place / CUBES).is_dir():
                shutil.copytree(place / CUBES, moving / CUBES)
            moved = replace(version, kept_by=kind.name, records=seal_records(moving, secret, digest))
            write_version(moving, moved, digest, secret)
            fsync_tree(moving)
            with lock_checkpoints(home):  # a charge may raise the checkpoint until the last moment
                place.rename(old)
                if (old / MARK).is_file():
                    shutil.copy2(old / MARK, moving / MARK)
                moving.rename(place)
                fsync_path(home)
            verify_engine(place, read_version(place, secret), secret)
        except BaseException:
            with lock_checkpoints(home):
                if old.is_dir() and place.is_dir():
                    if (place / MARK).is_file():
                        shutil.copy2(place / MARK, old / MARK)
                    place.rename(moving)
            remove_leftovers(home)
            raise
        remove_leftovers(home)
    return digest
