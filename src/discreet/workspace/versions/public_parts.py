"""The noisy residuals of a joint universe on disk: measured at load, sealed with the records, read to answer.

    residuals.npy    whole numbers, one residual after the other, in the order of the plan's parts

They are what the budget was charged for: with them a table is answered and no record is read.

What is public of a version, and all that a machine without records needs beside its releases.

The description without its comments, without how its file is read and what keeps it; the revisions; the shapes of areas;
of a joint dp universe the noisy residuals. No record, key, fingerprint or secret is among them, and none follows from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import WorkspaceUnusable
from discreet.model.boundaries import Boundaries
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import dataset_from_document, parse_toml
from discreet.records.cubes import CubedEngine
from discreet.records.engine import EngineKind
from discreet.records.keys import Secret
from discreet.workspace.versions.label_corrections import current_description
from discreet.workspace.versions.version import Revisions, Version
from discreet.workspace.versions.version_engine import CubeShelf

if TYPE_CHECKING:
    from discreet.protect.joint_plan import JointPlan
    from discreet.protect.joint_residuals import StoredResiduals
    from discreet.records.intake import Loaded


RESIDUALS = "residuals.npy"


def write_residuals(
    folder: Path, dataset: Dataset, plan: JointPlan, kind: EngineKind, secret: Secret, loaded: Loaded
) -> None:
    """Count the largest declared tables, and write all residuals with their noise."""
    from discreet.protect.joint_residuals import measure  # noqa: PLC0415 - only `dp` needs it

    shelf = CubeShelf(folder, dataset, secret, loaded.digest)
    with closing(CubedEngine(dataset, shelf, lambda: kind.open(folder, dataset, None))) as opened:
        numbers = measure(opened, plan, secret, dataset, loaded.fingerprint)
    np.save(folder / RESIDUALS, numbers, allow_pickle=False)


def read_residuals(folder: Path, plan: JointPlan) -> StoredResiduals:
    """The stored residuals of a version.

    Raises:
        WorkspaceUnusable: They are missing, or not those of the plan.
    """
    try:
        numbers = np.load(folder / RESIDUALS, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):
        raise WorkspaceUnusable(
            f"The residuals of version {folder.name[:8]} cannot be read.", "Load the dataset again."
        ) from None
    from discreet.protect.joint_residuals import StoredResiduals  # noqa: PLC0415 - only `dp` needs it

    return StoredResiduals(plan, numbers)


#: Sections that tell how records are read and kept: nobody needs them who has none.
_OF_RECORDS = ("engine", "file")


@dataclass(frozen=True, slots=True)
class PublicParts:
    """What is public of a version.

    Args:
        description: What `dataset.toml` says, as plain values.
        revisions: What the version was loaded under.
        wording: A hash of its words where they were corrected; empty elsewhere.
        boundaries: The files of shapes by variable.
        residuals: Of a joint universe the file of its noisy residuals; empty elsewhere.
    """

    description: dict[str, Any]
    revisions: Revisions
    wording: str
    boundaries: Mapping[str, bytes]
    residuals: bytes = b""

    def dataset(self) -> Dataset:
        """The dataset, as those who ask for tables see it.

        Raises:
            BadDescription: The description cannot be read.
        """
        shapes = {name: Boundaries(content) for name, content in self.boundaries.items()}
        dataset = dataset_from_document(self.description, self.revisions.defaults, shapes)
        return replace(self.revisions.keyed(dataset), wording=self.wording)


def public_parts(folder: Path, version: Version, secret: Secret) -> PublicParts:
    """The public parts of a version in its folder, in its newest words."""
    text, wording = current_description(folder.parent, folder.name, version, secret)
    document = {key: each for key, each in parse_toml(text).items() if key not in _OF_RECORDS}
    shapes = {name: each.content for name, each in version.boundaries.items()}
    stored = folder / RESIDUALS
    residuals = stored.read_bytes() if stored.is_file() else b""
    return PublicParts(document, version.revisions, wording, shapes, residuals)
