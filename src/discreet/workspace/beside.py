"""Which versions of a lineage may be answered beside one that is being loaded.

    dp        all: each version was charged for
    cellkey   those with the same keys, noise, rules and weights, of which either no record differs or at least
              `versions_apart` do; or all, where the custodian allows it

With the same keys a cell in which nobody differs has one number in both versions, so two versions that differ by few
records show where these people are. With other keys or other noise, the same people have two numbers, which tell more
than one.

Source: docs/decisions/0009-versions-beside-each-other.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from discreet.errors import BadRequest
from discreet.model.protection import DEFAULT_VERSIONS_APART
from discreet.model.told import told
from discreet.workspace.lineage import lineage_places
from discreet.workspace.version import noise_hash

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from discreet.records.changes import Changes
    from discreet.workspace.corrections import Comparison
    from discreet.workspace.version import Version

#: Why a version is not answered beside the one that is served.
WHY_CLOSED = {
    "close": told(
        "It differs by few records from a version that is served: both together would tell about "
        "these people."
    ),
    "keys": told("A version that is served has other keys: the numbers of both could be averaged."),
    "protection": told(
        "A version that is served is protected otherwise: both together would tell more than either."
    ),
    "categories": told(
        "Its categories differ from those of a version that is served, so that they cannot be compared."
    ),
    "unreadable": told("It could not be compared with a version that is served."),
    "not-compared": told("It was not compared with the version that is served."),
}


@dataclass(frozen=True, slots=True)
class Beside:
    """A version that is being loaded, and the versions that would be answered beside it.

    Args:
        version: The new one.
        comparison: Its records, to compare with others.
        allowed: Whether the custodian allows any version beside it.
    """

    version: Version
    comparison: Comparison
    allowed: bool

    def why_closed(self, home: Path) -> Callable[[str], str]:
        """Why an earlier version of the same dataset is closed by this load; empty where it stays open."""
        return lambda digest: self._why(home / digest)

    def refuse_close_sister(self, folder: Path) -> None:
        """Refuse records that differ by few from those of another dataset of the lineage, which is served as well."""
        for place in lineage_places(folder, self.version.dataset):
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
        found = self.comparison.with_version(place)
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
    if _protection(before) != _protection(after):
        return "protection"
    if (
        set(changes.left_out)
        & {v.name for v in before.dataset.variables}
        & {v.name for v in after.dataset.variables}
    ):
        return "categories"
    return "close" if 0 < changes.records < after.dataset.protection.versions_apart else ""


def _protection(version: Version) -> tuple[object, ...]:
    """All that protects a version but its keys."""
    dataset = version.dataset
    declared = replace(dataset.protection, versions_apart=DEFAULT_VERSIONS_APART)
    return declared, noise_hash(version.noise), dataset.rules, dataset.survey
