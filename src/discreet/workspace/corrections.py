"""What a custodian does with corrections, chosen load by load.

    keep-keys     the new version is served, and everybody keeps the record key (the default)
    collect       nothing is served yet: the records are checked and compared, and thrown away
    new-lineage   the new version is served with new record keys and cell keys: all numbers change

With the same keys a cell in which nobody changed keeps its number, so whoever has both versions sees which cells hold
the people who were corrected (docs/methods/attack-versions.md). New keys end that, and give a second number for the
same people, which can be averaged with the first.

Comes from: `discreet load --corrections`. Goes to: `load`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import BadRequest, DiscreetError, WorkspaceUnusable, nearest
from discreet.records.changes import Stored, count_changes
from discreet.workspace.engine_place import open_engine
from discreet.workspace.version import DIGEST, read_version

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.model.dataset import Dataset
    from discreet.records.changes import Changes
    from discreet.records.engine import EngineKind
    from discreet.records.secret import Secret

KEEP_KEYS, COLLECT, NEW_LINEAGE = "keep-keys", "collect", "new-lineage"
CHOICES = (COLLECT, KEEP_KEYS, NEW_LINEAGE)


def refuse_other_choice(corrections: str, dataset: Dataset, home: Path) -> None:
    """Refuse a choice that is unknown or has no meaning here.

    Raises:
        BadRequest: With what to choose.
    """
    if corrections not in CHOICES:
        raise BadRequest(f'There is no way "{corrections}" with corrections.', nearest(corrections, CHOICES))
    if corrections == NEW_LINEAGE and dataset.protection.is_dp:
        raise BadRequest(
            "Under dp every version has noise of its own, and a new lineage would change nothing.",
            "Use keep-keys, or collect.",
        )
    if corrections == NEW_LINEAGE and dataset.key_column is not None:
        raise BadRequest(
            "These records bring record keys of their own, which a new lineage cannot change.",
            "Give the records new keys, or use keep-keys or collect.",
        )
    if corrections == COLLECT and not (home / "current").is_file():
        raise BadRequest(
            f'No version of "{dataset.id}" is served yet: there is nothing to correct.',
            "Load it without --corrections.",
        )


def changes_since(
    home: Path, loading: Path, dataset: Dataset, kind: EngineKind, secret: Secret
) -> Changes | None:
    """What a load changes against the version that is served; None where none can be read.

    Args:
        home: The dataset's folder.
        loading: Where the new records are stored.
        dataset: Their description, with the lineage of their keys.
        kind: The engine that keeps them.
        secret: The workspace's.
    """
    digest = served_digest(home)
    try:
        before = read_version(home / digest, secret) if digest else None
        there = open_engine(home / digest, before, secret) if before is not None else None
    except DiscreetError:
        return None
    if before is None or there is None:
        return None
    here = kind.open(loading, dataset, None)
    try:
        same_keys = before.dataset.lineage == dataset.lineage
        return count_changes(Stored(before.dataset, there), Stored(dataset, here), same_keys=same_keys)
    except WorkspaceUnusable:  # the version that is served is damaged, and this load repairs it
        return None
    finally:
        there.close()
        here.close()


def served_digest(home: Path) -> str:
    """The name of the version that is served; empty where there is none."""
    current = home / "current"
    digest = current.read_text("ascii", errors="replace").strip() if current.is_file() else ""
    return digest if DIGEST.match(digest) else ""
