"""Which versions of a lineage may be answered beside one that is being loaded.

    dp        all: each version was charged for
    cellkey   those with the same keys, noise, rules and weights, of which either no record differs or at least
              `versions_apart` do; or all, where the custodian allows it

With the same keys a cell in which nobody differs has one number in both versions, so two versions that differ by few
records show where these people are. With other keys or other noise, the same people have two numbers, which tell more
than one.

Source: docs/decisions/0009-versions-beside-each-other.md.

What a custodian does with corrections, chosen load by load.

    keep-keys     the new version is served, and everybody keeps the record key (the default)
    collect       nothing is served yet: the records are checked and compared, and thrown away
    new-lineage   the new version is served with new record keys and cell keys: all numbers change

With the same keys a cell in which nobody changed keeps its number, so whoever has both versions sees which cells hold
the people who were corrected (docs/methods/attack-versions.md). New keys end that, and give a second number for the
same people, which can be averaged with the first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.errors import BadRequest, DiscreetError, WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.model.messages.text import message, nearest
from discreet.model.protection import DEFAULT_VERSIONS_APART
from discreet.records.changes import Changes, StoredRecords, count_changes
from discreet.records.engine import EngineKind
from discreet.records.keys import Secret
from discreet.workspace.versions.lineage import lineage_versions
from discreet.workspace.versions.version import DIGEST, Version, noise_hash, read_version
from discreet.workspace.versions.version_engine import open_engine

#: Why a version is not answered beside the one that is served.
WHY_CLOSED = {
    "close": message(
        "It differs by few records from a version that is served: both together would tell about "
        "these people."
    ),
    "keys": message("A version that is served has other keys: the numbers of both could be averaged."),
    "protection": message(
        "A version that is served is protected otherwise: both together would tell more than either."
    ),
    "categories": message(
        "Its categories differ from those of a version that is served, so that they cannot be compared."
    ),
    "unreadable": message("It could not be compared with a version that is served."),
    "not-compared": message("It was not compared with the version that is served."),
}


@dataclass(frozen=True, slots=True)
class VersionConflicts:
    """A version that is being loaded, and the versions that would be answered beside it.

    Args:
        version: The new one.
        comparison: Its records, to compare with others.
        allowed: Whether the custodian allows any version beside it.
    """

    version: Version
    comparison: Comparison
    allowed: bool

    def closing_reason(self, home: Path) -> Callable[[str], str]:
        """Why an earlier version of the same dataset is closed by this load; empty where it stays open."""
        return lambda digest: self._why(home / digest)

    def refuse_similar_dataset(self, folder: Path) -> None:
        """Refuse records that differ by few from those of another dataset of the lineage, which is served as well."""
        for place in lineage_versions(folder, self.version.dataset):
            if self._why(place) == "close":
                raise BadRequest(
                    f'"{place.parent.name}" is served from the same lineage, and fewer than '
                    f"{self.version.dataset.protection.versions_apart} records differ: both together would tell "
                    "about these people.",
                    "Load the same records into both, or allow it with --serve-beside.",
                )

    def _why(self, place: Path) -> str:
        if self.allowed or self.version.dataset.protection.is_dp:
            return ""
        found = self.comparison.compare_with(place)
        return "unreadable" if found is None else reason_closed(found[0], self.version, found[1])


def reason_closed(before: Version, after: Version, changes: Changes) -> str:
    """Why an older version cannot be answered beside a newer one of its lineage, a key of `WHY_CLOSED`; or empty.

    Args:
        before: The older.
        after: The newer, which says how many records versions must be apart.
        changes: How many records differ.
    """
    if before.dataset.protection.is_dp and after.dataset.protection.is_dp:
        return ""
    if before.dataset.lineage != after.dataset.lineage:
        return "keys"
    if _protection_identity(before) != _protection_identity(after):
        return "protection"
    if (
        set(changes.left_out)
        & {v.name for v in before.dataset.variables}
        & {v.name for v in after.dataset.variables}
    ):
        return "categories"
    return "close" if 0 < changes.records < after.dataset.protection.versions_apart else ""


def _protection_identity(version: Version) -> tuple[object, ...]:
    """All that protects a version but its keys."""
    dataset = version.dataset
    declared = replace(dataset.protection, versions_apart=DEFAULT_VERSIONS_APART)
    return declared, noise_hash(version.noise), dataset.rules, dataset.survey


KEEP_KEYS, COLLECT, NEW_LINEAGE = "keep-keys", "collect", "new-lineage"
CORRECTIONS = (COLLECT, KEEP_KEYS, NEW_LINEAGE)


def validate_corrections(corrections: str, dataset: Dataset, home: Path) -> None:
    """Refuse a choice that is unknown or has no meaning here.

    Raises:
        BadRequest: With what to choose.
    """
    if corrections not in CORRECTIONS:
        raise BadRequest(
            f'There is no way "{corrections}" with corrections.', nearest(corrections, CORRECTIONS)
        )
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

    def compare_with(self, place: Path) -> tuple[Version, Changes] | None:
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
            old, new = StoredRecords(before.dataset, there), StoredRecords(self._dataset, here)
            return before, count_changes(old, new, same_keys=same_keys)
        except WorkspaceUnusable:  # it is damaged, and a load repairs it
            return None
        finally:
            there.close()
            here.close()


def current_digest(home: Path) -> str:
    """The name of the version that is served; empty where there is none."""
    current = home / "current"
    digest = current.read_text("ascii", errors="replace").strip() if current.is_file() else ""
    return digest if DIGEST.match(digest) else ""
