"""Which versions accept queries next to each other, and what a load does with corrected records.

    dp        all: each version was charged for
    cellkey   those with the same keys, noise, rules and weights of which either no record differs or at least
              `versions_apart` do; or all, if the custodian allows it

    keep-keys     serve the new version with the same record keys (the default)
    collect       serve nothing yet: validate and compare the records, then discard them
    new-lineage   serve the new version with new record keys and cell keys: all numbers change

With the same keys, a cell without changed records has the same number in both versions, so two versions that differ by few
records locate the people who were corrected (docs/methods/attack-versions.md). With other keys or other noise, the same
people have two numbers, whose noise can be averaged.

Records that were loaded before under another dataset id are found by sealed sketches of their ids
(`records/fingerprint.py`), and reported to the custodian. Datasets of one lineage or one budget are known to share people.
Others have separate keys, noise or caps: their tables can be averaged, and their budgets do not add up. A sketch warns and
never refuses. Ids that only number the records are no evidence, and have no sketch.

Source: docs/decisions/0009-versions-beside-each-other.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.errors import BadRequest, DiscreetError, WorkspaceUnusable
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.messages.text import nearest
from discreet.model.protection import DEFAULT_VERSIONS_APART
from discreet.model.universe import dp_terms
from discreet.records.changes import Changes, count_changes
from discreet.records.engine import EngineKind
from discreet.records.fingerprint import Overlap, open_sketch, overlap, seal_sketch
from discreet.records.keys import Secret
from discreet.workspace.versions.history import lineage_versions
from discreet.workspace.versions.version import (
    CURRENT,
    DESCRIPTION,
    Version,
    noise_hash,
    read_revisions,
    read_version,
    version_files,
)
from discreet.workspace.versions.version_engine import open_engine

KEEP_KEYS, COLLECT, NEW_LINEAGE = "keep-keys", "collect", "new-lineage"
CORRECTIONS = (COLLECT, KEEP_KEYS, NEW_LINEAGE)


def validate_corrections(corrections: str, dataset: Dataset, home: Path) -> None:
    """Validate the value of `--corrections`."""
    if corrections not in CORRECTIONS:
        raise BadRequest(
            f'--corrections is "{corrections}", which is not a choice.', nearest(corrections, CORRECTIONS)
        )
    if corrections == NEW_LINEAGE and dataset.protection.is_dp:
        raise BadRequest(
            "Under dp every version has independent noise, so a new lineage would change nothing.",
            "Use keep-keys, or collect.",
        )
    if corrections == NEW_LINEAGE and dataset.key_column is not None:
        raise BadRequest(
            "These records have their own record keys, which a new lineage cannot change.",
            "Give the records new keys, or use keep-keys or collect.",
        )
    if corrections == COLLECT and not (home / CURRENT).is_file():
        raise BadRequest(
            f'No version of "{dataset.id}" is served yet, so there is nothing to correct.',
            "Load it without --corrections.",
        )


class Comparison:
    """Compares the records in the folder of a load with those of other versions, and caches each result."""

    def __init__(self, loading: Path, dataset: Dataset, kind: EngineKind, secret: Secret) -> None:
        self._loading, self._dataset, self._kind, self._secret = loading, dataset, kind, secret
        self.compare_with = cache(self._compare)

    def _compare(self, place: Path) -> tuple[Version, Changes] | None:
        """Another version and the changes against it; None if it cannot be read."""
        try:
            before = read_version(place, self._secret)
            there = open_engine(place, before, self._secret)
        except DiscreetError:
            return None
        here = self._kind.open(self._loading, self._dataset, None)
        try:
            same_keys = before.dataset.lineage == self._dataset.lineage
            old, new = (before.dataset, there), (self._dataset, here)
            return before, count_changes(old, new, same_keys=same_keys)
        except WorkspaceUnusable:  # damaged: this load repairs it
            return None
        finally:
            there.close()
            here.close()

    def refuse_similar_dataset(self, folder: Path, version: Version) -> None:
        """Refuse records that differ by few from those of another served dataset of the lineage."""
        for place in lineage_versions(folder, version.dataset):
            if self.closing_reason(version, place) == "close":
                raise BadRequest(
                    f'"{place.parent.name}" is served from the same lineage, and fewer than '
                    f"{version.dataset.protection.versions_apart} records differ: comparing the two would disclose these "
                    "people.",
                    "Load the same records into both, or allow it with --serve-beside.",
                )

    def closing_reason(self, version: Version, place: Path) -> str:
        """Why the new version closes the one in a folder, a key of `WHY_CLOSED`; empty if it stays open."""
        if version.dataset.protection.is_dp:
            return ""
        found = self.compare_with(place)
        return "unreadable" if found is None else reason_closed(found[0], version, found[1])


def reason_closed(before: Version, after: Version, changes: Changes) -> str:
    """Why an older version accepts no queries next to a newer one, a key of `WHY_CLOSED`; or empty.

    `versions_apart` of the newer one holds.
    """
    if before.dataset.protection.is_dp and after.dataset.protection.is_dp:
        return ""
    if before.dataset.lineage != after.dataset.lineage:
        return "keys"
    if _protection_identity(before) != _protection_identity(after):
        return "protection"
    common = {v.name for v in before.dataset.variables} & {v.name for v in after.dataset.variables}
    if not common.isdisjoint(changes.left_out):
        return "categories"
    return "close" if 0 < changes.records < after.dataset.protection.versions_apart else ""


def _protection_identity(version: Version) -> tuple[object, ...]:
    dataset = version.dataset
    declared = replace(dataset.protection, versions_apart=DEFAULT_VERSIONS_APART)
    return declared, noise_hash(version.noise), dataset.rules, dataset.survey


SKETCH = "ids.sketch"


@dataclass(frozen=True, slots=True)
class IdOverlap:
    """The version of another dataset that shares the most ids with the records of a load."""

    dataset: str
    version: str
    method: str
    found: Overlap

    @property
    def sentence(self) -> str:
        """The caution for the custodian."""
        low, high = (f"{100 * each:.3g} %" for each in self.found.interval)
        share = f"{100 * self.found.share:.3g} %"
        part = share if self.found.whole else f"About {share} ({low} to {high}, with 99 %)"
        return (
            f'{part} of the ids were loaded before, as "{self.dataset}" {self.version} ({self.method}), under '
            "another lineage and budget. If they are the same people, readers can average the tables of both, "
            "and the privacy loss is not added up. Give this dataset the lineage or budget of the other."
        )


def write_sketch(folder: Path, ids: NDArray[np.uint64] | None, secret: Secret, digest: str) -> None:
    """Write the sketch of a version's ids; records without ids have none."""
    if ids is not None:
        (folder / SKETCH).write_bytes(seal_sketch(ids, secret, digest))


def find_id_overlaps(
    folder: Path, dataset: Dataset, ids: NDArray[np.uint64] | None, secret: Secret
) -> tuple[IdOverlap, ...]:
    """The datasets of other lineages and budgets that share ids with these records; unreadable sketches are skipped."""
    best: dict[str, IdOverlap] = {}
    for place, other in _other_versions(folder, dataset) if ids is not None else ():
        values = open_sketch((place / SKETCH).read_bytes(), secret, place.name)
        found = None if values is None or ids is None else overlap(ids, values)
        before = best.get(other.id)
        if found and found.matched and (before is None or found.share > before.found.share):
            best[other.id] = IdOverlap(other.id, other.version, other.protection.method, found)
    return tuple(best[name] for name in sorted(best))


def _other_versions(folder: Path, dataset: Dataset) -> Iterator[tuple[Path, Dataset]]:
    """All versions, removed ones included, of datasets that are not known to share people with this one."""
    own = _sharing_keys(dataset)
    for path in sorted(version_files(folder, SKETCH)):
        try:
            text = (path.parent / DESCRIPTION).read_text("utf-8")
            other = parse_dataset(text, read_revisions(path.parent).defaults)
        except (OSError, DiscreetError):
            continue
        if other.id != dataset.id and not own & _sharing_keys(other):
            yield path.parent, other


def _sharing_keys(dataset: Dataset) -> set[tuple[str, str]]:
    lineage = {("lineage", dataset.lineage.partition("\n")[0])}
    return lineage | ({("budget", dp_terms(dataset)[0].name)} if dataset.protection.is_dp else set())
