"""The noisy residuals of a joint universe on disk: measured at load, sealed with the records, read to answer.

    residuals.npy    whole numbers, one residual after the other, in the order of the plan's parts

They are what the budget was charged for: with them a table is answered and no record is read.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import WorkspaceUnusable
from discreet.protect.joint_noise import StoredResiduals, measure
from discreet.records.cubed import CubedEngine
from discreet.workspace.cube_files import CubeShelf

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.model.dataset import Dataset
    from discreet.protect.joint_plan import JointPlan
    from discreet.records.engine import EngineKind
    from discreet.records.intake import Loaded
    from discreet.records.secret import Secret

RESIDUALS = "residuals.npy"


def write_residuals(
    folder: Path, dataset: Dataset, plan: JointPlan, kind: EngineKind, secret: Secret, loaded: Loaded
) -> None:
    """Count the largest declared tables, and write all residuals with their noise."""
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
    return StoredResiduals(plan, numbers)
