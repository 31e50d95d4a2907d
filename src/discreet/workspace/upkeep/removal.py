"""Remove a version, or a whole dataset: its records are gone, what was promised about them is not forgotten.

    removed/<digest>/dataset.toml, version.json, records.fingerprint   stay: how it was described, keyed and charged
    removed/<digest>/ledger.mark, ids.sketch                           how far the ledger was; a sealed sketch of ids

So a later load of the same people gets no keys that were used before a `new-lineage`, and the ledger is missed if it is
lost. Charges stay in the ledger: what was published cannot be taken back. Copies elsewhere (backups, disks that keep old
blocks) are not reached from here.
"""

from __future__ import annotations

import secrets
import shutil
from typing import TYPE_CHECKING

from discreet.errors import BadRequest
from discreet.workspace.corrections import served_digest
from discreet.workspace.disk import keep_names
from discreet.workspace.ledger_marks import MARK
from discreet.workspace.recognition import SKETCH
from discreet.workspace.revisions import REVISIONS
from discreet.workspace.upkeep.places import erase, find_version, home_of, lock
from discreet.workspace.version import DESCRIPTION, DIGEST, FINGERPRINT

if TYPE_CHECKING:
    from pathlib import Path

REMOVED = "removed"
REMAINS = (DESCRIPTION, REVISIONS, FINGERPRINT, MARK, SKETCH)


def remove_version(folder: Path, dataset_id: str, word: str) -> str:
    """Remove a version that is not the served one; returns its digest.

    Raises:
        UnknownDataset, UnknownVersion: With the nearest match.
        BadRequest: It is the one that is served.
    """
    home = home_of(folder, dataset_id)
    with lock(home):
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
    home = home_of(folder, dataset_id)
    with lock(home):
        served = served_digest(home)
        (home / "current").unlink(missing_ok=True)
        keep_names(home)
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
    keep_names(remains)
    erase(place)
    keep_names(place.parent)


def _copy_whole(source: Path, target: Path) -> None:
    """Half of a mark would stop every answer: a copy gets its name when all of it is on disk."""
    aside = source.parents[1] / f".mark-{secrets.token_hex(8)}"  # what a load sweeps if we die here
    try:
        shutil.copy2(source, aside)
        keep_names(aside)
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)
