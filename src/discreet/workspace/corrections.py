"""What a custodian does with corrections, chosen load by load.

    keep-keys     the new version is served, and everybody keeps the record key (the default)
    collect       nothing is served yet: the records are checked and compared, and thrown away
    new-lineage   the new version is served with new record keys and cell keys: all numbers change

With the same keys a cell in which nobody changed keeps its number, so whoever has both versions sees which cells hold
the people who were corrected (docs/methods/attack-versions.md). New keys end that, and give a second number for the
same people, which can be averaged with the first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import BadRequest, DiscreetError, WorkspaceUnusable
from discreet.model.nearest import nearest
from discreet.records.changes import Stored, count_changes
from discreet.workspace.engine_place import open_engine
from discreet.workspace.version import DIGEST, read_version

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.model.dataset import Dataset
    from discreet.records.changes import Changes
    from discreet.records.engine import EngineKind
    from discreet.records.secret import Secret
    from discreet.workspace.version import Version

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


class Comparison:
    """Records that are being loaded, to compare with those of other versions.

    Args:
        loading: Where the new records are stored.
        dataset: Their description, with the lineage of their keys.
        kind: The engine that keeps them.
        secret: The workspace's.
    """

    def __init__(self, loading: Path, dataset: Dataset, kind: EngineKind, secret: Secret) -> None:
        self._loading, self._dataset, self._kind, self._secret = loading, dataset, kind, secret
        self._found: dict[Path, tuple[Version, Changes] | None] = {}

    def with_version(self, place: Path) -> tuple[Version, Changes] | None:
        """Another version and what the load changes against it; None where it cannot be read."""
        if place not in self._found:
            self._found[place] = self._compare(place)
        return self._found[place]

    def _compare(self, place: Path) -> tuple[Version, Changes] | None:
        try:
            before = read_version(place, self._secret)
            there = open_engine(place, before, self._secret)
        except DiscreetError:
            return None
        here = self._kind.open(self._loading, self._dataset, None)
        try:
            same_keys = before.dataset.lineage == self._dataset.lineage
            old, new = Stored(before.dataset, there), Stored(self._dataset, here)
            return before, count_changes(old, new, same_keys=same_keys)
        except WorkspaceUnusable:  # it is damaged, and a load repairs it
            return None
        finally:
            there.close()
            here.close()


def served_digest(home: Path) -> str:
    """The name of the version that is served; empty where there is none."""
    current = home / "current"
    digest = current.read_text("ascii", errors="replace").strip() if current.is_file() else ""
    return digest if DIGEST.match(digest) else ""
