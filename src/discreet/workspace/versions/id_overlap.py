"""Detects records that were loaded before under another dataset id, by sketches of ids; reported to the custodian only.

    datasets/<id>/<digest>/ids.sketch             written at load, sealed (`records/fingerprint.py`)
    datasets/<id>/removed/<digest>/ids.sketch     stays when the version is removed

Datasets of one lineage or one budget are known to share people. Others have separate keys, noise or caps: their tables can
be averaged, and their budgets do not add up. A sketch warns and never refuses, since files that number their records from 1
look alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DiscreetError
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import parse_dataset
from discreet.model.universe import dp_terms
from discreet.records.fingerprint import Overlap, open_sketch, overlap, seal_sketch
from discreet.records.keys import Secret
from discreet.workspace.versions.version import DESCRIPTION, read_revisions

SKETCH = "ids.sketch"
_PLACES = ("*/[0-9a-f]*", "*/removed/*")


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
            f'{part} of the ids were loaded before, as "{self.dataset}" {self.version} ({self.method}), which is of '
            "another lineage and budget. If they are the same people, their tables can be averaged and what is spent on "
            "them is not added up: give this dataset the lineage or the budget of the other. If both files merely number "
            "their records, ignore this."
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
    for pattern in _PLACES:
        for path in sorted((folder / "datasets").glob(f"{pattern}/{SKETCH}")):
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
