"""The public parts of a version: all that a machine without records needs in addition to releases.

    residuals.npy    the noisy residuals of a joint universe, integers in the order of the plan's parts
    survey.json      the constants of a survey's printed errors (`survey/published_constants.py`)

Public are the description (without comments, `[file]` and `[engine]`), the revisions, the boundaries, the residuals,
which the budget was charged for, and the constants of a survey. No record, key, fingerprint or secret can be derived from
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.model.boundaries import Boundaries
from discreet.model.dataset import Dataset
from discreet.model.description.dataset_toml import dataset_from_document, parse_toml
from discreet.model.survey import GENERALISED
from discreet.records.cubes import CubedEngine
from discreet.records.engine import EngineKind
from discreet.records.keys import Secret
from discreet.workspace.sealed import load_again
from discreet.workspace.versions.label_corrections import current_description
from discreet.workspace.versions.version import Revisions, Version, with_constants
from discreet.workspace.versions.version_engine import CubeShelf

if TYPE_CHECKING:
    from discreet.protect.joint_plan import JointPlan
    from discreet.protect.joint_residuals import StoredResiduals
    from discreet.records.staging import Loaded


RESIDUALS = "residuals.npy"


def write_residuals(
    folder: Path, dataset: Dataset, plan: JointPlan, kind: EngineKind, secret: Secret, loaded: Loaded
) -> None:
    """Count the largest declared tables, and write all residuals with their noise."""
    from discreet.protect.joint_residuals import measure  # noqa: PLC0415 - only `dp` needs it

    shelf = CubeShelf(folder, dataset, secret, loaded.digest)
    with closing(CubedEngine(dataset, shelf.cubes, lambda: kind.open(folder, dataset, None))) as opened:
        numbers = measure(opened, plan, secret, dataset, loaded.fingerprint)
    np.save(folder / RESIDUALS, numbers, allow_pickle=False)


def measure_survey(folder: Path, dataset: Dataset, kind: EngineKind, secret: Secret) -> Dataset:
    """Check the form of a survey against its weights, and measure the constants that its printed errors need.

    Raises:
        BadData: The form is too biased for the weights, or public weights of strata are not those of the records.
    """
    survey = dataset.survey
    if survey is None or survey.errors != GENERALISED or dataset.protection.is_dp:  # declared, not measured
        return dataset
    from discreet.survey.form_choice import fitting_form  # noqa: PLC0415 - only surveys need it
    from discreet.survey.gate import (  # noqa: PLC0415
        admits,
        level_figures,
        refuse_biased_form,
        refuse_other_stratum_weights,
        refuse_other_totals,
    )
    from discreet.survey.published_constants import published_constants, secret_chances  # noqa: PLC0415

    with closing(kind.open(folder, dataset, None)) as opened:
        refuse_other_stratum_weights(dataset, opened)
        refuse_other_totals(dataset, opened)
        figures = list(level_figures(dataset, opened))
        if not admits(survey, figures):
            refuse_biased_form(survey, figures, fitting_form(dataset, opened))
        constants = published_constants(dataset, opened, figures, secret_chances(secret, dataset))
    return replace(dataset, survey=replace(survey, constants=constants))


def read_residuals(folder: Path, plan: JointPlan) -> StoredResiduals:
    """The stored residuals of a version."""
    try:
        numbers = np.load(folder / RESIDUALS, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError):
        raise load_again(f"The residuals of version {folder.name[:8]} cannot be read.") from None
    from discreet.protect.joint_residuals import StoredResiduals  # noqa: PLC0415 - only `dp` needs it

    return StoredResiduals(plan, numbers)


@dataclass(frozen=True, slots=True)
class PublicParts:
    """The public parts of a version.

    Args:
        description: The parsed `dataset.toml`, as plain values.
        revisions: The program's revisions at the load.
        wording: A hash of its texts if they were corrected, else empty.
        boundaries: GeoJSON files by variable.
        residuals: The file of the noisy residuals of a joint universe, else empty.
        survey: The constants of a survey's printed errors; empty without a survey and for versions of 0.2.0.
    """

    description: dict[str, Any]
    revisions: Revisions
    wording: str
    boundaries: Mapping[str, bytes]
    residuals: bytes = b""
    survey: Mapping[str, Any] = field(default_factory=dict)

    def dataset(self) -> Dataset:
        """Parse the dataset that these parts describe."""
        shapes = {name: Boundaries(content) for name, content in self.boundaries.items()}
        dataset = dataset_from_document(self.description, self.revisions.defaults, shapes)
        return replace(with_constants(self.revisions.keyed(dataset), self.survey), wording=self.wording)


def public_parts(folder: Path, version: Version, secret: Secret) -> PublicParts:
    """The public parts of a version in its folder, with its newest texts; not how its records are read and stored."""
    text, wording = current_description(folder.parent, folder.name, version, secret)
    document = {key: each for key, each in parse_toml(text).items() if key not in {"engine", "file"}}
    shapes = {name: each.content for name, each in version.boundaries.items()}
    stored = folder / RESIDUALS
    residuals = stored.read_bytes() if stored.is_file() else b""
    survey = version.dataset.survey
    constants = survey.constants.as_json() if survey is not None and version.has_constants else {}
    return PublicParts(document, version.revisions, wording, shapes, residuals, constants)
